/** The answers of the four panels' views for a drawn run: what an observer would say, without one. */
import { BoxKind, NONE_U32 } from '../../records/enumerations';
import type {
  FineMetricsResult,
  MemoryResult,
  ProfileResult,
  RunDetail,
  TaskStreamResult,
  TasksResult
} from '../../wire/panel-link';
import { SeededRandom } from '../../base/seeded-random';
import type { DrawnBox, DrawnRun } from './drawn-run';

const GiB = 2 ** 30;
const isRun = (box: DrawnBox): boolean =>
  box.kind === BoxKind.Compute || box.kind === BoxKind.Failed;
const kindNames = [
  'compute',
  'transfer',
  'disk-read',
  'deserialize',
  'compute'
];

function secondsBy(
  run: DrawnRun
): Map<string, { seconds: number; tasks: number }> {
  const sums = new Map(
    run.functions.map(name => [name, { seconds: 0, tasks: 0 }])
  );
  for (const box of run.boxes) {
    const sum = sums.get(box.function);
    if (sum !== undefined && !box.strip) {
      sum.seconds += box.to - box.from;
      sum.tasks += isRun(box) ? 1 : 0;
    }
  }
  return sums;
}

export function taskStreamOf(run: DrawnRun, live: boolean): TaskStreamResult {
  const lanes = Array.from(
    { length: run.workers * run.threads },
    (_, lane) => ({
      lane,
      worker: Math.floor(lane / run.threads),
      thread: lane % run.threads
    })
  );
  const bins = 240;
  const strip = {
    compute: new Array<number>(bins).fill(0),
    transfer: new Array<number>(bins).fill(0),
    disk: new Array<number>(bins).fill(0),
    other: new Array<number>(bins).fill(0),
    failed: new Array<number>(bins).fill(0)
  };
  const per = run.end / bins;
  const kinds = {
    transfer: 0,
    disk: 0,
    import: 0,
    serialize: 0,
    failed: 0,
    lost: 0
  };
  for (const box of run.boxes) {
    const list = [
      strip.compute,
      strip.transfer,
      strip.disk,
      strip.other,
      strip.compute
    ][box.kind] as number[];
    if (!box.strip) {
      for (
        let bin = Math.floor(box.from / per);
        bin < bins && bin * per < box.to;
        bin += 1
      ) {
        list[bin] =
          (list[bin] ?? 0) +
          Math.max(
            0,
            Math.min(box.to, (bin + 1) * per) - Math.max(box.from, bin * per)
          );
      }
    }
    if (box.kind === BoxKind.Failed) {
      kinds.failed += 1;
      const bin = Math.min(bins - 1, Math.floor(box.to / per));
      strip.failed[bin] = (strip.failed[bin] ?? 0) + 1;
    }
    kinds.transfer += Number(box.kind === BoxKind.Transfer);
    kinds.disk += Number(box.kind === BoxKind.Disk);
    kinds.serialize += Number(box.kind === BoxKind.Serialize);
  }
  const sums = secondsBy(run);
  const running = live
    ? lanes.map(({ lane }) => ({
        lane,
        key: `('fit_fold-70a926', ${lane})`,
        function: 'fit_fold',
        span: 6,
        started: run.end + 0.02 * lane
      }))
    : [];
  const now = run.end + (live ? 0.9 : 0);
  return {
    view: 'task-stream',
    from: 0,
    to: run.end,
    now,
    live,
    settledBefore: run.end,
    lanes,
    workers: Array.from({ length: run.workers }, (_, worker) => ({
      worker,
      name: `worker-${worker}`,
      threads: run.threads,
      busy: (0.89 - worker * 0.03) * run.threads * run.end,
      capacity: run.threads * now,
      process: (2.4 + 0.2 * worker) * GiB,
      memoryLimit: 4 * GiB,
      left: null
    })),
    functions: run.functions
      .map((name, index) => ({
        name,
        slot: index % 12,
        round: Math.floor(index / 12),
        seconds: sums.get(name)?.seconds ?? 0,
        executions: sums.get(name)?.tasks ?? 0
      }))
      .sort((a, b) => b.seconds - a.seconds),
    running,
    othersRunning: 0,
    strip,
    bands: run.spans.map(({ span, tag, depth, from, to }) => ({
      span,
      tag,
      depth,
      from,
      to
    })),
    tasks: run.boxes.filter(box => isRun(box)).length,
    executions: run.boxes.filter(box => isRun(box)).length,
    hidden: 0,
    kinds
  };
}

