import { english } from '../../../testing/translators';
import fc from 'fast-check';

import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { formatCount } from '../../format';
import { drawnProfile } from './drawn-frames';
import {
  factsOf,
  frameRows,
  frameTree,
  type FrameTree,
  labelOf,
  nodeOfKey,
  pathKey,
  pathOf,
  placeOf,
  samplingText,
  search
} from '../rows';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

let tree: FrameTree;
beforeEach(() => {
  tree = frameTree(
    drawnProfile(['all 10', '  load 6', '    read 4', '  fit 3', '    load 1'])
  );
});

describe('frames', () => {
  it('lie beside each other under their caller', () => {
    expect([...tree.depth]).toEqual([0, 1, 2, 1, 2]);
    expect([...tree.offset]).toEqual([0, 0, 0, 6, 6]);
    expect([...tree.self]).toEqual([1, 2, 4, 2, 1]);
    expect(tree.deepest).toBe(2);
    expect(plain(labelOf(tree, 1, english))).toBe('load 60 %');
  });

  it('are roots, from each side, if their caller does not stand before them', () => {
    const parents = fc.array(fc.integer({ min: -3, max: 14 }), {
      minLength: 1,
      maxLength: 12
    });
    fc.assert(
      fc.property(parents, parent => {
        const lines = parent.map((_, node) => `f${node} 1`);
        const drawn = drawnProfile(lines);
        const made = frameTree({
          ...drawn,
          nodes: { ...drawn.nodes, parent }
        });
        for (const [node, above] of parent.entries()) {
          const isRoot = above < 0 || above >= node;
          expect(pathOf(made, node).length).toBe((made.depth[node] ?? 0) + 1);
          expect(pathOf(made, node).at(-2)).toBe(isRoot ? undefined : above);
          expect(nodeOfKey(made, pathKey(made, node))).toBe(node);
          expect(made.roots.includes(node)).toBe(isRoot);
        }
        expect(made.total).toBe(made.roots.length);
      })
    );
  });

  it('never overlap and never leave their caller, in any tree', () => {
    const shape = fc.array(
      fc.tuple(fc.nat(20), fc.integer({ min: 1, max: 9 })),
      { minLength: 1, maxLength: 25 }
    );
    fc.assert(
      fc.property(shape, drawn => {
        // Depth-first order: the parent is one of the last node's ancestors.
        const parent: number[] = [];
        drawn.forEach(([up], node) => {
          const path: number[] = [];
          for (let at = node - 1; at >= 0; at = parent[at] ?? -1) {
            path.push(at);
          }
          parent.push(node === 0 ? -1 : (path[up % path.length] ?? 0));
        });
        // Samples from the leaves up, so that callers have at least what they called.
        const n = drawn.map(([, own]) => own);
        for (let node = drawn.length - 1; node > 0; node -= 1) {
          const above = parent[node] ?? 0;
          n[above] = (n[above] ?? 0) + (n[node] ?? 0);
        }
        const zero = n.map(() => 0);
        const made = frameTree({
          ...drawnProfile([]),
          nodes: {
            parent,
            n,
            name: n.map(String),
            file: n.map(String),
            line: zero,
            onCore: n,
            waiting: zero,
            gil: zero,
            blocked: zero,
            slot: zero
          }
        });
        for (let node = 1; node < n.length; node += 1) {
          const above = parent[node] ?? 0;
          expect(made.offset[node]).toBeGreaterThanOrEqual(
            made.offset[above] ?? 0
          );
          expect((made.offset[node] ?? 0) + (n[node] ?? 0)).toBeLessThanOrEqual(
            (made.offset[above] ?? 0) + (n[above] ?? 0)
          );
          expect(made.self[node]).toBeGreaterThanOrEqual(0);
          for (let other = 1; other < node; other += 1) {
            if (parent[other] === above) {
              expect(made.offset[node]).toBeGreaterThanOrEqual(
                made.offset[other]! + n[other]!
              );
            }
          }
        }
        expect([...made.self].reduce((sum, own) => sum + own, 0)).toBe(
          made.total
        );
      })
    );
  });

  it('are found again by their path in a newer answer', () => {
    const key = pathKey(tree, 4);
    const newer = frameTree(
      drawnProfile(['all 20', '  fit 9', '    load 4', '  load 8'])
    );
    expect(nodeOfKey(newer, key)).toBe(2);
    expect(nodeOfKey(newer, pathKey(tree, 2))).toBeNull();
    expect(pathOf(tree, 4)).toEqual([0, 3, 4]);
  });

  it('of one name in one file are told apart by their lines', () => {
    const result = drawnProfile(['all 10', '  <lambda> 6', '  <lambda> 3']);
    const lambdas = frameTree({
      ...result,
      nodes: { ...result.nodes, line: [0, 8, 12] }
    });
    const numbered = frameTree({
      ...result,
      nodes: { ...result.nodes, file: ['', 'a1', 'a'], line: [0, 2, 12] }
    });
    for (const node of [0, 1, 2]) {
      expect(nodeOfKey(lambdas, pathKey(lambdas, node))).toBe(node);
      expect(nodeOfKey(numbered, pathKey(numbered, node))).toBe(node);
    }
  });

  it('are not counted twice by a search', () => {
    const found = search(tree, 'LOAD', english);
    expect([...(found?.nodes ?? [])]).toEqual([1, 4]);
    expect(plain(found?.text ?? '')).toBe('2 frames · 70 %');
    const nested = search(
      frameTree(drawnProfile(['all 10', '  load 6', '    load 5'])),
      'load',
      english
    );
    expect(plain(nested?.text ?? '')).toBe('2 frames · 60 %');
    expect(search(tree, '  ', english)).toBeNull();
  });

  it('say what they took and whom they called', () => {
    const facts = factsOf(tree, 1, english);
    expect(plain(facts.totalText)).toBe('60.0 ms');
    expect(plain(facts.selfShare)).toBe('20 %');
    expect(facts.calls.map(call => call.name)).toEqual(['read']);
    expect(facts.caller?.name).toBe('all');
    expect(plain(facts.states[0]?.text ?? '')).toBe('100 %');
  });

  it('of a thread between the steps of a task say what that is', () => {
    const result = drawnProfile(['all 5', '  (worker) 5']);
    const tree = frameTree({
      ...result,
      nodes: { ...result.nodes, file: ['', '<spanwise>'], line: [0, 0] }
    });
    expect(placeOf(tree, 1, english)).toBe('between the steps of a task');
    expect(factsOf(tree, 1, english).place).toContain('no code of yours');
  });

  it.each([
    ['/tmp/ipykernel_4711/588810801.py', 'cell, line 1'],
    ['C:\\Temp\\ipykernel_4711\\588810801.py', 'cell, line 1'],
    ['<ipython-input-3-0a1b2c>', 'cell [3]:1'],
    ['/home/me/model.py', 'model.py:1'],
    ['/home/me/588810801.py', '588810801.py:1']
  ])('of %s are in %s', (file, place) => {
    const result = drawnProfile(['all 5', '  fit 5']);
    const tree = frameTree({
      ...result,
      nodes: { ...result.nodes, file: ['', file], line: [0, 1] }
    });
    expect(placeOf(tree, 1, english)).toBe(place);
    const where = factsOf(tree, 1, english).place;
    expect(where).toContain(', line 1');
    // Cells are told apart by what their files are called.
    expect(where.includes('588810801')).toBe(file.includes('588810801'));
    expect(where).not.toContain('ipykernel');
  });

  it('are listed as far as they are open', () => {
    expect(frameRows(tree, () => false, english).map(row => row.node)).toEqual([
      0
    ]);
    expect(
      frameRows(tree, node => node === 0, english).map(row => row.node)
    ).toEqual([0, 1, 3]);
    expect(frameRows(tree, () => true, english)).toHaveLength(5);
  });

  it('say how they were sampled, and what was left out', () => {
    const result = ask(drawnStore(firstLook()), 'profile', { ended: true });
    const seconds = firstLook().boxes.reduce(
      (sum, { from, to, strip }) => sum + (strip ? 0 : to - from),
      0
    );
    // Of each stack and state less than one sample is lost.
    expect(result.samples).toBeGreaterThan(seconds * 100 - 60);
    expect(result.samples).toBeLessThanOrEqual(seconds * 100);
    const samples = formatCount(result.samples);
    expect(plain(samplingText(result, english))).toBe(
      `${samples} samples · one per 10.0 ms per thread`
    );
    expect(
      plain(samplingText({ ...result, rateHz: null, dropped: 5 }, english))
    ).toBe(`${samples} samples · 5 small frames left out`);
  });

  it('have the states, the file and the line that were sampled', () => {
    const drawn = frameTree(
      ask(drawnStore(firstLook()), 'profile', { ended: true })
    );
    const states = (name: string) =>
      Object.fromEntries(
        factsOf(
          drawn,
          drawn.result.nodes.name.indexOf(name),
          english
        ).states.map(({ label, share }) => [label, share])
      );
    expect(states('fit_fold')).toEqual({
      CPU: expect.closeTo(0.86, 2.5),
      'waiting for a core': expect.closeTo(0.14 * 0.3, 2.5),
      'waiting for the GIL': expect.closeTo(0.14 * 0.2, 2.5),
      'blocked (I/O, sleep, other tasks)': expect.closeTo(0.14 * 0.5, 2.5)
    });
    expect(states('read_parquet').CPU).toBeCloseTo(0.36, 2.5);
    expect(
      placeOf(drawn, drawn.result.nodes.name.indexOf('fit_fold'), english)
    ).toBe('model.py:41');
  });
});
