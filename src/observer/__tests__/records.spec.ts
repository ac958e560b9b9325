import fc from 'fast-check';
import {
  NONE_U16,
  NONE_U32,
  PartKind,
  RunStatus
} from '../../records/enumerations';
import { drawRuns } from '../../testing/run-from-text';
import {
  blockOfZeros,
  rowsToBlock,
  type Row
} from '../../testing/rows-to-block';
import type { RecordsResult, TimeRange } from '../../wire/panel-link';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { ask } from './ask';

const log = drawRuns(
  `
  0/0  aabbbbc
  1/0  ..dd...
`,
  {
    tasks: {
      d: {
        span: 'x/y',
        parts: [
          { kind: 1, offset: 0, duration: 0.5 },
          { kind: 4, offset: 0.5, duration: 1, function: 'inner', span: 'x' }
        ]
      }
    }
  }
);

/** Last letters of the keys, over all pages. */
function letters(
  params: Record<string, unknown>,
  time: TimeRange = 'all'
): string {
  return pagesOf(log, params, time)
    .flatMap(({ key }) => key.map(text => text.at(-1)))
    .join('');
}

/** As one number that grows from page to page. */
function placeOf(next: RecordsResult['next']): number {
  return next === null ? Infinity : next[0] + next[1] / 1e6;
}

function pagesOf(
  of: LogStore,
  params: Record<string, unknown> = {},
  time: TimeRange = 'all'
): RecordsResult[] {
  const pages: RecordsResult[] = [];
  let next: RecordsResult['next'] = null;
  do {
    const page: RecordsResult = ask(of, 'records', {
      time,
      params:
        next === null
          ? params
          : { ...params, after: next, end: pages.at(-1)!.end }
    });
    pages.push(page);
    expect(placeOf(page.next)).toBeGreaterThan(placeOf(next ?? [0, -1]));
    next = page.next;
  } while (next !== null && pages.length < 1000);
  return pages;
}

function rowsOf(count: number, row: (i: number) => Row): Row[] {
  return Array.from({ length: count }, (_, i) => row(i));
}

/** A run per length, which is its number of parts. */
function fused(lengths: readonly number[]): LogStore {
  const store = new LogStore('fused');
  const blocks = [
    rowsToBlock(1, 'names', [{ id: 1, text: 'part of a fused task' }]),
    rowsToBlock(2, 'workers', [{ worker: 0, name: 'w', left: NaN }]),
    rowsToBlock(3, 'lanes', [{ lane: 0, worker: 0, thread: 0 }]),
    rowsToBlock(
      4,
      'parts',
      lengths.flatMap((length, run) =>
        Array.from({ length }, (_, i) => ({
          run,
          kind: 4,
          function: 1,
          offset: i / length,
          duration: 1 / length,
          held: 1
        }))
      )
    ),
    rowsToBlock(
      5,
      'runs',
      lengths.map((_, run) => ({ run, lane: 0, start: run, duration: 1 }))
    )
  ];
  blocks.forEach(block => ingestBlock(store, block));
  return store;
}