export function detailOf(run: DrawnRun, id: number): RunDetail | null {
  const boxes = run.boxes.filter(box => box.run === id);
  const main = boxes.find(box => isRun(box));
  if (main === undefined) {
    return null;
  }
  const held = boxes.filter(box => !box.strip);
  const start = Math.min(...held.map(box => box.from));
  const stop = Math.max(...held.map(box => box.to));
  return {
    run: id,
    key: `('${main.function}-70a926', ${id})`,
    function: main.function,
    span: spanPath(run, main.span),
    origin: 'user',
    worker: `worker ${Math.floor(main.lane / run.threads)}`,
    thread: main.lane % run.threads,
    status: main.kind === BoxKind.Failed ? 'failed' : 'ok',
    attempt: 1,
    start,
    duration: stop - start,
    cpu: (stop - start) * 0.93,
    waitReady: 0.038,
    waitInputs: 0.0124,
    waitThread: 0,
    nbytes: main.kind === BoxKind.Failed ? null : 53.6 * 2 ** 20,
    error:
      main.kind === BoxKind.Failed
        ? 'ValueError: Input X contains NaN.'
        : undefined,
    parts: boxes.map(box => ({
      kind: kindNames[box.kind] ?? 'compute',
      held: !box.strip,
      function: box.function,
      span: spanPath(run, box.span),
      offset: box.from - start,
      duration: box.to - box.from,
      cpu: null,
      bytes: box.kind === BoxKind.Transfer ? 55.5 * 2 ** 20 : null
    }))
  };
}

function spanPath(run: DrawnRun, id: number): string[] {
  const span = run.spans.find(item => item.span === id);
  return span === undefined
    ? []
    : [...(span.parent === null ? [] : spanPath(run, span.parent)), span.tag];
}

export function tasksOf(
  run: DrawnRun,
  params: Readonly<Record<string, unknown>>
): TasksResult {
  const search = String(params.search ?? '').toLowerCase();
  const ids = [...new Set(run.boxes.map(box => box.run))];
  const all = ids
    .map(id => detailOf(run, id))
    .filter(
      (row): row is RunDetail =>
        row !== null && row.key.toLowerCase().includes(search)
    );
  const sort = String(params.sort ?? 'start') as keyof RunDetail;
  const sign = params.descending === true ? -1 : 1;
  all.sort((a, b) => {
    const [x, y] = [a[sort], b[sort]];
    return (
      sign *
      (typeof x === 'number' && typeof y === 'number'
        ? x - y
        : String(x).localeCompare(String(y)))
    );
  });
  const offset = Number(params.offset ?? 0);
  return {
    view: 'tasks',
    total: all.length,
    rows: all.slice(offset, offset + Number(params.limit ?? 500))
  };
}

