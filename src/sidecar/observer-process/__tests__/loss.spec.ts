/** Rows that a source could not keep for its observer: the source reports them once, as the numbers that users read. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ObserverLink } from '../../../link/observer-link';
import type { BlockRows } from '../../../observer/store/column-table';
import { TABLES } from '../../../records/tables';
import { rowsToBlock } from '../../../testing/rows-to-block';
import { waitFor } from '../../../testing/wait-for';
import { encoded, ObserverFixture, secret } from './observer-fixture';

const RUNS_PER_BLOCK = 3;
const BLOCKS = 40;

it('is told by the source alone, in rows and in the time of what is lost', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'spanwise-'));
  await writeFile(join(folder, 'secret'), secret);
  const fixture = await ObserverFixture.start();
  let isThere = false;
  let seq = 0;
  let tell: (() => void) | undefined;
  let told: { rows: number; to: number } | undefined;
  const push = (block: BlockRows, at: number): void =>
    link.push({ seq: block.seq, bytes: encoded(block) } as never, at);
  const link: ObserverLink = new ObserverLink({
    place: () => {
      if (!isThere) {
        throw new Error('not yet');
      }
      return {
        address: fixture.observer.address,
        secretFile: join(folder, 'secret')
      };
    },
    build: 'test',
    open: {
      logId: 'l',
      clusterId: 'c1',
      name: 'n',
      kind: 'embedded',
      wallEpoch: 0,
      pid: process.pid
    },
    onGap: gaps => {
      [told] = gaps.filter(({ table }) => table === TABLES.runs.number);
      tell = () => {
        const rows = gaps.map(gap => ({ ...gap, why: 'replay ring' }));
        push(rowsToBlock(++seq, 'gaps', rows), BLOCKS);
      };
    },
    note: () => undefined,
    onRefused: () => undefined,
    who: 'This cluster',
    remedy: () => '',
    ringBytes: 4000
  });
  try {
    // Names, which outlast the ring, among runs, which do not: their numbers have holes.
    for (let at = 1; at <= BLOCKS; at++) {
      const names = [{ id: at, text: `f${at}` }];
      push(rowsToBlock(++seq, 'names', names), at);
      const runs = Array.from({ length: RUNS_PER_BLOCK }, (_, i) => ({
        run: at * RUNS_PER_BLOCK + i,
        start: at,
        duration: 0.5
      }));
      push(rowsToBlock(++seq, 'runs', runs), at);
    }
    const panel = await fixture.panel();
    isThere = true;
    await waitFor('the gap', () => tell !== undefined);
    const { rows, to } = told!;
    expect(rows % RUNS_PER_BLOCK).toBe(0);
    expect(rows).toBeGreaterThan(0);
    expect(to).toBe(rows / RUNS_PER_BLOCK);
    const tasks = BLOCKS * RUNS_PER_BLOCK - rows;
    const kept = await panel.next(
      'clusters',
      ({ clusters }) => clusters[0]?.['tasks'] === tasks
    );
    // There are holes in the numbers, and they alone say nothing.
    expect(kept.fields.clusters[0]?.['dropped']).toBeUndefined();
    tell!();
    const { fields } = await panel.next(
      'clusters',
      ({ clusters }) => clusters[0]?.['dropped'] !== undefined
    );
    expect(fields.clusters[0]).toMatchObject({
      tasks,
      runs: tasks,
      dropped: `${rows} task runs before ${to.toFixed(1)}\u00a0s are missing: they did not reach the observer.`
    });
  } finally {
    link.close();
    await fixture.close();
    await rm(folder, { recursive: true });
  }
});
