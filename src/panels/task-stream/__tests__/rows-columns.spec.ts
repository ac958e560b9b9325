/** What the panel says of each worker, band, colour and box, from drawn runs of which no two figures are equal. */
import fc from 'fast-check';
import { ask } from '../../../observer/__tests__/ask';
import { runDetail } from '../../../observer/folds/run-detail';
import { ingestBlock } from '../../../observer/store/ingest';
import { LogStore } from '../../../observer/store/log-store';
import {
  ClockChange,
  PartKind,
  RunStatus
} from '../../../records/enumerations';
import type { LaneIndex } from '../../../records/ids';
import type { TableName } from '../../../records/tables';
import { idOf } from '../../../testing/ids';
import { rowsToBlock, type Row } from '../../../testing/rows-to-block';
import { drawRuns, type DrawnTask } from '../../../testing/run-from-text';
import { english } from '../../../testing/translators';
import type { RunDetail, TaskStreamResult } from '../../../wire/panel-link';
import {
  bandLevels,
  placedBands,
  cardHint,
  cardOf,
  cellText,
  clockText,
  fusedWith,
  type HoveredBox,
  legendItems,
  legendRows,
  partRows,
  placeText,
  slotsByName,
  spanText,
  stripBars,
  summaryText,
  taskColumns,
  taskRow,
  uncountedTasks,
  waitText,
  workerHeaders
} from '../rows';

const GiB = 2 ** 30;
const MiB = 2 ** 20;
const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const bandRows = (of: TaskStreamResult) => placedBands(of).rows;

/** More rows come in. */
function take(log: LogStore, table: TableName, rows: readonly Row[]): void {
  ingestBlock(log, rowsToBlock(log.seq + 1, table, rows));
}
const streamOf = (log: LogStore, ended = true) =>
  ask(log, 'task-stream', { ended });
const nothing = streamOf(new LogStore('nothing'));

/** The run of a drawing with one letter, as the observer tells it; columns are 0.1 s wide. */
const detailOf = (letters: string, task: DrawnTask): RunDetail =>
  runDetail(
    drawRuns(`7/0 ${letters}`, {
      secondsPerColumn: 0.1,
      tasks: { [letters.replaceAll('.', '')[0]!]: task }
    }),
    0
  )!;

describe('the header of a worker', () => {
  const log = drawRuns(`
    0/0 aaaaaaaa..
    1/0 bbbb......
    1/1 ..........
    1/2 ..........
    2/0 cccccc....
    3/0 ........dd
    3/1 ..........
  `);
  const worker = { joined: 0, left: NaN };
  take(log, 'workers', [
    { ...worker, worker: 0, threads: 1, name: 'alice', memoryLimit: 0 },
    { ...worker, worker: 1, threads: 3, name: 'w-1', memoryLimit: 2 * GiB },
    {
      ...worker,
      worker: 2,
      threads: 1,
      name: '2',
      memoryLimit: GiB,
      left: 7.5
    },
    { ...worker, worker: 3, threads: 2, name: 'worker-3', memoryLimit: 4 * GiB }
  ]);
  take(log, 'memory', [
    { t: 5, worker: 2, process: 0.5 * GiB },
    { t: 6, worker: 3, process: 1.5 * GiB }
  ]);
  // On the second thread of the second worker.
  take(log, 'running', [{ lane: 2, node: 0, function: 1, started: 6 }]);
  const result = streamOf(log, false);
  const texts = (of: TaskStreamResult) =>
    workerHeaders(of, english).map(({ text }) => plain(text));

  it('says its threads, its share of work, its memory and when it left', () => {
    expect(result.now).toBe(10);
    expect(texts(result)).toEqual([
      '1 thread · busy 80 %',
      // Four seconds on one thread and four on another, of three times ten.
      '3 threads · busy 27 % · 2.00 GiB',
      '1 thread · busy 80 % · left at 7.50 s',
      '2 threads · busy 10 % · 1.50 GiB of 4.00 GiB'
    ]);
    expect(workerHeaders(result, english).map(({ name }) => name)).toEqual([
      'alice',
      'w-1',
      'worker 2',
      'worker 3'
    ]);
  });

  it('says of what its share is one', () => {
    expect(plain(workerHeaders(result, english)[1]!.explanation)).toMatch(
      /^Busy: tasks held the threads for 8\.00 s of the 30\.0 s that they had /
    );
  });

  it('counts nothing of a task that begins later than all that is known', () => {
    expect(texts({ ...result, now: 5 })[1]).toContain('busy 13 %');
  });

  it('says that it is busy for longer where it is not known for how long a running task held a thread', () => {
    const seceded = (held?: TaskStreamResult['running'][number]['held']) => ({
      ...result,
      lanes: result.lanes.map((lane, index) =>
        index === 2 ? { ...lane, beside: ['seceded', 1] as const } : lane
      ),
      running: result.running.map(task => ({ ...task, ...(held && { held }) }))
    });
    // (of the four seconds that it runs nothing is counted)
    expect(texts(seceded())).toEqual([
      '1 thread · busy 80 %',
      '3 threads · busy 13 % or more · 2.00 GiB',
      '1 thread · busy 80 % · left at 7.50 s',
      '2 threads · busy 10 % · 1.50 GiB of 4.00 GiB'
    ]);
    expect(plain(workerHeaders(seceded(), english)[1]!.explanation)).toMatch(
      /^Busy: tasks held the threads for 4\.00 s of .* 1 task that seceded and still runs is not counted: when it held a thread is not known\.$/
    );
    expect(uncountedTasks(seceded())).toEqual(new Map([[1, 1]]));
    const known = seceded([{ laneIndex: 1 as LaneIndex, from: 6, to: 7 }]);
    expect(texts(known)[1]).toBe('3 threads · busy 17 % · 2.00 GiB');
    expect(uncountedTasks(known)).toEqual(new Map());
  });

  it('is never busy for more than all of its time, nor for a share of none', () => {
    const busy = (busy: number, capacity: number) =>
      texts({
        ...result,
        workers: result.workers.map(each => ({ ...each, busy, capacity }))
      })[0];
    expect(busy(10.01, 10)).toContain('busy 100 %');
    expect(busy(0, 0)).toContain('busy –');
  });

  it('says why it begins no task', () => {
    const paused = { text: 'paused: memory full', word: 'paused' };
    const standings = new Map([[1, paused]]);
    const said = workerHeaders(result, english, standings);
    expect(said.map(({ worker, standing }) => [worker, standing])).toEqual([
      [0, undefined],
      [1, paused],
      [2, undefined],
      [3, undefined]
    ]);
  });
});