describe('records of runs', () => {
  it('come in the order of their ends, with their parts', () => {
    const result = ask(log, 'records');
    expect(result.key.map(key => key.at(-1)).join('')).toBe('adbc');
    expect(result.start).toEqual([0, 2, 2, 6]);
    expect(result.parts).toEqual([0, 2, 0, 0]);
    expect(result.partKind.map(kind => result.names[kind])).toEqual([
      'transfer',
      'compute'
    ]);
    expect(result.partSpan.map(span => result.spans[span])).toEqual([
      ['x', 'y'],
      ['x']
    ]);
    expect(result.names[result.partFunction[1]!]).toBe('inner');
    expect(result.next).toBeNull();
  });

  it('are of the runs that panels count: not of one that was given back', () => {
    const of = drawRuns('0/0 abc', {
      tasks: { b: { status: RunStatus.Missing } }
    });
    for (const params of [{}, { limit: 2 }, { limit: 2, newest: true }]) {
      const { key } = ask(of, 'records', { params });
      expect(key.map(text => text.at(-1)).join('')).toBe('ac');
    }
    expect(ask(of, 'tasks').total).toBe(2);
  });

  // Ends: a 2, d 3.5 (its last part's), b 6, c 7.
  it.each([
    [2, 6, 'ad'],
    [2.1, 6.1, 'db'],
    [3.5, 100, 'dbc'],
    [3.6, 100, 'bc'],
    [0, 3.5, 'a'],
    [0, 0, '']
  ])('of ends from %d to %d', (from, to, expected) => {
    expect(letters({}, { from, to })).toBe(expected);
  });

  it('end with their last part if that is known to be of computing, else with the run', () => {
    const of = drawRuns('0/0 aaaabbbb', {
      tasks: {
        a: { parts: [{ kind: PartKind.Transfer, offset: 0, duration: 1 }] },
        b: { parts: [{ kind: PartKind.Compute, offset: 0, duration: 1 }] }
      }
    });
    const keys = (from: number, to: number): string =>
      ask(of, 'records', { time: { from, to } })
        .key.map(key => key.at(-1))
        .join('');
    expect([keys(0, 4), keys(4, 5), keys(5, 6), keys(6, 9)]).toEqual([
      '',
      'a',
      'b',
      ''
    ]);
  });

  it('are the oldest or the newest so many of the range', () => {
    expect(letters({ limit: 2 })).toBe('ad');
    expect(letters({ limit: 2, newest: true })).toBe('bc');
    expect(letters({ limit: 2, newest: true }, { from: 0, to: 6.5 })).toBe(
      'db'
    );
    expect(letters({ limit: 2 }, { from: 3, to: 100 })).toBe('db');
    expect(letters({ limit: 99, newest: true })).toBe('adbc');
  });

  it('leave out what came after the first page was asked for', () => {
    const { end } = ask(log, 'records');
    expect(ask(log, 'records', { params: { end: end - 1 } }).run).toHaveLength(
      3
    );
  });

  it('fill pages that fit in a message, and each run is whole over them', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.nat(5), fc.integer({ min: 14_000, max: 16_000 })),
          {
            minLength: 1,
            maxLength: 4
          }
        ),
        lengths => {
          const pages = pagesOf(fused(lengths));
          const parts = new Map<number, number>();
          for (const page of pages) {
            expect(page.partKind.length).toBeLessThan(20_000);
            page.run.forEach((run, i) =>
              parts.set(run, (parts.get(run) ?? 0) + page.parts[i]!)
            );
          }
          expect([...parts.values()]).toEqual(lengths);
        }
      ),
      { numRuns: 10 }
    );
  });

  it('have each column, with texts and spans once', () => {
    const of = drawRuns('4/0 aa.\n6/1 .bb', {
      tasks: {
        a: { function: 'one', span: 'x/y', bytes: 7, type: 'builtins:int' },
        b: {
          function: 'two',
          span: 'x/y',
          status: RunStatus.Failed,
          bytes: NaN,
          parts: [
            { kind: 4, offset: 0.5, duration: 1.25, function: 'one', span: 'x' }
          ]
        }
      }
    });
    const { names, spans, lanes, ...page } = ask(of, 'records');
    const named = (at: readonly number[]) => at.map(index => names[index]);
    const spanned = (at: readonly number[]) => at.map(index => spans[index]);
    expect({
      ...page,
      function: named(page.function),
      type: page.type.map(type => (type === null ? null : names[type])),
      lane: page.lane.map(lane => lanes[lane]),
      status: named(page.status),
      partKind: named(page.partKind),
      partFunction: named(page.partFunction),
      span: spanned(page.span),
      partSpan: spanned(page.partSpan)
    }).toEqual({
      view: 'records',
      end: 2,
      next: null,
      run: [0, 1],
      key: ['one-a', 'two-b'],
      // (the second computed nothing else)
      function: ['one', 'one'],
      span: [
        ['x', 'y'],
        ['x', 'y']
      ],
      lane: [
        { worker: 'worker-4', address: '', why: '', thread: 0, ident: null },
        { worker: 'worker-6', address: '', why: '', thread: 1, ident: null }
      ],
      errors: [],
      marks: [],
      marksEnd: 0,
      type: ['builtins:int', null],
      status: ['ok', 'failed'],
      attempt: [0, 0],
      start: [0, 1],
      duration: [2, 2],
      nbytes: [7, null],
      parts: [0, 1],
      partFrom: [null],
      partHeld: [1],
      partKind: ['compute'],
      partFunction: ['one'],
      partSpan: [['x']],
      partOffset: [0.5],
      partDuration: [1.25]
    });
    // As they are met first.
    expect(names).toEqual(['one', 'ok', 'builtins:int', 'failed', 'compute']);
    expect(spans).toEqual([['x', 'y'], ['x']]);
  });

  it('say which thread of the system ran what, why runs failed, and where bytes came from', () => {
    const store = new LogStore('threads');
    [
      rowsToBlock(1, 'names', [{ id: 1, text: 'task-failed' }]),
      rowsToBlock(2, 'workers', [
        { worker: 0, name: 'w', address: 'unix:/w', why: 'ended', left: 9 },
        { worker: 1, name: 'nowhere', left: NaN }
      ]),
      rowsToBlock(3, 'lanes', [
        { lane: 0, worker: 0, thread: 0, ident: NaN, since: NaN },
        { lane: 0, worker: 0, thread: 0, ident: 70, since: 1.5 },
        { lane: 0, worker: 0, thread: 0, ident: 71, since: 4 },
        { lane: 1, worker: 0, thread: 1, ident: NaN, since: NaN }
      ]),
      rowsToBlock(
        4,
        'parts',
        [0, 1, NONE_U16].map(from => ({ run: 1, kind: 0, from }))
      ),
      rowsToBlock(
        5,
        'runs',
        [
          { lane: 0, start: 0, status: RunStatus.Ok },
          { lane: 0, start: 2, status: RunStatus.Failed },
          { lane: 0, start: 3, status: RunStatus.Ok },
          { lane: 1, start: 3, status: RunStatus.Ok },
          // Its traceback is not there.
          { lane: 0, start: 4, status: RunStatus.Failed },
          { lane: 0, start: 5, status: RunStatus.Cancelled },
          { lane: 0, start: 6, status: RunStatus.Cancelled }
        ].map((row, run) => ({ ...row, run, duration: 1, type: NONE_U32 }))
      ),
      rowsToBlock(6, 'events', [
        { kind: 1, run: 1, text: 'Traceback\nE: —' },
        { kind: 1, run: 6, text: 'Traceback\nE: nobody waited' }
      ])
    ].forEach(block => ingestBlock(store, block));
    const { lanes, lane, errors, names, partFrom } = ask(store, 'records');
    expect(lane.map(at => lanes[at]!.ident)).toEqual([
      70,
      70,
      71,
      null,
      71,
      71,
      71
    ]);
    for (const each of lanes) {
      expect(each).toMatchObject({ address: 'unix:/w', why: 'ended' });
    }
    expect(errors).toEqual([
      [1, 'Traceback\nE: —'],
      [6, 'Traceback\nE: nobody waited']
    ]);
    expect(partFrom.map(at => (at === null ? null : names[at]))).toEqual([
      'unix:/w',
      'nowhere',
      null
    ]);
  });

  it('end with what ended without a run, of the range, and page by page', () => {
    const store = new LogStore('lost');
    const why = 'because '.repeat(40);
    const rows = rowsOf(2000, i => ({
      t: i / 10,
      // Those without a run that failed, the others with one that ended.
      kind: i === 3 ? 2 : i % 3 === 0 ? 3 : 1,
      worker: i % 2 === 0 ? 0 : NONE_U16,
      run: NONE_U32,
      text:
        i === 4 ? 'no list' : i === 6 ? '12' : JSON.stringify([`key-${i}`, why])
    }));
    [
      rowsToBlock(1, 'names', [
        { id: 1, text: 'task-lost' },
        { id: 2, text: 'paused' },
        { id: 3, text: 'task-failed' }
      ]),
      rowsToBlock(2, 'workers', [{ worker: 0, name: 'w', left: NaN }]),
      rowsToBlock(3, 'lanes', [{ lane: 0, worker: 0, thread: 0 }]),
      rowsToBlock(4, 'runs', [{ run: 0, lane: 0, start: 0, duration: 1 }]),
      rowsToBlock(5, 'events', rows.slice(0, 1000)),
      rowsToBlock(6, 'events', rows.slice(1000))
    ].forEach(block => ingestBlock(store, block));
    const pages = pagesOf(store);
    const marks = pages.flatMap(page => page.marks);
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) {
      const bytes = new TextEncoder().encode(JSON.stringify(page)).length;
      expect(bytes).toBeLessThan(2 ** 20);
    }
    expect(pages.flatMap(({ run }) => run)).toEqual([0]);
    expect(marks).toHaveLength(1999);
    expect(marks.slice(2, 5).map(([t, key]) => [t, key])).toEqual([
      [0.2, 'key-2'],
      [0.4, 'no list'],
      [0.5, 'key-5']
    ]);
    const { names, spans } = pages[0]!;
    const [, , worker, span, said] = pages[0]!.marks[0]!;
    expect([names[worker!], spans[span]]).toEqual(['w', ['default']]);
    expect(said).toBe(why);
    expect(pages[0]!.marks[1]![2]).toBeNull();
    const of = (params: object, time: TimeRange = 'all'): string[] =>
      pagesOf(store, { ...params }, time).flatMap(page =>
        page.marks.map(([, key]) => key)
      );
    expect(of({}, { from: 0.5, to: 0.7 })).toEqual(['key-5', '12']);
    expect(of({ marks: 1998 })).toEqual(['key-1998', 'key-1999']);
    // A block that began when there were so many runs and events.
    const { end, marksEnd } = ask(store, 'records', { params: { limit: 0 } });
    expect([end, marksEnd]).toEqual([1, 2000]);
    expect(of({ after: [end, 0], marks: marksEnd - 1 })).toEqual(['key-1999']);
    expect(of({ limit: 5 })).toEqual([]);
  });

  it('fill pages that fit in a message with runs that have no parts, too', () => {
    const pages = pagesOf(fused(new Array<number>(14_000).fill(0)));
    expect(pages.flatMap(({ run }) => run)).toHaveLength(14_000);
    pages.forEach(({ run }) => expect(run.length).toBeLessThan(7_000));
  });

  // Three bytes a character, so that what a page may hold is what it does hold.
  const WIDE = '\u2014';
  it.each<[string, Record<'names' | 'spans' | 'nodes' | 'runs', Row[]>]>([
    [
      'keys',
      {
        names: [],
        spans: [],
        nodes: rowsOf(2000, i => ({ node: i, suffix: WIDE.repeat(300) + i })),
        runs: rowsOf(2000, i => ({ node: i }))
      }
    ],
    [
      'functions',
      {
        names: rowsOf(600, i => ({ id: i, text: WIDE.repeat(1000) + i })),
        spans: [],
        nodes: [],
        runs: rowsOf(600, i => ({ function: i }))
      }
    ],
    [
      'tags',
      {
        names: rowsOf(600, i => ({ id: i + 1, text: WIDE.repeat(1000) + i })),
        spans: rowsOf(600, i => ({ id: i + 1, tag: i + 1 })),
        nodes: [],
        runs: rowsOf(600, i => ({ span: i + 1 }))
      }
    ],
    [
      'short tags, one below another',
      {
        names: [{ id: 1, text: WIDE }],
        spans: rowsOf(1000, i => ({ id: i + 1, parent: i, tag: 1 })),
        nodes: [],
        runs: rowsOf(1000, i => ({ span: i + 1 }))
      }
    ]
  ])('fill pages that fit in a message with %s', (_, tables) => {
    const store = new LogStore('wide');
    const blocks = [
      rowsToBlock(1, 'names', tables.names),
      rowsToBlock(2, 'spans', tables.spans),
      rowsToBlock(3, 'workers', [{ worker: 0, name: 'w', left: NaN }]),
      rowsToBlock(4, 'lanes', [{ lane: 0, worker: 0, thread: 0 }]),
      rowsToBlock(5, 'nodes', tables.nodes),
      rowsToBlock(
        6,
        'runs',
        tables.runs.map((row, i) => ({ run: i, start: i, duration: 1, ...row }))
      )
    ];
    blocks.forEach(block => ingestBlock(store, block));
    const pages = pagesOf(store);
    expect(pages.flatMap(({ run }) => run)).toEqual(
      tables.runs.map((_, i) => i)
    );
    for (const page of pages) {
      const bytes = new TextEncoder().encode(JSON.stringify(page)).length;
      expect(bytes).toBeLessThan(2 ** 20);
      // Nor so few that there are more pages than need be.
      if (page.next !== null) {
        expect(bytes).toBeGreaterThan(2 ** 17);
      }
    }
  });

  it('tell the parts of a run whose key fills the page alone', () => {
    const store = new LogStore('one long key');
    const blocks = [
      rowsToBlock(1, 'nodes', [{ node: 0, suffix: 'k'.repeat(200_000) }]),
      rowsToBlock(2, 'parts', [
        { run: 5, kind: 4, duration: 0.25 },
        { run: 5, kind: 1, duration: 0.5 }
      ]),
      rowsToBlock(3, 'runs', [{ run: 5, duration: 1 }])
    ];
    blocks.forEach(block => ingestBlock(store, block));
    const pages = pagesOf(store);
    expect(pages.map(({ partDuration }) => partDuration)).toEqual([
      [0.25],
      [0.5]
    ]);
  });

  it('say what the log says of statuses and kinds that nobody knows', () => {
    const store = new LogStore('unknown');
    const blocks = [
      rowsToBlock(1, 'parts', [{ run: 5, kind: 77 }]),
      rowsToBlock(2, 'runs', [{ run: 5, status: 99 }])
    ];
    blocks.forEach(block => ingestBlock(store, block));
    const { names, status, partKind } = ask(store, 'records');
    expect([names[status[0]!], names[partKind[0]!]]).toEqual(['ok', '']);
  });

  it('go on after a page, the newest so many or not', () => {
    const params = { newest: true, limit: 1, after: [1, 0] };
    expect(ask(log, 'records', { params }).start).toEqual([2]);
  });

  it('begin with whole runs where those before were dropped', () => {
    const CHUNK = 65_536;
    const store = new LogStore('dropped', { runs: CHUNK });
    const old = blockOfZeros(1, 'runs', CHUNK);
    old.columns['run']!.forEach((_, i, runs) => (runs[i] = i));
    ingestBlock(store, old);
    const blocks = [
      rowsToBlock(2, 'parts', [
        { run: CHUNK, kind: 4, duration: 0.25 },
        { run: CHUNK, kind: 4, duration: 0.5 }
      ]),
      rowsToBlock(3, 'runs', [{ run: CHUNK, start: 7, duration: 1 }])
    ];
    blocks.forEach(block => ingestBlock(store, block));
    expect(store.runs.firstRow).toBe(CHUNK);
    const { run, partDuration } = ask(store, 'records', {
      params: { after: [3, 1] }
    });
    expect([run, partDuration]).toEqual([[CHUNK], [0.25, 0.5]]);
  });

  it('stand anything that a viewer may send', () => {
    for (const after of ['x', [1], [-1, 0], [NaN, 0], [2 ** 60, 0], {}]) {
      expect(() => ask(log, 'records', { params: { after } })).not.toThrow();
    }
    expect(ask(log, 'records', { params: { after: [99, 7] } }).run).toEqual([]);
    expect(ask(log, 'records', { params: { limit: -1 } }).run).toEqual([]);
  });
});
