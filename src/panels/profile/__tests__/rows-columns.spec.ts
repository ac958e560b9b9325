/** Every column and fact of a frame from figures of which no two are equal. */
import { english } from '../../../testing/translators';
import type { ProfileResult } from '../../../wire/panel-link';
import { formatCount, formatDuration, formatShare } from '../../format';
import {
  factsOf,
  frameColumns,
  frameRows,
  frameTree,
  type FrameTree,
  labelOf,
  nameOf,
  nodeOfKey,
  pathKey,
  placeOf,
  samplingText,
  search,
  shareOfNode
} from '../rows';

/** The root, a group by worker, a function, and ten that it calls. */
const called = Array.from({ length: 10 }, (_, i) => i);
const result: ProfileResult = {
  view: 'profile',
  samples: 4000,
  rateHz: 50,
  dropped: 1,
  nodes: {
    parent: [-1, 0, 1, ...called.map(() => 2)],
    name: ['root', 'worker-3', 'load', ...called.map(i => `inner${i}`)],
    file: ['', '', '/lib/model.py', ...called.map(i => `/lib/f${i}.py`)],
    line: [0, 0, 41, ...called],
    n: [4000, 3000, 2000, ...called.map(i => 100 + i)],
    onCore: [1000, 900, 800, ...called.map(() => 1)],
    waiting: [700, 600, 500, ...called.map(() => 2)],
    gil: [400, 300, 200, ...called.map(() => 3)],
    blocked: [150, 140, 130, ...called.map(() => 4)],
    slot: [0, 1, 2, ...called]
  },
  activity: { seconds: [], onCore: [], waiting: [], gil: [], blocked: [] }
};
let tree: FrameTree;
beforeEach(() => {
  tree = frameTree(result);
});
const self = 2000 - called.reduce((sum, i) => sum + 100 + i, 0);

describe('the columns of frames', () => {
  it('have each its own figure', () => {
    expect(frameColumns(english).map(({ name }) => name)).toEqual([
      'Frame',
      'Where',
      'Total',
      'Share',
      'Self',
      'CPU',
      'Waiting for a core',
      'Waiting for the GIL',
      'Blocked'
    ]);
    const numeric = frameColumns(english).map(each => 'numeric' in each);
    expect(numeric).toEqual([false, false, ...Array<boolean>(7).fill(true)]);
    const rows = frameRows(tree, node => node < 2, english);
    expect(
      rows.map(({ node, depth, hasChildren }) => [node, depth, hasChildren])
    ).toEqual([
      [0, 0, true],
      [1, 1, true],
      [2, 2, true]
    ]);
    const { cells } = rows[2]!;
    expect(cells.map(({ value }) => value)).toEqual([
      'load',
      'model.py:41',
      2000,
      0.5,
      self,
      800,
      500,
      200,
      130
    ]);
    const time = (samples: number): string => formatDuration(samples / 50);
    expect(cells.map(({ text }) => text)).toEqual([
      'load',
      'model.py:41',
      time(2000),
      formatShare(0.5),
      time(self),
      time(800),
      time(500),
      time(200),
      time(130)
    ]);
    expect(frameRows(tree, () => true, english).at(-1)).toMatchObject({
      node: 12,
      depth: 3,
      hasChildren: false
    });
  });

  it('are in samples where the rate is not known', () => {
    for (const rateHz of [null, 0]) {
      const unknown = frameTree({ ...result, rateHz });
      const [row] = frameRows(unknown, () => false, english);
      expect(row!.cells[2]!.text).toBe(`${formatCount(4000)} samples`);
      const one = frameTree({
        ...result,
        rateHz,
        nodes: { ...result.nodes, gil: [1] }
      });
      expect(frameRows(one, () => false, english)[0]!.cells[7]!.text).toBe(
        '1 sample'
      );
    }
  });
});