describe('how exact times are', () => {
  const log = new LogStore('clocks');
  take(
    log,
    'workers',
    [0, 1, 2].map(worker => ({
      worker,
      pid: 1,
      threads: 1,
      memoryLimit: 0,
      joined: 0,
      left: NaN,
      name: `worker-${worker}`,
      address: '',
      host: '',
      why: ''
    }))
  );
  const clock = { offset: 3, drift: NaN, why: ClockChange.Measured };
  const said = () => plain(clockText(streamOf(log), english));

  it('is not said of one clock, nor of one that is known well', () => {
    expect(said()).toBe('');
    take(log, 'clocks', [{ ...clock, t: 1, worker: 1, within: 0.001 }]);
    expect(said()).toBe('');
  });

  it('is said by the least exact, and of how many', () => {
    take(log, 'clocks', [{ ...clock, t: 2, worker: 1, within: 0.004 }]);
    expect(said()).toBe(
      'Times of worker 1 are exact to 4.00 ms: its clock is measured over a slow connection.'
    );
    take(log, 'clocks', [{ ...clock, t: 3, worker: 2, within: 0.012 }]);
    expect(said()).toBe(
      'Times of worker 2 and 1 other worker are exact to 12.0 ms: their clocks are measured over slow connections.'
    );
    // It is known better now.
    take(log, 'clocks', [
      { ...clock, t: 4, worker: 1, within: 0.0002 },
      { ...clock, t: 4, worker: 2, within: 0.0002 }
    ]);
    expect(said()).toBe('');
  });
});

