import type { DenseTaskId } from '../../../records/ids';
import { denseIds, idOf } from '../../../testing/ids';
import { decodeBlock, type Block } from '../../../records/block';
import { ClusterState } from '../cluster-state';
import { NameKeeper } from '../name-keeper';

/** A cluster whose clock stands, and the blocks of its log. */
function cluster(): { state: ClusterState; blocks: Block[] } {
  const blocks: Block[] = [];
  const state = new ClusterState(
    () => 1,
    0,
    ({ bytes }) => blocks.push(decodeBlock(bytes))
  );
  return { state, blocks };
}

/** One task of this group, waiting for a worker. */
function submit(state: ClusterState, group: string): DenseTaskId {
  const task = state.rows.take(idOf(0), 0);
  state.rows.group[task] = state.log.names.id(group);
  state.rows.functionId[task] = state.log.names.id('inc');
  state.handle({
    type: 'graphSubmitted',
    at: 0,
    client: 0,
    generation: 0,
    last: true,
    taskIds: denseIds(task),
    data: null,
    userPriority: null,
    functionIds: Uint32Array.of(0),
    retries: null,
    restrictions: null,
    restrictionSets: [],
    firstInput: Uint32Array.of(0, 0),
    inputs: denseIds(),
    wanted: Uint8Array.of(1)
  });
  return task;
}

describe('the keeper of names', () => {
  it('forgets the oldest names but those of tasks, and says so', () => {
    const { state, blocks } = cluster();
    const { names } = state.log;
    const keeper = new NameKeeper(state, 100);
    const task = submit(state, 'kept-group');
    for (let i = 0; i < 500; i++) {
      names.id(`group-${i}`);
      keeper.keepBound();
      expect(names.size).toBeLessThanOrEqual(102);
    }
    expect(state.keyOf(task)).toBe('kept-group');
    for (let i = 0; i < 50; i++) {
      new NameKeeper(state, 100, 10_000).keepBound();
      expect(names.characters).toBeLessThan(10_000);
      names.id(`${i}`.padEnd(900, '.'));
    }
    for (let i = 0; i < 500; i++) {
      names.id(`group-${i}`);
      keeper.keepBound();
    }
    expect(names.find('inc')).toBeDefined();
    expect(names.find('group-0')).toBeUndefined();
    expect(names.find('group-499')).toBeDefined();
    // It comes again: another id, so that nothing that was written changes its meaning.
    const ids = new Set(
      Array.from({ length: 500 }, (_, i) => names.id(`new-${i}`))
    );
    expect(ids.size).toBe(500);
    const again = names.id('group-0');
    expect(names.text(again)).toBe('group-0');
    expect(again).toBeGreaterThan(500);
    state.log.seal(2);
    const said = blocks.flatMap(block =>
      block.table === 'events'
        ? (block as Block<'events'>).columns.text.toArray()
        : []
    );
    expect(said[0]).toMatch(/^The scheduler forgot \d+ names/);
  });

  it('keeps all that tasks use, however many', () => {
    const { state } = cluster();
    const keeper = new NameKeeper(state, 10);
    for (let i = 0; i < 200; i++) {
      submit(state, `group-${i}`);
      keeper.keepBound();
    }
    for (const group of ['group-0', 'group-99', 'group-199']) {
      expect(state.log.names.find(group)).toBeDefined();
    }
  });
});