export function fineMetricsOf(
  run: DrawnRun,
  params: Readonly<Record<string, unknown>>,
  functions = 0
): FineMetricsResult {
  const unit = String(params.unit ?? 'seconds');
  const top = Number(params.top ?? 12);
  const capacity = run.end * run.workers * run.threads;
  const scale = unit === 'seconds' ? 1 : unit === 'bytes' ? 40e6 : 10;
  const sums = secondsBy(run);
  for (let extra = 0; extra < functions; extra += 1) {
    sums.set(`function-with-a-rather-long-name-${extra}`, {
      seconds: 2 / (extra + 1),
      tasks: 10
    });
  }
  const rows = [...sums]
    .map(([name, { seconds, tasks }], index) => {
      const cpuShare = name === 'read-parquet' ? 0.36 : 0.86;
      const moved = name.startsWith('rechunk') ? 0.2 : 0.01;
      const rest = 1 - moved * 2;
      const total = seconds * scale;
      return {
        function: name,
        slot: index % 12,
        round: Math.floor(index / 12),
        executions: tasks,
        total,
        share: seconds / capacity,
        activities: {
          'thread-cpu': total * cpuShare * rest,
          core: total * (1 - cpuShare) * rest * 0.5,
          gil: total * (1 - cpuShare) * rest * 0.3,
          blocked: total * (1 - cpuShare) * rest * 0.1,
          'thread-noncpu': total * (1 - cpuShare) * rest * 0.08,
          transfer: total * moved,
          'disk-read': total * moved,
          deserialize: total * (1 - cpuShare) * rest * 0.02
        }
      };
    })
    .sort((a, b) => b.total - a.total);
  const activities = new Map<string, number>();
  for (const row of rows) {
    for (const [activity, value] of Object.entries(row.activities)) {
      activities.set(activity, (activities.get(activity) ?? 0) + value);
    }
  }
  const busy =
    [...activities.values()].reduce((sum, value) => sum + value, 0) / scale;
  const idle = Math.max(0, capacity - busy);
  const rest = rows.slice(top);
  const restActivities: Record<string, number> = {};
  for (const row of rest) {
    for (const [activity, value] of Object.entries(row.activities)) {
      restActivities[activity] = (restActivities[activity] ?? 0) + value;
    }
  }
  return {
    view: 'fine-metrics',
    unit,
    units: ['seconds', 'bytes', 'count'],
    wallSeconds: run.end,
    threads: run.workers * run.threads,
    capacitySeconds: capacity,
    byActivity: [...activities].map(([activity, value]) => ({
      activity,
      value,
      share: value / scale / capacity
    })),
    byFunction: rows.slice(0, top),
    others:
      rest.length === 0
        ? null
        : {
            functions: rest.length,
            executions: rest.reduce((sum, row) => sum + row.executions, 0),
            total: rest.reduce((sum, row) => sum + row.total, 0),
            activities: restActivities
          },
    idle: [
      { cause: 'nothing-runnable', seconds: idle * 0.52 },
      { cause: 'inputs-in-flight', seconds: idle * 0.19 },
      { cause: 'paused', seconds: idle * 0.17 },
      { cause: 'scheduler', seconds: idle * 0.07 },
      { cause: 'held-elsewhere', seconds: idle * 0.05 }
    ],
    background: [
      { activity: 'transfer', seconds: 7.92, bytes: 1.4 * GiB, count: 210 },
      { activity: 'serve', seconds: 6.61, bytes: 1.4 * GiB, count: 208 },
      { activity: 'disk-write', seconds: 4.05, bytes: 0.8 * GiB, count: 60 }
    ],
    otherSpansSeconds: 0,
    otherIdleSeconds: 0,
    gilErrorSeconds: (activities.get('gil') ?? 0) * 0.06,
    attributedNanoseconds: Math.round(busy * 1e9),
    totalNanoseconds: Math.round(busy * 1e9)
  };
}

type DrawnFrame = readonly [string, string, number, readonly DrawnFrame[]];

const frames: DrawnFrame = [
  'all functions',
  '',
  12640,
  [
    [
      'execute_task',
      'spanwise/worker/run.py:210',
      12500,
      [
        [
          'fit_fold',
          'model.py:41',
          4300,
          [
            [
              'fit',
              'sklearn/linear_model/_logistic.py:1200',
              4020,
              [
                [
                  '_fit_binary',
                  'sklearn/linear_model/_logistic.py:600',
                  3600,
                  [
                    [
                      'logistic_loss_gradient',
                      'sklearn/_loss/loss.py:300',
                      2400,
                      [
                        ['matmul', 'numpy/core.py:1', 1640, []],
                        ['exp', 'numpy/core.py:2', 660, []]
                      ]
                    ],
                    [
                      'line_search',
                      'scipy/optimize/_linesearch.py:50',
                      1000,
                      [['dot', 'numpy/core.py:3', 780, []]]
                    ]
                  ]
                ]
              ]
            ]
          ]
        ],
        [
          'read_parquet',
          'pandas/io/parquet.py:500',
          2530,
          [
            [
              'read_table',
              'pyarrow/parquet/core.py:1700',
              2270,
              [
                [
                  'read_row_groups',
                  'pyarrow/parquet/core.py:300',
                  1900,
                  [
                    ['ReadAt', 'pyarrow/io.pxi:20', 1390, []],
                    ['decompress', 'pyarrow/io.pxi:80', 460, []]
                  ]
                ]
              ]
            ]
          ]
        ],
        [
          'groupby_chunk',
          'dask/dataframe/groupby.py:300',
          1640,
          [
            [
              'agg',
              'pandas/core/groupby.py:900',
              1510,
              [
                [
                  '_cython_agg',
                  'pandas/core/groupby/ops.py:70',
                  1050,
                  [['group_mean', 'pandas/_libs/groupby.pyx:4', 750, []]]
                ],
                ['factorize', 'pandas/core/algorithms.py:600', 420, []]
              ]
            ]
          ]
        ],
        [
          'rechunk_merge',
          'dask/array/rechunk.py:700',
          1400,
          [
            [
              'concatenate',
              'numpy/core.py:9',
              1000,
              [['copyto', 'numpy/core.py:10', 740, []]]
            ]
          ]
        ],
        [
          'astype',
          'pandas/core/generic.py:6000',
          1340,
          [
            [
              'astype_array',
              'pandas/core/dtypes/astype.py:90',
              1210,
              [
                [
                  'clean_labels',
                  'prep.py:12',
                  1100,
                  [
                    ['str.strip', 'prep.py:14', 430, []],
                    ['str.lower', 'prep.py:14', 350, []]
                  ]
                ]
              ]
            ]
          ]
        ],
        [
          'map_features',
          'features.py:8',
          800,
          [['sin', 'numpy/core.py:20', 500, []]]
        ]
      ]
    ]
  ]
];