describe('the bands of spans', () => {
  const band = fc.record({
    span: fc.nat(50),
    tag: fc.constantFrom('a', 'b', 'c'),
    depth: fc.nat(3),
    from: fc.nat(18),
    length: fc.integer({ min: 1, max: 6 })
  });
  type Drawn = { tag: string; depth: number; from: number; length: number };
  const covered = (bands: readonly Drawn[]) =>
    new Set(
      bands.flatMap(({ tag, depth, from, length }) =>
        Array.from({ length }, (_, i) => `${depth} ${tag} ${from + i}`)
      )
    );

  it('lie beside each other on a line, each from its first span to its last', () => {
    fc.assert(
      fc.property(fc.array(band, { maxLength: 8 }), drawn => {
        const rows = bandRows({
          ...nothing,
          from: 0,
          to: 24,
          bands: drawn.map(({ length, ...each }) => ({
            ...each,
            to: each.from + length
          }))
        });
        expect(bandLevels(rows)).toBe(
          rows.length === 0 ? 0 : Math.max(...rows.map(row => row.level)) + 1
        );
        expect(bandLevels(rows)).toBeLessThanOrEqual(3);
        const times = covered(drawn);
        for (const [i, row] of rows.entries()) {
          for (const other of rows.slice(i + 1)) {
            if (other.level === row.level) {
              expect(other.from >= row.to || other.to <= row.from).toBe(true);
              expect(other.tint === row.tint).toBe(other.tag === row.tag);
            }
          }
          // It is of spans of its name, a line may be lower than their depth.
          const depths = [0, 1, 2, 3].filter(
            depth =>
              depth <= row.level &&
              Array.from({ length: row.to - row.from }, (_, i) =>
                times.has(`${depth} ${row.tag} ${row.from + i}`)
              ).every(Boolean)
          );
          expect(depths).not.toEqual([]);
        }
        // Without a neighbour of the same depth and above there is room on its own line.
        const lone = drawn.filter(
          ({ depth, tag }) =>
            depth < 3 &&
            drawn.every(each => each.depth > depth || each.tag === tag)
        );
        const shown = covered(
          rows.map(({ tag, from, to }) => ({
            tag,
            depth: 0,
            from,
            length: to - from
          }))
        );
        for (const time of covered(lone.map(each => ({ ...each, depth: 0 })))) {
          expect(shown).toContain(time);
        }
      }),
      { numRuns: 60 }
    );
  });

  const bands = (
    ...drawn: readonly (readonly [
      tag: string,
      depth: number,
      from: number,
      to: number
    ])[]
  ) =>
    bandRows({
      ...nothing,
      from: -900,
      to: -800,
      bands: drawn.map(([tag, depth, from, to], i) => ({
        span: 70 + i,
        tag,
        depth,
        from,
        to
      }))
    });

  it('of one name are one where no gap between them can be seen', () => {
    const ends = (second: number) =>
      bands(['a', 0, 0, 10], ['a', 0, second, 20]).map(({ from, to }) => [
        from,
        to
      ]);
    // Of 100 s a gap of 0.4 is four pixels of 1,000.
    expect(ends(10.4)).toEqual([[0, 20]]);
    expect(ends(10.41)).toEqual([
      [0, 10],
      [10.41, 20]
    ]);
    // One that lies within another takes nothing from its end.
    expect(bands(['a', 0, 0, 30], ['a', 0, 5, 9])).toMatchObject([
      { span: 70, from: 0, to: 30 }
    ]);
    // Of another depth it is another, whose clock may be a hair behind.
    expect(
      bands(['a', 0, 0, 10], ['b', 0, 10 - 1e-10, 20], ['a', 1, 0, 9]).map(
        ({ tag, level }) => [tag, level]
      )
    ).toEqual([
      ['a', 0],
      ['b', 0],
      ['a', 1]
    ]);
  });

  it('of one name are different ones in different notebooks', () => {
    const both = [
      { span: 1, tag: 'a', depth: 0, from: 0, to: 10, client: 'n.ipynb' },
      { span: 2, tag: 'a', depth: 0, from: 5, to: 20, client: 's.ipynb' }
    ];
    expect(
      bandRows({ ...nothing, from: 0, to: 20, bands: both }).map(
        ({ client, level, tint }) => [client, level, tint]
      )
    ).toEqual([
      ['n.ipynb', 0, 0],
      ['s.ipynb', 1, 1]
    ]);
  });

  it('have six tints in turn, each line its own first', () => {
    const tags = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const line = (depth: number) =>
      tags.map((tag, i) => [tag, depth, 10 * i, 10 * i + 9] as const);
    expect(
      bands(...line(0), ...line(1), ...line(2)).map(({ tint }) => tint)
    ).toEqual([
      ...[0, 1, 2, 3, 4, 5, 0],
      ...[1, 2, 3, 4, 5, 0, 1],
      ...[2, 3, 4, 5, 0, 1, 2]
    ]);
  });

  it('have three lines: what finds no room there is left out', () => {
    const all = ['a', 'b', 'c', 'd'].map((tag, i) => [tag, 0, i, 50] as const);
    expect(bands(...all, ['e', 3, 0, 9]).map(({ tag }) => tag)).toEqual([
      'a',
      'b',
      'c'
    ]);
  });
});

