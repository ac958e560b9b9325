import fc from 'fast-check';

import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { english } from '../../../testing/translators';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { BoxKind } from '../../../records/enumerations';
import { formatBytes, formatDuration } from '../../format';
import type { FineMetricsResult } from '../../../wire/panel-link';
import { keepOrder } from '../../keep-order';
import {
  activityRows,
  footText,
  functionRows,
  groupWord,
  headlineOf,
  idleParts,
  movedRows,
  partsOf,
  tableOf,
  totalText
} from '../rows';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const run = firstLook(38);
const log = drawnStore(run);
const result = ask(log, 'fine-metrics', { ended: true });
const sum = (values: readonly number[]) =>
  values.reduce((total, value) => total + value, 0);

const empty: FineMetricsResult = {
  view: 'fine-metrics',
  unit: 'seconds',
  units: ['seconds'],
  wallSeconds: 0,
  threads: 0,
  capacitySeconds: 0,
  byActivity: [],
  byFunction: [],
  others: null,
  idle: [],
  background: [],
  wholeSeconds: 0,
  otherSpansSeconds: 0,
  otherIdleSeconds: 0,
  gilErrorSeconds: 0,
  attributedNanoseconds: 0,
  totalNanoseconds: 0
};

describe('the bar over everything', () => {
  it('adds up to wall × threads', () => {
    const headline = headlineOf(result);
    expect(sum(headline.parts.map(part => part.value))).toBeCloseTo(
      headline.total,
      6
    );
    expect(headline.total).toBeCloseTo(29.6 * 8, 6);
    expect(plain(totalText(result, english))).toBe(
      '3 min 57 s = wall 29.6 s × 8 threads'
    );
    const held = run.boxes.filter(({ strip }) => !strip);
    const busy = sum(held.map(({ from, to }) => to - from));
    const idle = sum(result.idle.map(({ seconds }) => seconds));
    expect(idle).toBeCloseTo(29.6 * 8 - busy, 4);
    expect(result.idle).toContainEqual({
      cause: 'paused',
      seconds: expect.closeTo(2 * (21.3 - 21.05), 1)
    });
    // Durations are 32-bit numbers: a run and its parts differ by less than a microsecond.
    const other = headline.parts.find(({ id }) => id === 'other')?.value ?? 0;
    expect(other).toBeLessThan(1e-6 * run.boxes.length);
    const groups = headline.groups.filter(
      ({ group }) => group !== 'rest of the task'
    );
    expect(groups.map(({ group }) => group)).toEqual([
      'CPU',
      'not on CPU',
      'data',
      'failed, cancelled or lost',
      'idle'
    ]);
  });

  it('tells what kept threads off their cores apart, the estimate with its error', () => {
    const one = {
      ...empty,
      byActivity: [
        { activity: 'core', value: 2, share: null },
        { activity: 'gil', value: 1, share: null },
        { activity: 'blocked', value: 4, share: null },
        { activity: 'other-tasks', value: 5, share: null }
      ],
      gilErrorSeconds: 0.25
    };
    for (const parts of [headlineOf(one).parts, activityRows(one)]) {
      expect(
        Object.fromEntries(parts.map(each => [each.label, plain(each.text)]))
      ).toEqual({
        'waiting for a core': '2.00 s',
        'waiting for the GIL': '1.00 s ±250 ms',
        'blocked (I/O, sleep)': '4.00 s',
        'waiting for other tasks': '5.00 s'
      });
    }
    expect(headlineOf(one).groups).toMatchObject([{ group: 'not on CPU' }]);
  });

  it('adds up whatever the measures say; what is missing is shown, not spread', () => {
    const seconds = fc.double({ min: 0, max: 100, noNaN: true });
    fc.assert(
      fc.property(
        seconds,
        seconds,
        seconds,
        seconds,
        (cpu, transfer, idle, rest) => {
          const capacity = cpu + transfer + idle + rest;
          const headline = headlineOf({
            ...empty,
            capacitySeconds: capacity,
            wholeSeconds: capacity,
            wallSeconds: capacity,
            threads: 1,
            byActivity: [
              { activity: 'thread-cpu', value: cpu, share: null },
              { activity: 'transfer', value: transfer, share: null },
              { activity: 'idle:paused', value: idle, share: null }
            ],
            idle: [{ cause: 'paused', seconds: idle }]
          });
          const shown = sum(headline.parts.map(part => part.value));
          expect(Math.abs(shown - capacity)).toBeLessThanOrEqual(
            capacity * 0.0006
          );
          const unaccounted = headline.parts.find(part => part.id === 'rest');
          if (rest > capacity * 0.001) {
            expect(unaccounted?.value).toBeCloseTo(rest, 6);
          }
        }
      )
    );
  });

  it('says the mean number of threads when workers came or went', () => {
    const text = totalText(
      {
        ...result,
        threads: 7.63,
        capacitySeconds: 29.6 * 7.63
      },
      english
    );
    expect(plain(text)).toMatch(/= wall 29\.6 s × 7\.63 threads on average$/);
  });

  it('says what kept threads off their cores where one thing mostly did', () => {
    const words = (seconds: Record<string, number>) =>
      headlineOf({
        ...empty,
        byActivity: Object.entries(seconds).map(([activity, value]) => ({
          activity,
          value,
          share: null
        }))
      }).groups.map(group => groupWord(group, english));
    expect(words({ 'thread-cpu': 1, core: 7, gil: 1, blocked: 2 })).toEqual([
      'CPU',
      'not on CPU, mostly waiting for a core'
    ]);
    expect(words({ core: 6, gil: 2, blocked: 2 })).toEqual(['not on CPU']);
    expect(words({ 'other-tasks': 3 })).toEqual(['waiting for other tasks']);
    expect(words({ 'other-tasks': 8, blocked: 1 })).toEqual([
      'not on CPU, mostly waiting for other tasks'
    ]);
    expect(words({ blocked: 3 })).toEqual(['blocked (I/O, sleep)']);
    expect(
      words({ transfer: 1, import: 8, 'thread-noncpu': 9, gil: 1 })
    ).toEqual(['not on CPU', 'data, mostly importing modules']);
    // Of the drawn run no part is most of it.
    expect(
      headlineOf(result)
        .groups.map(group => groupWord(group, english))
        .filter(word => word.includes('mostly'))
    ).toEqual([]);
  });

  it('names each of its times, and says which is without pauses', () => {
    expect(plain(footText(result, english))).toBe(
      'capacity 3 min 57 s = wall 29.6 s × 8 threads · wall leaves out pauses'
    );
    expect(plain(footText({ ...result, unit: 'bytes' }, english))).not.toMatch(
      /wall/
    );
  });

  it('gives the rest to what still runs', () => {
    const half = { ...empty, capacitySeconds: 10, wholeSeconds: 10 };
    expect(headlineOf(half, true).groups).toMatchObject([
      { group: 'still running', shareText: '100\u00a0%' }
    ]);
    expect(headlineOf(half).groups).toMatchObject([
      { group: 'not accounted for' }
    ]);
  });

  it('is empty without dividing by nothing', () => {
    expect(headlineOf(empty)).toMatchObject({
      parts: [],
      groups: [],
      total: 0
    });
    expect(functionRows(empty, english)).toEqual([]);
  });

  it('reads well below a second', () => {
    const short = {
      ...empty,
      wallSeconds: 0.012,
      threads: 2,
      capacitySeconds: 0.024
    };
    expect(plain(totalText(short, english))).toBe(
      '24.0 ms = wall 12.0 ms × 2 threads'
    );
  });
});