export function profileOf(run: DrawnRun): ProfileResult {
  const nodes = {
    parent: [] as number[],
    name: [] as string[],
    file: [] as string[],
    line: [] as number[],
    n: [] as number[],
    onCore: [] as number[],
    waiting: [] as number[],
    gil: [] as number[],
    blocked: [] as number[],
    slot: [] as number[]
  };
  const add = (
    [name, where, n, children]: DrawnFrame,
    parent: number
  ): void => {
    const [file = '', line = '0'] = where.split(':');
    const index = nodes.name.length;
    const waits =
      name === 'ReadAt' || name === 'read_parquet'
        ? 0.6
        : name.includes('str')
          ? 0.5
          : 0.12;
    nodes.parent.push(parent);
    nodes.name.push(name);
    nodes.file.push(file);
    nodes.line.push(Number(line));
    nodes.n.push(n);
    nodes.onCore.push(Math.round(n * (1 - waits)));
    nodes.waiting.push(Math.round(n * waits * 0.2));
    nodes.gil.push(Math.round(n * waits * 0.2));
    nodes.blocked.push(
      n - Math.round(n * (1 - waits)) - 2 * Math.round(n * waits * 0.2)
    );
    nodes.slot.push(
      file === ''
        ? -1
        : [...(file.split('/')[0] ?? '')].reduce(
            (sum, letter) => sum + letter.charCodeAt(0),
            0
          ) % 12
    );
    for (const child of children) {
      add(child, index);
    }
  };
  add(frames, -1);
  const random = new SeededRandom(5);
  const seconds = Array.from(
    { length: 120 },
    (_, index) => (index * run.end) / 120
  );
  const level = seconds.map(at =>
    at > 7.2 && at < 7.8 ? 0.3 : at > 20.8 && at < 21.3 ? 0.05 : 1
  );
  return {
    view: 'profile',
    samples: 12640,
    rateHz: 100,
    nodes,
    dropped: 0,
    activity: {
      seconds,
      onCore: seconds.map(
        (at, index) =>
          (level[index] ?? 0) *
          (at < 7.2 ? 3.4 : at < 21 ? 5.4 : 7) *
          (0.9 + 0.2 * random.next())
      ),
      waiting: seconds.map(
        (_, index) => (level[index] ?? 0) * 0.4 * random.next()
      ),
      gil: seconds.map((_, index) => (level[index] ?? 0) * 0.2 * random.next()),
      blocked: seconds.map(
        (at, index) =>
          (level[index] ?? 0) *
          (at < 7.2 ? 4 : at < 21 ? 1.5 : 0.4) *
          (0.8 + 0.3 * random.next())
      )
    }
  };
}