describe('the strip of the whole run', () => {
  it('has the share of all threads that each of 240 bars is of', () => {
    const log = drawRuns(
      `
      0/0 aaaaaaaaaa
      0/1 ..bbbbbbbb
      0/2 ......cc..
      0/3 ......cd..
      `,
      {
        tasks: {
          b: {
            parts: [
              { kind: PartKind.Transfer, offset: 0, duration: 1 },
              { kind: PartKind.DiskRead, offset: 1, duration: 2 },
              { kind: PartKind.Deserialize, offset: 3, duration: 1 },
              { kind: PartKind.Compute, offset: 4, duration: 4 }
            ]
          },
          c: { status: RunStatus.Failed },
          d: { status: RunStatus.Lost }
        }
      }
    );
    const bars = stripBars(streamOf(log));
    expect(bars).toHaveLength(240);
    const at = (second: number) => bars[Math.floor(second * 24)]!;
    const [compute, disk, transfer] = [0.25, 0.25, 0.25].map(share =>
      expect.closeTo(share, 4)
    );
    const bar = { compute, disk: 0, transfer: 0, failed: 0 };
    expect(at(1.5)).toEqual(bar);
    expect(at(2.5)).toEqual({ ...bar, transfer });
    expect(at(4.5)).toEqual({ ...bar, disk });
    // Unpacking holds the thread too.
    expect(at(5.5)).toEqual({ ...bar, compute: expect.closeTo(0.5, 4) });
    expect(at(6.5)).toEqual({ ...bar, compute: expect.closeTo(1, 4) });
    expect(at(6.001).failed).toBe(2);
    expect(bars.reduce((sum, { failed }) => sum + failed, 0)).toBe(3);
  });

  it('has bars of full height where all threads were busy that there were, though their workers were replaced', () => {
    const log = drawRuns(`
      0/0 aaaa....
      0/1 aaaa....
      1/0 ....bbbb
      1/1 ....bbbb
    `);
    const heights = () => {
      const bars = stripBars(streamOf(log)).map(({ compute }) => compute);
      return [bars[60], bars[180]];
    };
    const rows = (joined: number, left: number) =>
      take(
        log,
        'workers',
        [0, 1].map(worker => ({
          worker,
          threads: 2,
          name: `${worker}`,
          memoryLimit: 0,
          joined: worker === 0 ? 0 : joined,
          left: worker === 0 ? left : NaN
        }))
      );
    // The second joins as the first leaves, and just before.
    rows(4, 4);
    expect(heights()).toEqual([1, 1].map(one => expect.closeTo(one, 9)));
    rows(3, 4);
    expect(heights()).toEqual([0.5, 0.5].map(one => expect.closeTo(one, 9)));
    // Of an observer of before.
    const { threads, ...strip } = streamOf(log).strip;
    expect(threads).toBe(4);
    expect(stripBars({ ...streamOf(log), strip })[60]!.compute).toBeCloseTo(
      0.5,
      9
    );
    // More than have ever run a task: the others have no lane.
    rows(3, NaN);
    take(log, 'workers', [
      { worker: 2, threads: 9, name: '2', memoryLimit: 0, joined: 0, left: NaN }
    ]);
    expect(heights()).toEqual([0.5, 0.5].map(one => expect.closeTo(one, 9)));
  });

  it('has bars up to now of tasks that run', () => {
    const zeros = [0, 0, 0, 0];
    const bars = (
      started: readonly number[],
      strip: Partial<TaskStreamResult['strip']> = {}
    ) =>
      stripBars({
        ...nothing,
        from: 2,
        to: 10,
        now: 9,
        lanes: [0, 1].map(laneIndex => ({
          laneIndex: laneIndex as LaneIndex,
          worker: 0,
          thread: laneIndex
        })),
        running: started.map((from, laneIndex) => ({
          laneIndex: laneIndex as LaneIndex,
          key: `f-${laneIndex}`,
          function: 'f',
          span: 0,
          started: from
        })),
        strip: {
          compute: zeros,
          other: zeros,
          disk: zeros,
          transfer: zeros,
          failed: zeros,
          ...strip
        }
      }).map(({ compute }) => compute);
    expect(bars([])).toEqual(zeros);
    expect(bars([5])).toEqual([0, 0.25, 0.5, 0.25]);
    // (one has run for longer than the strip shows)
    expect(bars([5, 1])).toEqual([0.5, 0.75, 1, 0.5]);
    expect(bars([7], { compute: [0, 4, 2, 0] })).toEqual([0, 1, 0.75, 0.25]);
    // What is told of a running task is not counted twice.
    expect(
      bars([6, 6], { transfer: [0, 0, 3, 0], disk: [0, 0, 0, 4] })
    ).toEqual([0, 0, 0.25, 0]);
  });

  it('has bars of no height where there was no time, and none above all threads', () => {
    for (const bar of stripBars(nothing)) {
      expect(bar).toEqual({ compute: 0, disk: 0, transfer: 0, failed: 0 });
    }
    const one = (compute: number, other: number) =>
      stripBars({
        ...nothing,
        from: 2,
        to: 6,
        lanes: [],
        strip: {
          compute: [compute, 0],
          other: [other, 0],
          disk: [],
          transfer: [],
          failed: []
        }
      })[0]!.compute;
    expect(one(0.5, 1)).toBe(0.75);
    expect(one(1.5, 1)).toBe(1);
  });
});

