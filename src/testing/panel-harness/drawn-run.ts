/**
 * A run to look at panels with: four workers of two threads load, prepare and
 * train for half a minute, as `examples/first-look` does. Drawn by a seeded
 * generator, so that two screenshots differ only where the code does.
 */
import { BoxKind } from '../../records/enumerations';
import { SeededRandom } from '../../base/seeded-random';

export type DrawnBox = {
  readonly run: number;
  readonly lane: number;
  readonly function: string;
  readonly kind: BoxKind;
  readonly strip: boolean;
  readonly from: number;
  readonly to: number;
  readonly span: number;
};

type DrawnSpan = {
  readonly span: number;
  readonly parent: number | null;
  readonly tag: string;
  readonly depth: number;
  readonly from: number;
  readonly to: number;
};

export type DrawnRun = {
  readonly workers: number;
  readonly threads: number;
  readonly end: number;
  /** Of each busy thread. */
  readonly samplesPerSecond: number;
  readonly boxes: readonly DrawnBox[];
  readonly spans: readonly DrawnSpan[];
  readonly functions: readonly string[];
};

type Phase = {
  readonly span: number;
  readonly from: number;
  readonly to: number;
  /** Function, mean seconds, weight. */
  readonly mix: readonly (readonly [string, number, number])[];
  readonly transfers: number;
  readonly disk: number;
};

const phases: readonly Phase[] = [
  {
    span: 2,
    from: 0.1,
    to: 7.6,
    mix: [
      ['read-parquet', 0.55, 6],
      ['astype', 0.12, 2],
      ['fillna', 0.06, 2]
    ],
    transfers: 0.02,
    disk: 0
  },
  {
    span: 4,
    from: 7.8,
    to: 12.4,
    mix: [
      ['groupby-chunk', 0.45, 5],
      ['groupby-agg', 0.3, 2],
      ['getitem', 0.05, 2]
    ],
    transfers: 0.15,
    disk: 0.02
  },
  {
    span: 5,
    from: 12.7,
    to: 21,
    mix: [
      ['rechunk-merge', 0.35, 6],
      ['rechunk-split', 0.05, 2],
      ['concatenate', 0.2, 2],
      ['map-features', 0.3, 3]
    ],
    transfers: 0.35,
    disk: 0.2
  },
  {
    span: 6,
    from: 21.3,
    to: 29.6,
    mix: [
      ['fit_fold', 2.1, 6],
      ['score_fold', 0.45, 2]
    ],
    transfers: 0.1,
    disk: 0
  }
];

/** @param moreFunctions - small ones beside the twelve of the run, to see long lists. */
export function firstLook(moreFunctions = 0): DrawnRun {
  const random = new SeededRandom(7);
  const next = () => random.next();
  const boxes: DrawnBox[] = [];
  let run = 0;
  for (let lane = 0; lane < 8; lane += 1) {
    for (const phase of phases) {
      let at = phase.from + next() * 0.2;
      // What comes before computing takes half a second at most.
      while (at < phase.to - 0.6) {
        const [name, mean] = pick(phase.mix, next());
        const wished = mean * (0.6 + 0.8 * next());
        const id = run++;
        const base = { run: id, lane, function: name, span: phase.span };
        if (next() < phase.transfers) {
          const held = next() < 0.5;
          const size = 0.06 + 0.15 * next();
          boxes.push({
            ...base,
            kind: BoxKind.Transfer,
            strip: !held,
            from: held ? at : at - size,
            to: held ? at + size : at
          });
          at += held ? size : 0;
        }
        if (next() < phase.disk) {
          const size = 0.1 + 0.2 * next();
          boxes.push({
            ...base,
            kind: BoxKind.Disk,
            strip: false,
            from: at,
            to: at + size
          });
          at += size;
        }
        if (next() < 0.05) {
          boxes.push({
            ...base,
            kind: BoxKind.Serialize,
            strip: false,
            from: at,
            to: at + 0.04
          });
          at += 0.04;
        }
        const length = Math.min(phase.to - at, wished);
        const isFailed = lane === 5 && phase.span === 6 && at < 21.7;
        boxes.push({
          ...base,
          kind: isFailed ? BoxKind.Failed : BoxKind.Compute,
          strip: false,
          from: at,
          to: at + (isFailed ? 0.7 : length)
        });
        at += (isFailed ? 2.4 : length) + 0.004 + next() * 0.02;
      }
    }
  }
  // In the pause before the features, when every thread is free.
  for (let extra = 0; extra < moreFunctions; extra += 1) {
    const from = 12.45 + 0.03 * Math.floor(extra / 8);
    boxes.push({
      run: run++,
      lane: extra % 8,
      function: `function-with-a-rather-long-name-${extra}`,
      kind: BoxKind.Compute,
      strip: false,
      span: 5,
      from,
      to: from + 0.02 / (1 + extra / 10)
    });
  }
  return {
    workers: 4,
    threads: 2,
    end: 29.6,
    samplesPerSecond: 100,
    boxes,
    spans: [
      {
        span: 1,
        parent: null,
        tag: 'Alice’s workflow',
        depth: 0,
        from: 0,
        to: 29.6
      },
      { span: 2, parent: 1, tag: 'data load', depth: 1, from: 0, to: 7.7 },
      {
        span: 3,
        parent: 1,
        tag: 'ML preprocessing',
        depth: 1,
        from: 7.7,
        to: 21.2
      },
      { span: 4, parent: 3, tag: 'clean', depth: 2, from: 7.7, to: 12.6 },
      { span: 5, parent: 3, tag: 'features', depth: 2, from: 12.6, to: 21.2 },
      {
        span: 6,
        parent: 1,
        tag: 'Model training',
        depth: 1,
        from: 21.2,
        to: 29.6
      }
    ],
    functions: [
      'fit_fold',
      'read-parquet',
      'rechunk-merge',
      'groupby-chunk',
      'map-features',
      'score_fold',
      'astype',
      'groupby-agg',
      'concatenate',
      'rechunk-split',
      'fillna',
      'getitem'
    ]
  };
}

function pick<T extends readonly [string, number, number]>(
  mix: readonly T[],
  at: number
): T {
  const total = mix.reduce((sum, item) => sum + item[2], 0);
  let left = at * total;
  for (const item of mix) {
    left -= item[2];
    if (left <= 0) {
      return item;
    }
  }
  return mix[0] as T;
}