export function memoryOf(
  params: Readonly<Record<string, unknown>>
): MemoryResult {
  const measure = String(params.measure ?? 'process');
  const curve = (
    length: number,
    peak: number,
    at: number,
    random: SeededRandom
  ) => {
    const t: number[] = [];
    const bytes: number[] = [];
    for (let seconds = 0; seconds <= length; seconds += 0.5) {
      const hill = Math.exp(-(((seconds - at) / (length * 0.35)) ** 2));
      t.push(seconds);
      bytes.push(
        (1.2 + (peak - 1.2) * hill + (random.next() - 0.5) * 0.3) * GiB
      );
    }
    const highest = Math.max(...bytes);
    const sum = bytes.reduce((total, value) => total + value, 0);
    return {
      t,
      bytes,
      samples: t.length,
      first: bytes[0] ?? null,
      last: bytes.at(-1) ?? null,
      peak: highest,
      peakAt: t[bytes.indexOf(highest)] ?? null,
      mean: sum / bytes.length,
      area: sum * 0.5
    };
  };
  const shifted = (line: ReturnType<typeof curve>, start: number) => ({
    ...line,
    t: line.t.map(at => at + start),
    peakAt: line.peakAt === null ? null : line.peakAt + start
  });
  const random = new SeededRandom(11);
  const whole = curve(72, 11, 50, random);
  return {
    view: 'memory',
    measure,
    series:
      params.show === 'workers'
        ? [0, 1, 2, 3].map(worker => ({
            name: `worker ${worker}`,
            worker,
            t: whole.t,
            bytes: whole.bytes.map(
              value => (value / 4) * (0.9 + 0.2 * random.next())
            )
          }))
        : [{ name: 'cluster', worker: null, t: whole.t, bytes: whole.bytes }],
    limits: {
      memoryLimit: 16 * GiB,
      target: 9.6 * GiB,
      spill: 11.2 * GiB,
      pause: 12.8 * GiB
    },
    runs: [
      {
        run: 1,
        label: 'before',
        measure: 'process',
        intervalSeconds: 0.25,
        start: 0.5,
        stopped: 41.3,
        ...shifted(curve(40.8, 12.3, 21.8, random), 0.5)
      },
      {
        run: 2,
        label: 'after',
        measure: 'process',
        intervalSeconds: 0.25,
        start: 42,
        stopped: null,
        ...shifted(curve(29.6, 6.63, 17.3, random), 42)
      }
    ],
    now: {
      process: 7.01 * GiB,
      managed: 3.2 * GiB,
      spilled: 1.4 * GiB,
      unmanagedOld: 1.1 * GiB
    }
  };
}

export function tileOf(
  boxes: readonly DrawnBox[],
  functions: readonly string[],
  level: number,
  index: number,
  runLimit = NONE_U32
) {
  const cell = 2 ** level * 1e-6;
  const from = index * 512 * cell;
  const to = from + 512 * cell;
  const rows: {
    lane: number;
    from: number;
    to: number;
    fn: number;
    kind: number;
    strip: number;
    cover: number;
    run: number;
    tasks: number;
  }[] = [];
  // Boxes narrower than a cell are added up, one per lane, cell and kind.
  const open = new Map<string, (typeof rows)[number]>();
  for (const box of boxes) {
    if (box.to <= from || box.from >= to) {
      continue;
    }
    const left = (box.from - from) / cell;
    const right = (box.to - from) / cell;
    const fn = functions.indexOf(box.function);
    if (right - left >= 1 || box.kind === BoxKind.Failed) {
      rows.push({
        lane: box.lane,
        from: left,
        to: right,
        fn,
        kind: box.kind,
        strip: Number(box.strip),
        cover: 255,
        run: box.run,
        tasks: 1
      });
      continue;
    }
    const at = Math.floor(left);
    const key = `${box.lane} ${at} ${Number(box.strip)}`;
    const had = open.get(key);
    if (had === undefined) {
      const row = {
        lane: box.lane,
        from: at,
        to: at + 1,
        fn,
        kind: box.kind,
        strip: Number(box.strip),
        cover: (right - left) * 255,
        run: runLimit,
        tasks: 1
      };
      open.set(key, row);
      rows.push(row);
    } else {
      had.cover = Math.min(254, had.cover + (right - left) * 255);
      had.tasks += 1;
    }
  }
  return {
    level,
    index,
    settled: true,
    logSeq: 1,
    functions,
    lane: Uint16Array.from(rows, row => row.lane),
    from: Float32Array.from(rows, row => row.from),
    to: Float32Array.from(rows, row => row.to),
    function: Uint16Array.from(rows, row => row.fn),
    kind: Uint8Array.from(rows, row => row.kind),
    strip: Uint8Array.from(rows, row => row.strip),
    cover: Uint8Array.from(rows, row => row.cover),
    run: Uint32Array.from(rows, row => row.run),
    tasks: Uint32Array.from(rows, row => row.tasks)
  };
}
