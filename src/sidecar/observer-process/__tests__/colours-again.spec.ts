/** A notebook's functions have their colours in its next cluster, too, whichever runs first there. */
import { rowsToBlock } from '../../../testing/rows-to-block';
import { ingestBlock } from '../../../observer/store/ingest';
import { Clusters } from '../clusters';
import type { OpenFields } from '../observed-cluster';
import { WorkQueue } from '../work-queue';

/** Some have hashes of one colour: who comes first gets it. */
const FUNCTIONS =
  'load tidy explode train score merge astype fit concat sum'.split(' ');

function opening(
  id: string,
  name: string,
  path: string | null,
  kind: OpenFields['kind'] = 'embedded'
): OpenFields {
  return {
    clusterId: id,
    logId: `log of ${id}`,
    name,
    kind,
    notebook: path === null ? null : { path },
    wallEpoch: 1000,
    clockAhead: 0,
    pid: process.pid
  } as OpenFields;
}

/** In the order in which functions run. */
function blocks(order: readonly string[]) {
  return [
    rowsToBlock(
      1,
      'names',
      order.map((text, i) => ({ id: i + 1, text }))
    ),
    rowsToBlock(2, 'workers', [{ worker: 0, threads: 1, left: NaN }]),
    rowsToBlock(3, 'lanes', [{ lane: 0, worker: 0, thread: 0 }]),
    rowsToBlock(
      4,
      'runs',
      order.map((_, i) => ({
        run: i,
        lane: 0,
        function: i + 1,
        start: i,
        duration: 1,
        cpu: NaN
      }))
    )
  ];
}

describe('colours of functions', () => {
  let clusters: Clusters;
  const coloursIn = (open: OpenFields, order: readonly string[]) => {
    const cluster = clusters.open(open);
    blocks(order).forEach(block => ingestBlock(cluster.store, block));
    return FUNCTIONS.map(name => cluster.slots.of(name));
  };
  const backwards = [...FUNCTIONS].reverse();

  beforeEach(() => {
    clusters = new Clusters({ queue: new WorkQueue(), note: () => undefined });
  });
  afterEach(() => clusters.dispose());

  it.each([
    ['of the same name', 'shop', 'embedded'],
    ['of another name and engine', 'other', 'dask']
  ] as const)(
    'are those of the notebook’s cluster before, in one %s',
    (_, name, kind) => {
      const first = coloursIn(opening('a', 'shop', 'shop.ipynb'), FUNCTIONS);
      const next = coloursIn(opening('b', name, 'shop.ipynb', kind), backwards);
      expect(next).toEqual(first);
      expect(new Set(first.map(({ slot }) => slot)).size).toBe(10);
    }
  );

  it('are those of the program’s cluster before', () => {
    const first = coloursIn(opening('a', 'shop.py', null), FUNCTIONS);
    expect(coloursIn(opening('b', 'shop.py', null), backwards)).toEqual(first);
  });

  it('are another notebook’s own', () => {
    const plain = coloursIn(opening('a', 'one', 'one.ipynb'), backwards);
    coloursIn(opening('b', 'two', 'two.ipynb'), FUNCTIONS);
    const own = coloursIn(opening('c', 'three', 'three.ipynb'), backwards);
    expect(own).toEqual(plain);
  });
});
