/** Files for speedscope, added up as it adds them up, held against the answer that they are of. */
import fc from 'fast-check';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { english } from '../../../testing/translators';
import type { ProfileResult } from '../../../wire/panel-link';
import { frameTree, nameOf } from '../rows';
import { speedscopeOf } from '../speedscope';
import { drawnProfile } from './drawn-frames';

type File = {
  shared: { frames: { name: string; file?: string; line?: number }[] };
  profiles: {
    type: string;
    name: string;
    unit: string;
    startValue: number;
    endValue: number;
    samples: number[][];
    weights: number[];
  }[];
};

function fileOf(result: ProfileResult, hasGroups = false): File {
  const tree = frameTree(result);
  return JSON.parse(
    speedscopeOf(tree, hasGroups, 'first-look', node =>
      nameOf(tree, node, english)
    )
  ) as File;
}

/** As its *Sandwich*: of each function what lies in it, nested calls of it once, and what is its own. */
function addedUp({ shared, profiles }: File) {
  const totals = new Map<string, number>();
  const owns = new Map<string, number>();
  const add = (to: Map<string, number>, frame: number, weight: number) => {
    const { name, file, line } = shared.frames[frame]!;
    const key = `${name} ${file ?? ''}:${line ?? 0}`;
    to.set(key, (to.get(key) ?? 0) + weight);
  };
  for (const { samples, weights } of profiles) {
    samples.forEach((stack, at) => {
      for (const frame of new Set(stack)) {
        add(totals, frame, weights[at]!);
      }
      if (stack.length > 0) {
        add(owns, stack.at(-1)!, weights[at]!);
      }
    });
  }
  return { totals, owns };
}

/** The same of an answer: its nodes lie within those of their callers. */
function ofAnswer({ nodes, rateHz }: ProfileResult, firstDepth: number) {
  const totals = new Map<string, number>();
  const owns = new Map<string, number>();
  const seconds = (samples: number) => samples / (rateHz ?? 1);
  const keyOf = (node: number) =>
    `${nodes.name[node]} ${nodes.file[node]}:${nodes.line[node]}`;
  nodes.n.forEach((samples, node) => {
    const callers: number[] = [];
    for (let at = nodes.parent[node]!; at >= 0; at = nodes.parent[at]!) {
      callers.push(at);
    }
    if (callers.length < firstDepth) {
      return;
    }
    const key = keyOf(node);
    const shown = callers.slice(0, callers.length - firstDepth);
    if (!shown.some(caller => keyOf(caller) === key)) {
      totals.set(key, (totals.get(key) ?? 0) + seconds(samples));
    }
    const called = nodes.n.reduce(
      (sum, each, child) => sum + (nodes.parent[child] === node ? each : 0),
      0
    );
    if (samples > called) {
      owns.set(key, (owns.get(key) ?? 0) + seconds(samples - called));
    }
  });
  return { totals, owns };
}

function expectAlike(
  found: ReadonlyMap<string, number>,
  wanted: ReadonlyMap<string, number>
) {
  expect([...found.keys()].sort()).toEqual([...wanted.keys()].sort());
  for (const [key, seconds] of wanted) {
    expect(found.get(key)).toBeCloseTo(seconds, 9);
  }
}

describe('a file for speedscope', () => {
  it('has a stack for each frame with samples of its own, as heavy as these', () => {
    const file = fileOf(
      drawnProfile(['all 10', '  load 6', '    read 4', '  fit 4'])
    );
    const [profile] = file.profiles;
    expect(file.shared.frames).toEqual([
      { name: 'load', file: '/lib/load.py', line: 4 },
      { name: 'read', file: '/lib/read.py', line: 4 },
      { name: 'fit', file: '/lib/fit.py', line: 3 }
    ]);
    expect(profile).toEqual({
      type: 'sampled',
      name: 'first-look',
      unit: 'seconds',
      startValue: 0,
      endValue: 0.1,
      samples: [[0], [0, 1], [2]],
      weights: [0.02, 0.04, 0.04]
    });
  });

  it('has a profile for each group, and no frame of its name', () => {
    const drawn = drawnProfile([
      'all 10',
      '  fit 6',
      '    dot 6',
      '  load 4',
      '    read 3'
    ]);
    const file = fileOf(drawn, true);
    expect(
      file.profiles.map(({ name, samples, endValue }) => [
        name,
        samples,
        endValue
      ])
    ).toEqual([
      ['fit', [[0]], 0.06],
      // What has no frames is a gap in it.
      ['load', [[], [1]], 0.04]
    ]);
    expect(file.shared.frames.map(({ name }) => name)).toEqual(['dot', 'read']);
  });

  it('counts samples where nobody told how long one is', () => {
    const file = fileOf({
      ...drawnProfile(['all 3', '  fit 3']),
      rateHz: null
    });
    expect(file.profiles[0]).toMatchObject({
      unit: 'none',
      endValue: 3,
      weights: [3]
    });
  });

  it.each([
    ['all together', 'all', 1],
    ['by function', 'function', 2],
    ['by worker', 'worker', 2]
  ] as const)(
    'adds up to the figures of the panel: %s',
    (_, groupBy, firstDepth) => {
      const result = ask(drawnStore(firstLook()), 'profile', {
        ended: true,
        params: { groupBy }
      });
      const found = addedUp(fileOf(result, groupBy !== 'all'));
      const wanted = ofAnswer(result, firstDepth);
      expect(wanted.totals.size).toBeGreaterThan(5);
      expectAlike(found.totals, wanted.totals);
      expectAlike(found.owns, wanted.owns);
    }
  );

  it('adds up in any tree, also where functions call themselves', () => {
    const lines = fc.array(fc.tuple(fc.nat(3), fc.nat(4), fc.nat(9)), {
      minLength: 1,
      maxLength: 30
    });
    fc.assert(
      fc.property(lines, drawn => {
        let depth = 0;
        const bare = drawnProfile([
          'all 0',
          ...drawn.map(([name, deeper]) => {
            depth = Math.min(depth + 1, deeper + 1);
            return `${'  '.repeat(depth)}${'abcd'[name]!.repeat(name + 1)} 0`;
          })
        ]);
        // From the leaves up, so that callers have at least what they called.
        const { parent } = bare.nodes;
        const n = [...bare.nodes.n];
        for (let node = n.length - 1; node > 0; node -= 1) {
          n[node] = (n[node] ?? 0) + (drawn[node - 1]?.[2] ?? 0);
          n[parent[node]!] = (n[parent[node]!] ?? 0) + n[node]!;
        }
        const result = { ...bare, nodes: { ...bare.nodes, n } };
        const found = addedUp(fileOf(result));
        const wanted = ofAnswer(result, 1);
        const heavy = (sums: ReadonlyMap<string, number>) =>
          new Map([...sums].filter(([, seconds]) => seconds > 0));
        expectAlike(heavy(found.totals), heavy(wanted.totals));
        expectAlike(found.owns, wanted.owns);
      })
    );
  });
});