describe('the lists', () => {
  it('shows twelve functions and the others as one row', () => {
    const rows = functionRows(result, english);
    expect(rows).toHaveLength(13);
    expect(rows.at(-1)).toMatchObject({
      name: '38 others',
      isOthers: true,
      slot: -1
    });
    const totals = rows.slice(0, 12).map(row => row.total);
    expect(totals).toEqual([...totals].sort((a, b) => b - a));
    for (const row of rows) {
      expect(sum(row.parts.map(part => part.value))).toBeCloseTo(row.total, 6);
    }
  });

  it('has the seconds of each function, each activity and each share from the log', () => {
    const rows = functionRows(result, english);
    const parts = (name: string) =>
      Object.fromEntries(
        rows
          .find(row => row.name === name)!
          .parts.filter(({ value }) => value > 1e-5)
          .map(({ label, value }) => [label, value])
      );
    const drawn = (name: string, kinds: readonly BoxKind[]) =>
      sum(
        run.boxes
          .filter(box => box.function === name && !box.strip)
          .filter(({ kind }) => kinds.includes(kind))
          .map(({ from, to }) => to - from)
      );
    const computing = [BoxKind.Compute, BoxKind.Failed];
    const data = [
      ['disk read and write', BoxKind.Disk],
      ['transfer, waited for', BoxKind.Transfer],
      ['(de)serialise', BoxKind.Serialize]
    ] as const;
    for (const [name, onCore] of [
      ['rechunk-merge', 0.86],
      ['read-parquet', 0.36]
    ] as const) {
      const seconds = drawn(name, computing);
      const off = seconds * (1 - onCore);
      expect(parts(name)).toEqual({
        CPU: expect.closeTo(seconds * onCore, 3),
        'waiting for a core': expect.closeTo(off * 0.5, 3),
        'waiting for the GIL': expect.closeTo(off * 0.2, 3),
        'blocked (I/O, sleep)': expect.closeTo(off * 0.3, 3),
        ...Object.fromEntries(
          data
            .map(([label, kind]) => [label, drawn(name, [kind])] as const)
            .filter(([, value]) => value > 0)
            .map(([label, value]) => [label, expect.closeTo(value, 3)])
        )
      });
    }
    const runs = run.boxes.filter(
      box => box.function === 'fit_fold' && computing.includes(box.kind)
    );
    expect(rows.find(row => row.name === 'fit_fold')?.executions).toBe(
      runs.length
    );
  });

  it('sorts by name and by tasks', () => {
    const names = functionRows(result, english, 'name')
      .slice(0, 12)
      .map(row => row.name);
    expect(names).toEqual([...names].sort((a, b) => a.localeCompare(b)));
    const executions = functionRows(result, english, 'executions')
      .slice(0, 12)
      .map(row => row.executions);
    expect(executions).toEqual([...executions].sort((a, b) => b - a));
  });

  it('adds reading and writing up to disk, in drawing order', () => {
    const parts = partsOf(
      {
        'disk-write': 1,
        'disk-read': 2,
        'thread-cpu': 3,
        'idle:paused': 9,
        other: 0
      },
      6,
      'seconds'
    );
    expect(parts.map(part => [part.id, part.value])).toEqual([
      ['cpu', 3],
      ['disk', 3]
    ]);
    expect(parts[1]?.shareText).toBe('50\u00a0%');
  });

  it('does not call CPU what may have waited', () => {
    const activities = { 'thread-cpu': 2, compute: 5, 'thread-noncpu': 3 };
    const parts = partsOf(activities, 10, 'seconds');
    expect(parts.map(part => [part.group, part.role, part.value])).toEqual([
      ['CPU', { kind: 'cpu' }, 2],
      ['CPU not known', { kind: 'compute' }, 5],
      ['not on CPU', { kind: 'noncpu' }, 3]
    ]);
  });

  it('orders activities and idle by size, unknown causes by their own name', () => {
    const sizes = activityRows(result).map(part => part.value);
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
    const idle = idleParts(
      {
        ...result,
        idle: [
          { cause: 'new cause', seconds: 1 },
          { cause: 'paused', seconds: 2 },
          { cause: 'stopped', seconds: 3 }
        ]
      },
      10
    );
    expect(idle.map(part => part.label)).toEqual([
      'worker stopped',
      'paused for memory',
      'new cause'
    ]);
  });

  it('shows what moved in the unit of the panel', () => {
    const behind = run.boxes.filter(({ strip }) => strip);
    const received = behind.reduce((sum, { from, to }) => sum + to - from, 0);
    const shown = (unit: string) =>
      movedRows(
        ask(log, 'fine-metrics', { params: { unit }, ended: true }),
        english
      ).map(({ label, text }) => `${label} ${plain(text)}`);
    expect(shown('seconds').sort()).toEqual(
      [
        'report results: serialise 520 ms',
        `receive: network ${plain(formatDuration(received))}`,
        'send: from memory –',
        'send: network 6.61 s',
        'send: read from disk 310 ms',
        'spill: write to disk 4.05 s'
      ].sort()
    );
    expect(shown('bytes').sort()).toEqual(
      [
        'report results: serialise –',
        `receive: network ${plain(formatBytes(received * 400 * 2 ** 20))}`,
        'send: from memory 1.25 GiB',
        'send: network –',
        'send: read from disk –',
        'spill: write to disk 768 MiB'
      ].sort()
    );
    expect(shown('count')).toContain('spill: write to disk 60');
    expect(shown('count')).toContain(`receive: network ${behind.length}`);
  });

  it('says what moved in users’ words, in its colour, and what was not measured', () => {
    const one = { seconds: 1, bytes: 2 ** 20, count: 2 };
    const background = [
      { ...one, activity: 'transfer' },
      { ...one, activity: 'get-data: network', bytes: null, count: null },
      { ...one, activity: 'get-data: memory-read', seconds: null, count: 1 },
      { ...one, activity: 'memory-monitor: disk-write' },
      { ...one, activity: 'report: serialize', bytes: null, count: null },
      { ...one, activity: 'mine: polishing' }
    ];
    const rows = movedRows({ ...empty, background }, english);
    expect(
      rows.map(({ label, kind, text, title }) => [
        label,
        kind,
        plain(text),
        plain(title)
      ])
    ).toEqual([
      ['receive: network', 'transfer', '1.00 s', '1.00 s, 1.00 MiB, 2 times'],
      ['send: network', 'transfer', '1.00 s', '1.00 s'],
      ['spill: write to disk', 'disk', '1.00 s', '1.00 s, 1.00 MiB, 2 times'],
      ['report results: serialise', 'serialize', '1.00 s', '1.00 s'],
      ['mine: polishing', 'other', '1.00 s', '1.00 s, 1.00 MiB, 2 times'],
      ['send: from memory', 'other', '–', '1.00 MiB, 1 time']
    ]);
  });

  it('keeps rows under the pointer where they are', () => {
    const rows = ['c', 'new', 'a', 'b'];
    expect(keepOrder(rows, ['a', 'b', 'c'], row => row)).toEqual([
      'a',
      'b',
      'c',
      'new'
    ]);
  });
});

describe('the table twin', () => {
  it('has the figures of the picture, cell by cell', () => {
    const table = tableOf(result, english);
    expect(table.rows.every(row => row.length === table.columns.length)).toBe(
      true
    );
    expect(table.rows[12]?.[0]?.text).toBe('38 others');
    const one = { functions: 1, executions: 2, total: 3, activities: {} };
    expect(
      tableOf({ ...result, others: one }, english).rows.map(
        ([name]) => name?.text
      )
    ).toContain('1 other');
    const all = table.rows.find(row => row[0]?.text === 'all functions');
    const byFunction = table.rows
      .slice(0, 13)
      .map(row => Number(row[2]?.value));
    expect(Number(all?.[2]?.value)).toBeCloseTo(sum(byFunction), 6);
    expect(
      table.rows.filter(row => row[0]?.text.startsWith('idle: '))
    ).toHaveLength(5);
  });
});