describe('the legend', () => {
  const log = drawRuns(
    `
    0/0 aaaaaaaaaabbb
    0/1 ccdd..ee.....
    `,
    {
      tasks: {
        a: {
          function: 'load',
          parts: [
            { kind: PartKind.Transfer, offset: 0, duration: 1 },
            { kind: PartKind.DiskRead, offset: 1, duration: 1 },
            { kind: PartKind.DiskWrite, offset: 2, duration: 1 },
            { kind: PartKind.Import, offset: 3, duration: 1 },
            { kind: PartKind.Import, offset: 4, duration: 1 },
            { kind: PartKind.Import, offset: 5, duration: 1 },
            { kind: PartKind.Serialize, offset: 6, duration: 1 },
            { kind: PartKind.Deserialize, offset: 7, duration: 1 },
            { kind: PartKind.Serialize, offset: 8, duration: 1 },
            { kind: PartKind.Serialize, offset: 9, duration: 1 }
          ]
        },
        b: { function: 'fit' },
        c: { function: 'fit', status: RunStatus.Failed },
        d: { function: 'score', status: RunStatus.Lost },
        e: { function: 'score', status: RunStatus.Lost }
      }
    }
  );
  const result = streamOf(log);
  const shown = (by: 'function' | 'kind') =>
    legendItems(result, by, english).map(({ kind, name, text, title }) =>
      [kind, name, text, title].map(plain)
    );
  const kinds = [
    ['transfer', 'transfer', '', '1 part'],
    ['disk', 'disk', '', '2 parts'],
    ['import', 'importing modules', '', '3 parts'],
    ['serialize', '(de)serialise', '', '4 parts'],
    ['failed', 'failed runs', '1', '1 failed run'],
    ['failed', 'lost runs', '2', '2 runs that ended with their workers.']
  ];

  it('has functions by their time, then what else there was', () => {
    expect(shown('function')).toEqual([
      ['function', 'load', '10.0 s', '1 execution'],
      ['function', 'fit', '5.00 s', '2 executions'],
      ['function', 'score', '4.00 s', '2 executions'],
      ...kinds
    ]);
    const slots = slotsByName(result.functions);
    expect([...slots.keys()]).toEqual(['load', 'fit', 'score']);
    for (const { name, slot, round } of result.functions) {
      expect(slots.get(name)).toEqual({ slot, round });
    }
  });

  const task = {
    laneIndex: idOf<LaneIndex>(0),
    key: 'k',
    span: 0,
    started: 1
  };
  const live = {
    ...result,
    functions: [
      ...result.functions,
      { name: 'elsewhere', slot: 2, round: 0, seconds: 0, executions: 0 },
      {
        name: 'new',
        slot: 1,
        round: 0,
        seconds: 0,
        executions: 0,
        isFirst: true as const
      }
    ],
    running: ['fit', 'elsewhere', 'new'].map(name => ({
      ...task,
      function: name
    }))
  };

  it('says of a function that runs for the first time that it runs', () => {
    const texts = legendItems(live, 'function', english).slice(0, 5);
    expect(
      texts.map(({ name, text, title }) => [name, text, title].map(plain))
    ).toEqual([
      ['load', '10.0 s', '1 execution'],
      ['fit', '5.00 s', '2 executions'],
      ['score', '4.00 s', '2 executions'],
      // It has run, where the filter hides it.
      ['elsewhere', 'running', '0 executions'],
      ['new', 'running', 'runs for the first time']
    ]);
  });

  it('as a table has figures, also of a function that runs for the first time', () => {
    const rows = legendRows(live, english).map(row =>
      row.map(({ text, value }) => [plain(text), value])
    );
    rows.splice(3, 1);
    expect(rows.slice(1, 4)).toEqual([
      [
        ['fit', 'fit'],
        ['5.00 s', 5],
        ['2 executions', 2]
      ],
      [
        ['score', 'score'],
        ['4.00 s', 4],
        ['2 executions', 2]
      ],
      [
        ['new', 'new'],
        ['0 s', 0],
        ['0 executions', 0]
      ]
    ]);
    expect(rows.slice(4).map(([, , parts]) => parts)).toEqual(
      kinds.map(([, , , title]) => [title, null])
    );
  });

  it('by kind has all computing as one', () => {
    expect(shown('kind')).toEqual([
      ['compute', 'compute', '19.0 s', '5 executions'],
      ...kinds
    ]);
    // In a range both figures are of the range.
    const ranged = ask(log, 'task-stream', {
      time: { from: 0, to: 2 },
      ended: true
    });
    const [compute] = legendItems(ranged, 'kind', english);
    expect(plain(compute!.title)).toBe('2 executions');
    expect(legendItems(nothing, 'kind', english)).toMatchObject([
      { name: 'compute', text: '0\u00a0s', title: '0\u00a0executions' }
    ]);
  });
});