describe('the facts of a frame', () => {
  it('are its own, of all samples and of its own samples', () => {
    const facts = factsOf(tree, 2, english);
    const { states, calls, ...others } = facts;
    expect(others).toEqual({
      name: 'load',
      place: '/lib/model.py, line 41',
      totalText: formatDuration(40),
      totalShare: formatShare(0.5),
      selfText: formatDuration(self / 50),
      selfShare: formatShare(self / 4000),
      samples: formatCount(2000),
      caller: { node: 1, name: nameOf(tree, 1, english) }
    });
    expect(
      states.map(({ state, share, text }) => [state, share, text])
    ).toEqual([
      ['cpu', 0.4, formatShare(0.4)],
      ['core', 0.25, formatShare(0.25)],
      ['gil', 0.1, formatShare(0.1)],
      ['blocked', 0.065, formatShare(0.065)]
    ]);
    // The first eight, of its own samples.
    expect(calls).toEqual(
      called.slice(0, 8).map(i => ({
        node: 3 + i,
        name: `inner${i}`,
        text: formatShare((100 + i) / 2000)
      }))
    );
  });

  it('say of the root and of groups what they are, and no place', () => {
    expect(nameOf(tree, 0, english)).toBe('all functions');
    expect(nameOf(tree, 1, english)).toContain('3');
    expect(nameOf(tree, 1, english)).not.toBe('worker-3');
    expect(labelOf(tree, 0, english)).toBe(`all functions ${formatShare(1)}`);
    for (const node of [0, 1]) {
      expect(placeOf(tree, node, english)).toBe('');
      expect(factsOf(tree, node, english).place).toBe('');
    }
    expect(factsOf(tree, 0, english).caller).toBeNull();
    // A function may be called like a worker; a file may have no line.
    const other = frameTree({
      ...result,
      nodes: {
        ...result.nodes,
        name: ['worker-1', 'by hand', 'worker-2', '7'],
        file: ['/lib/a.py', '', '/lib/b.py', ''],
        line: [0, 5, 0, 0]
      }
    });
    expect([0, 1, 2, 3].map(node => nameOf(other, node, english))).toEqual([
      'worker-1',
      'by hand',
      'worker-2',
      '7'
    ]);
    // Of what has no file, as compiled text has none, a line says nothing.
    expect(placeOf(other, 1, english)).toBe('');
    expect(factsOf(other, 1, english).place).toBe('');
    expect(placeOf(other, 2, english)).toBe('b.py');
    expect(factsOf(other, 2, english).place).toBe('/lib/b.py');
  });

  it('are nothing where nothing was sampled', () => {
    const empty = frameTree({
      ...result,
      nodes: { ...result.nodes, n: result.nodes.n.map(() => 0) }
    });
    expect(empty.total).toBe(0);
    expect(shareOfNode(empty, 1)).toBe(0);
    expect(factsOf(empty, 2, english)).toMatchObject({
      totalShare: formatShare(0),
      selfShare: formatShare(0)
    });
    expect(factsOf(empty, 2, english).states.map(({ share }) => share)).toEqual(
      [0, 0, 0, 0]
    );
    expect(search(empty, 'load', english)!.text).toBe(
      `1 frame · ${formatShare(0)}`
    );
  });
});

describe('roots beside each other', () => {
  const roots = frameTree({
    ...result,
    nodes: {
      ...result.nodes,
      parent: [-1, 0, -1, 2],
      name: ['a', 'x', 'b', 'x'],
      file: ['f', 'f', 'f', 'g'],
      line: [1, 2, 3, 4],
      n: [10, 4, 30, 5]
    }
  });

  it('share one line', () => {
    expect([...roots.offset]).toEqual([0, 0, 10, 10]);
    expect(roots.total).toBe(40);
    expect(frameRows(roots, () => false, english).map(row => row.node)).toEqual(
      [0, 2]
    );
    expect(frameRows(roots, node => node === 2, english)).toHaveLength(3);
  });

  it('are told apart by names and files', () => {
    for (const node of [0, 1, 2, 3]) {
      expect(nodeOfKey(roots, pathKey(roots, node))).toBe(node);
    }
    expect(nodeOfKey(roots, 'a\u0000g\u00001')).toBeNull();
    // By its file, whatever its name is.
    expect([...search(roots, 'G', english)!.nodes]).toEqual([3]);
    expect([...search(roots, 'f', english)!.nodes]).toEqual([0, 1, 2]);
    expect(search(roots, ' B ', english)!.text).toBe(
      `1 frame · ${formatShare(30 / 40)}`
    );
  });
});

describe('how frames were sampled', () => {
  it('is said in one or several', () => {
    const text = (samples: number, dropped: number): string =>
      samplingText({ ...result, samples, dropped }, english);
    const every = `one per ${formatDuration(0.02)} per thread`;
    expect(text(1, 0)).toBe(`1 sample · ${every}`);
    expect(text(2, 1)).toBe(`2 samples · ${every} · 1 small frame left out`);
    expect(samplingText({ ...result, rateHz: 0, dropped: 2 }, english)).toBe(
      `${formatCount(4000)} samples · 2 small frames left out`
    );
  });
});