describe('the card of a box', () => {
  const bare: HoveredBox = {
    run: 0,
    function: 'load',
    kind: 'compute',
    inStrip: false,
    tasks: 1,
    from: 1.25,
    to: 1.75,
    worker: 'worker-7',
    thread: 0,
    running: false
  };
  const box = { ...bare, key: 'load-1', span: 'week' };
  const lines = (of: Partial<HoveredBox>, detail: RunDetail | null = null) =>
    cardOf({ ...box, ...of }, detail, english).rows.map(({ label, text }) =>
      plain(`${label}: ${text}`)
    );
  const detail = detailOf('.aaaaaaa', {
    function: 'load',
    span: 'year/week',
    cpu: 2,
    waitInputs: 3,
    bytes: 5 * MiB
  });

  it('has what the box knows', () => {
    expect(cardOf(box, null, english)).toEqual({
      title: 'load',
      aside: '',
      key: 'load-1',
      rows: expect.anything(),
      error: '',
      note: ''
    });
    expect(cardHint(box, null, english)).toBe(
      'click: details · double click: zoom · Alt click: hide'
    );
    expect(lines({})).toEqual([
      'span: week',
      'where: worker 7, thread 1',
      'ran: 1.250 s – 1.750 s',
      'duration: 500 ms'
    ]);
    expect(lines({ span: '' })[0]).toBe('where: worker 7, thread 1');
    expect(lines({ running: true, client: 'n.ipynb' })[0]).toBe(
      'notebook: n.ipynb'
    );
    const ofJob = { ...detail, client: 'job' };
    expect(lines({}, ofJob).slice(0, 2)).toEqual([
      'program: job',
      'span: year › week'
    ]);
    expect(placeText(ofJob, english)).toBe('job › year › week');
    expect(placeText(detail, english)).toBe('year › week');
    const ofCell = { ...detail, cell: { title: '# fit', execution: 7 } };
    expect(lines({}, ofCell).slice(0, 2)).toEqual([
      'span: year › week',
      'cell: # fit [7]'
    ]);
    // Where it is not known which of its runs it was.
    expect(cellText({ ...detail, cell: { title: '# fit' } }, english)).toBe(
      '# fit'
    );
    expect(cellText(detail, english)).toBe('');
    expect(cardOf(bare, null, english)).toMatchObject({ key: '' });
    expect(cardOf(bare, null, english).rows[0]!.label).toBe('where');
  });

  it('has what the log knows of its run', () => {
    expect(cardOf(box, detail, english)).toMatchObject({
      title: 'load',
      aside: '',
      key: 'load-a',
      error: ''
    });
    const waits = 'waited: queue 0 s, inputs 300 ms, thread 0 s';
    expect(lines({}, detail)).toEqual([
      'span: year › week',
      'where: worker 7, thread 1',
      'ran: 0.100 s – 0.800 s',
      'duration: 700 ms, CPU 200 ms',
      waits,
      'size: 5.00 MiB'
    ]);
    const unknown = {
      ...detail,
      span: [],
      cpu: null,
      nbytes: null,
      waitReady: null,
      waitInputs: null,
      waitThread: null
    };
    expect(lines({}, unknown)).toEqual([
      'where: worker 7, thread 1',
      'ran: 0.100 s – 0.800 s',
      'duration: 700 ms'
    ]);
    // Unknown waits are left out.
    expect(waitText({ ...detail, waitReady: null }, english)).toBe(
      plain('inputs 300\u00a0ms, thread 0\u00a0s').replaceAll(
        / (?=ms|s)/g,
        '\u00a0'
      )
    );
    expect(plain(waitText({ ...detail, waitThread: null }, english))).toBe(
      'queue 0 s, inputs 300 ms'
    );
  });

  it('says what runs, since when and for how long', () => {
    const running = { running: true, to: 4 };
    expect(lines(running)).toEqual([
      'span: week',
      'where: worker 7, thread 1',
      'since: 1.250 s',
      'running: 2.75 s'
    ]);
    expect(cardOf({ ...box, ...running }, null, english).aside).toBe('running');
    // A name of another task would be that of the run before.
    const other = cardOf(
      { ...box, ...running, function: 'fit' },
      detail,
      english
    );
    expect(other.title).toBe('fit');
  });

  it.each([
    ['transfer', 'transfer for load', '4,000 transfer parts'],
    ['disk', 'disk for load', '4,000 disk parts'],
    ['import', 'importing modules for load', '4,000 parts that import modules'],
    ['serialize', '(de)serialise for load', '4,000 (de)serialise parts'],
    ['compute', 'load', '4,000\u00a0task runs'],
    ['failed', 'load', '4,000\u00a0task runs']
  ] as const)('of kind %s is called so', (kind, one, many) => {
    expect(cardOf({ ...box, kind }, detail, english).title).toBe(one);
    const all = cardOf({ ...box, kind, tasks: 4000 }, detail, english);
    expect(all).toMatchObject({
      title: many,
      aside: 'mostly load',
      key: '',
      error: ''
    });
    expect(cardHint({ ...box, kind, tasks: 4000 }, detail, english)).toBe(
      'double click: zoom until each is seen'
    );
    expect(
      all.rows.map(({ label, text }) => plain(`${label}: ${text}`))
    ).toEqual(['where: worker 7, thread 1', 'between: 1.250 s – 1.750 s']);
    const two = { ...box, kind, tasks: 2, isExecution: true, function: '' };
    expect(cardOf(two, null, english)).toMatchObject({
      title: many.replace('4,000', '2').replace('task runs', 'executions'),
      aside: ''
    });
  });

  it('of a part has its own time, and the waits and the result of its run', () => {
    expect(lines({ kind: 'disk' }, detail)).toEqual([
      'span: year › week',
      'where: worker 7, thread 1',
      'ran: 1.250 s – 1.750 s',
      'duration: 500 ms',
      'waited: queue 0 s, inputs 300 ms, thread 0 s',
      'size: 5.00 MiB'
    ]);
  });

  it('says beside the title how it ended', () => {
    const aside = (
      of: Partial<HoveredBox>,
      run: Partial<RunDetail> | null
    ): string =>
      cardOf(
        { ...box, ...of },
        run === null ? null : { ...detail, attempt: 1, ...run },
        english
      ).aside;
    expect(aside({}, null)).toBe('');
    expect(aside({ kind: 'failed' }, null)).toBe('failed or lost');
    expect(aside({ inStrip: true }, { attempt: 2 })).toBe('in the background');
    expect(aside({}, {})).toBe('');
    expect(aside({}, { attempt: 2 })).toBe('attempt 2');
    expect(aside({}, { status: 'lost' })).toBe('lost');
    expect(aside({}, { status: 'missing', attempt: 0 })).toBe('missing');
    expect(aside({}, { status: 'lost', attempt: 3 })).toBe('lost, attempt 3');
    expect(aside({}, { status: 'failed' })).toBe('failed, attempt 1');
  });

  it('says that its span was inferred, where it has one', () => {
    const inferred = { ...detail, origin: 'inferred' as const };
    expect(spanText(inferred, english)).toBe('year › week (inferred)');
    expect(spanText({ ...inferred, span: [] }, english)).toBe('');
    expect(spanText(detail, english)).toBe('year › week');
  });

  describe('of a fused task', () => {
    const compute = { kind: PartKind.Compute };
    const fused = detailOf('a'.repeat(100), {
      function: 'load',
      parts: [
        { ...compute, function: 'clean', offset: 0, duration: 20 },
        { ...compute, function: 'clean', offset: 30, duration: 9 },
        { ...compute, function: 'sort', offset: 39, duration: 20 },
        { kind: PartKind.DiskRead, function: 'x', offset: 60, duration: 1 },
        { ...compute, function: '', offset: 61, duration: 1 },
        { ...compute, offset: 62, duration: 38 }
      ]
    });

    it('names each of the others once, the longest first', () => {
      expect(fusedWith(fused)).toEqual(['clean', 'sort']);
    });

    it('is that of the part, with the whole task’s time, where less than all of it is under the pointer', () => {
      const whole = (of: Partial<HoveredBox>) =>
        lines({ from: 0, to: 10, ...of }, fused).filter(line =>
          line.startsWith('fused task')
        );
      expect(whole({})).toEqual([]);
      expect(whole({ to: 3 })).toEqual([]);
      expect(whole({ to: 3, isExecution: true })).toEqual([
        'fused task: 10.0 s'
      ]);
      expect(whole({ to: 9.9, isExecution: true })).toEqual([]);
      expect(whole({ function: 'clean', tasks: 0 })).toEqual([
        'fused task: 10.0 s'
      ]);
      expect(whole({ function: '', to: 3 })).toEqual([]);
      // Of one that is not fused all is its own.
      expect(lines({ from: 0, to: 0.1, isExecution: true }, detail)).toContain(
        'duration: 700 ms, CPU 200 ms'
      );
    });
  });
});

describe('the picture in words', () => {
  it('is a sentence for each figure, none for what did not happen', () => {
    const one = streamOf(drawRuns('0/0 aaa'));
    expect(plain(summaryText(one, english, false))).toBe(
      '1 task run in 3.00 s. 1 worker. 1 thread. Most time: inc 3.00 s.'
    );
    // Of an observation.
    expect(plain(summaryText(one, english, true))).toContain(
      '. main program. '
    );
    const three = streamOf(drawRuns('0/0 a\n1/0 b\n2/0 c'));
    expect(plain(summaryText(three, english, true))).toContain(
      '. 2 processes and the main program. '
    );
    expect(plain(summaryText({ ...one, from: 0.5 }, english, false))).toMatch(
      /^1 task run in 2\.50 s\./
    );
    expect(
      plain(summaryText({ ...one, tasks: 2, executions: 1 }, english, false))
    ).toContain('. 1 execution of functions. ');
    // None of another function has ended.
    const { functions } = one;
    const first = { ...functions[0]!, name: 'new', seconds: 0, executions: 0 };
    const two = { ...one, functions: [...functions, first] };
    expect(plain(summaryText(two, english, false))).toMatch(/: inc 3\.00 s\.$/);
    expect(
      summaryText({ ...one, functions: [first] }, english, false)
    ).not.toContain('Most time');
    expect(plain(summaryText(nothing, english, false))).toBe(
      '0 task runs in 0 s. 0 workers. 0 threads.'
    );
  });

  it('counts executions where tasks are fused, and what was lost', () => {
    const log = drawRuns(
      `
      0/0 aaaaaaaaab
      0/1 ...cc.....
      1/0 dd........
      `,
      {
        tasks: {
          a: {
            function: 'load',
            parts: [
              {
                kind: PartKind.Compute,
                function: 'clean',
                offset: 0,
                duration: 4
              },
              { kind: PartKind.Compute, offset: 4, duration: 5 }
            ]
          },
          b: { function: 'load', status: RunStatus.Lost },
          c: { function: 'fit', status: RunStatus.Failed },
          d: { function: 'other', status: RunStatus.Lost }
        }
      }
    );
    take(log, 'running', [{ lane: 1, node: 0, function: 1, started: 8 }]);
    const names = log.name(1);
    expect(names).toBe('load');
    expect(plain(summaryText(streamOf(log, false), english, false))).toBe(
      '4 task runs in 10.0 s. 2 workers. 3 threads. 5 executions of functions. 1 running. 1 failed run. 2 lost. ' +
        'Most time: load 6.00 s, clean 4.00 s, fit 2.00 s.'
    );
    // Under a filter by one of its functions.
    const filtered = ask(log, 'task-stream', {
      filter: { functions: ['clean'] },
      ended: true
    });
    expect(plain(summaryText(filtered, english, false))).toBe(
      '1 task run in 10.0 s. 2 workers. 3 threads. Most time: clean 4.00 s.'
    );
  });
});

describe('the table of tasks', () => {
  it('has texts, and figures that are aligned and sorted as such', () => {
    const columns = taskColumns(english);
    expect(
      columns.filter(({ numeric }) => numeric).map(({ name }) => name)
    ).toEqual(['Thread', 'Start', 'Duration', 'CPU', 'Waited', 'Size']);
    const row = detailOf('..aaa', {
      function: 'load',
      span: 'year',
      cpu: 2,
      waitReady: 0.5,
      waitInputs: 0.125,
      waitThread: 0.25,
      bytes: 6
    });
    const cells = taskRow({ ...row, thread: 4, error: 'no' }, english);
    expect(cells.map(({ value }) => value)).toEqual([
      'load-a',
      'load',
      'year',
      'worker 7',
      5,
      'ok',
      expect.closeTo(0.2, 6),
      expect.closeTo(0.3, 6),
      expect.closeTo(0.2, 6),
      expect.closeTo(0.0875, 6),
      6,
      'no'
    ]);
    expect(cells.map(({ text }) => plain(text))).toEqual([
      'load-a',
      'load',
      'year',
      'worker 7',
      '5',
      'ok',
      '0.200 s',
      '300 ms',
      '200 ms',
      '87.5 ms',
      '6 B',
      'no'
    ]);
    // What is of no thread has no number of one, in a file neither.
    const beside = ['overlapping', 2] as const;
    expect(taskRow({ ...row, thread: 0x8001, beside }, english)[4]).toEqual({
      text: 'overlapping 2',
      value: 'overlapping 2'
    });
    // Of three waits one is known.
    const some = { ...row, waitReady: null, waitThread: null };
    expect(taskRow(some, english)[9]!.value).toBeCloseTo(0.0125, 6);
    expect(taskRow({ ...row, error: undefined } as never, english)[11]).toEqual(
      {
        text: '',
        value: ''
      }
    );
    expect(taskRow({ ...row, attempt: 2 }, english)[5]!.text).toBe(
      'ok, attempt 2'
    );
  });
});

describe('the parts of a run', () => {
  const parts = (task: DrawnTask, change: Partial<RunDetail> = {}) =>
    partRows({ ...detailOf('a'.repeat(10), task), ...change }, english).map(
      ({ kind, label, seconds, held, bytes }) => [
        kind,
        label,
        Math.round(seconds * 1e6) / 1e6,
        held,
        bytes
      ]
    );

  it('are all of its time as computing where it has none', () => {
    expect(parts({ function: 'load' })).toEqual([
      ['compute', 'compute', 1, true, null]
    ]);
    // Parts behind other work are none of its time.
    expect(
      parts({
        parts: [
          { kind: PartKind.Transfer, held: false, offset: 0, duration: 3 }
        ]
      })
    ).toEqual([
      ['compute', 'compute', 1, true, null],
      ['transfer', 'transfer', 0.3, false, 0]
    ]);
  });

  it('are filled up by what is more than a trace', () => {
    const filled = (duration: number) =>
      parts({
        function: 'load',
        parts: [{ kind: PartKind.Compute, offset: 0, duration }]
      }).slice(1);
    expect(filled(9.94)).toEqual([
      ['other', 'rest of the task', 0.006, true, null]
    ]);
    expect(filled(9.96)).toEqual([]);
  });

  it('of a kind that is not known have its own name', () => {
    const [part] = detailOf('aa', {
      parts: [{ kind: PartKind.Compute, offset: 0, duration: 10 }]
    }).parts;
    expect(
      parts({}, { parts: [{ ...part!, kind: 'polish', bytes: null }] })
    ).toEqual([['other', 'polish', 1, true, null]]);
    // A part of computing whose function has no name.
    expect(parts({}, { parts: [{ ...part!, function: '' }] })).toEqual([
      ['compute', 'compute', 1, true, 0]
    ]);
  });
});
