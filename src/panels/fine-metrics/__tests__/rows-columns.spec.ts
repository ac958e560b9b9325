/** Every bar, list and cell from figures of which no two are equal. */
import { ask } from '../../../observer/__tests__/ask';
import { ACTIVITIES } from '../../../observer/store/activity-cells';
import { IDLE_CAUSES } from '../../../observer/folds/idle';
import { BoxKind, PartKind } from '../../../records/enumerations';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { drawRuns } from '../../../testing/run-from-text';
import {
  bracketing,
  english,
  untranslated
} from '../../../testing/translators';
import type { FineMetricsResult } from '../../../wire/panel-link';
import { formatBytes, formatDuration, formatShare } from '../../format';
import { legendOf, stackedBar } from '../figure';
import { keepOrder } from '../../keep-order';
import {
  activityParts,
  activityRows,
  footText,
  functionRows,
  groupWord,
  headlineOf,
  idleParts,
  looksOf,
  movedRows,
  type Part,
  partName,
  partsOf,
  remarkOn,
  tableOf,
  totalText
} from '../rows';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const sum = (values: readonly number[]) =>
  values.reduce((total, value) => total + value, 0);
const MiB = 2 ** 20;

/** 400 s: 160 of work, 90 idle, 150 that nobody accounts for. */
const result: FineMetricsResult = {
  view: 'fine-metrics',
  unit: 'seconds',
  units: ['seconds', 'bytes', 'count'],
  wallSeconds: 80,
  threads: 5,
  capacitySeconds: 400,
  byActivity: [
    { activity: 'thread-cpu', value: 60, share: null },
    { activity: 'gil', value: 40, share: null },
    { activity: 'blocked', value: 10, share: null },
    { activity: 'transfer', value: 20, share: null },
    { activity: 'import', value: 13, share: null },
    { activity: 'other', value: 8, share: null },
    { activity: 'lost', value: 9, share: null },
    { activity: 'idle:paused', value: 30, share: null },
    { activity: 'idle:stopped', value: 60, share: null }
  ],
  byFunction: [
    {
      function: 'load',
      slot: 3,
      round: 1,
      executions: 70,
      total: 50,
      share: 0.25,
      activities: { 'thread-cpu': 40, transfer: 10 }
    },
    {
      function: 'fit',
      slot: 4,
      round: 0,
      executions: 7,
      total: 80,
      share: null,
      activities: { 'thread-cpu': 20, gil: 40, blocked: 10, lost: 10 }
    }
  ],
  others: {
    functions: 4,
    executions: 900,
    total: 30,
    activities: { import: 13, other: 8, transfer: 9 }
  },
  idle: [
    { cause: 'paused', seconds: 30 },
    { cause: 'unknown', seconds: 0 },
    { cause: 'stopped', seconds: 60 }
  ],
  background: [],
  wholeSeconds: 400,
  otherSpansSeconds: 0,
  otherIdleSeconds: 0,
  gilErrorSeconds: 3,
  attributedNanoseconds: 0,
  totalNanoseconds: 0
};
/** The same work of a filter's selection, with 70 s that the filter hides; 80 are nobody's. */
const filtered: FineMetricsResult = {
  ...result,
  wholeSeconds: 250,
  otherSpansSeconds: 20,
  otherIdleSeconds: 50
};
const said = (parts: readonly Part[]) =>
  parts.map(({ id, label, group, text, shareText }) =>
    [id, label, group, text, shareText].map(plain)
  );

describe('the bar', () => {
  it('has a segment for each part, in drawing order', () => {
    expect(said(headlineOf(result).parts)).toEqual([
      ['cpu', 'CPU', 'CPU', '60.0 s', '15 %'],
      ['gil', 'waiting for the GIL', 'not on CPU', '40.0 s ±3.00 s', '10 %'],
      ['blocked', 'blocked (I/O, sleep)', 'not on CPU', '10.0 s', '2.5 %'],
      ['transfer', 'transfer, waited for', 'data', '20.0 s', '5.0 %'],
      ['import', 'importing modules', 'data', '13.0 s', '3.3 %'],
      ['other', 'rest of the task', 'rest of the task', '8.00 s', '2.0 %'],
      [
        'lost',
        'failed, cancelled or lost',
        'failed, cancelled or lost',
        '9.00 s',
        '2.3 %'
      ],
      ['rest', 'not accounted for', 'not accounted for', '2 min 30 s', '38 %'],
      ['idle:stopped', 'worker stopped', 'idle', '60.0 s', '15 %'],
      ['idle:paused', 'paused for memory', 'idle', '30.0 s', '7.5 %']
    ]);
    expect(headlineOf(result).total).toBe(400);
    const roles = headlineOf(result).parts.map(({ role }) => role);
    expect(roles.slice(7)).toEqual([
      { kind: 'rest' },
      { idle: 'stopped' },
      { idle: 'paused' }
    ]);
    const running = headlineOf(result, true).parts[7]!;
    expect(said([running])).toEqual([
      ['running', 'still running', 'still running', '2 min 30 s', '38 %']
    ]);
    expect(running.role).toEqual({ kind: 'running' });
  });

  it('is of the selection under a filter, as all shares are', () => {
    for (const isRunning of [false, true]) {
      const { parts, groups, total } = headlineOf(filtered, isRunning);
      expect(total).toBe(250);
      expect(sum(parts.map(({ share }) => share!))).toBeCloseTo(1, 12);
      expect(parts.map(({ id }) => id)).not.toContain('rest');
      expect(groups.map(({ shareText }) => plain(shareText))).toEqual([
        '24 %',
        '20 %',
        '13 %',
        '3.2 %',
        '3.6 %',
        '36 %'
      ]);
    }
    const lists = [...activityRows(filtered), ...idleParts(filtered, 250)];
    expect(sum(lists.map(({ share }) => share!))).toBeCloseTo(1, 12);
    expect(
      functionRows(filtered, english).map(({ shareText }) => plain(shareText))
    ).toEqual(['32 %', '20 %', '12 %']);
    const table = tableOf(filtered, english);
    expect(table.columns[3]!.name).toBe('Share under this filter');
    const shares = table.rows.map(cells => Number(cells[3]!.value));
    // (after the rows of functions there is that of all of them)
    expect(sum(shares.slice(3))).toBeCloseTo(1, 12);
    expect(plain(footText(filtered, english))).toBe(
      '4 min 10 s under this filter, 63 % of capacity 6 min 40 s = wall 80.0 s × 5 threads · wall leaves out pauses'
    );
    expect(plain(footText(result, english))).not.toContain('filter');
    const told: FineMetricsResult = {
      ...filtered,
      account: 'told',
      wholeSeconds: 160
    };
    expect(
      functionRows(told, english).map(({ shareText }) => plain(shareText))
    ).toEqual(['50 %', '31 %', '19 %']);
    expect(plain(footText(told, english))).toMatch(
      /^2 min 40 s under this filter, 89 % of 3 min 00 s of tasks as Dask/
    );
    // Of bytes and counts too.
    const bytes = { ...filtered, unit: 'bytes' };
    expect(tableOf(bytes, english).columns[3]!.name).toBe(
      'Share under this filter'
    );
  });

  it('has what tasks of the selection that still run have taken', () => {
    const ofRest = (result: FineMetricsResult, isRunning: boolean) => {
      const { parts, total } = headlineOf(result, isRunning);
      expect(sum(parts.map(({ share }) => share!))).toBeCloseTo(1, 12);
      expect(total).toBe(Math.max(result.wholeSeconds!, 280));
      return parts
        .filter(({ id }) => ['running', 'rest'].includes(id))
        .map(({ label, text }) => `${label} ${plain(text)}`);
    };
    const own = { ...filtered, runningSeconds: 30 };
    const more = { ...own, wholeSeconds: 290 };
    // (whether other tasks of the cluster run is of no account)
    for (const isRunning of [true, false]) {
      expect(ofRest({ ...more, wholeSeconds: 280 }, isRunning)).toEqual([
        'still running 30.0 s'
      ]);
      expect(ofRest(more, isRunning)).toEqual([
        'still running 30.0 s',
        'not accounted for 10.0 s'
      ]);
      expect(ofRest({ ...more, runningSeconds: 0 }, isRunning)).toEqual([
        'not accounted for 40.0 s'
      ]);
      // Rounding may lift them above the whole.
      expect(ofRest(own, isRunning)).toEqual(['still running 30.0 s']);
    }
    // An observer of before does not tell how long.
    const before: FineMetricsResult = { ...filtered, wholeSeconds: 290 };
    expect(ofRest(before, true)).toEqual(['still running 40.0 s']);
    expect(ofRest(before, false)).toEqual(['not accounted for 40.0 s']);
  });

  it('is the same from an observer of before, which does not tell its whole', () => {
    const before = (of: FineMetricsResult): FineMetricsResult => {
      const answer = { ...of, attributedNanoseconds: 160e9 };
      delete (answer as { wholeSeconds?: number }).wholeSeconds;
      return answer;
    };
    const told: FineMetricsResult = { ...filtered, account: 'told' };
    const parts = (of: FineMetricsResult) => said(headlineOf(of, true).parts);
    // (80 s under the filter are of nobody whom it shows: others' tasks still run)
    for (const of of [
      result,
      filtered,
      { ...filtered, otherSpansSeconds: 0 },
      { ...filtered, otherIdleSeconds: 0 }
    ]) {
      expect(parts(before(of))).toEqual(parts(of));
      expect(footText(before(of), english)).toBe(footText(of, english));
    }
    // Without a filter the sums may differ in their last bits.
    expect(
      headlineOf(before({ ...result, otherIdleSeconds: 1e-13 })).total
    ).toBe(400);
    expect(headlineOf(before(told)).total).toBe(160);
    expect(plain(footText(before(told), english))).toContain('89 % of 3 min');
  });

  it('has a foot of whole sentences', () => {
    const told: FineMetricsResult = {
      ...filtered,
      account: 'told',
      wholeSeconds: 160
    };
    const foot = (of: FineMetricsResult) => plain(footText(of, bracketing));
    expect(foot(result)).toBe(
      '⟦capacity ⟦6 min 40 s = wall 80.0 s × 5 threads⟧⟧ · ⟦wall leaves out pauses⟧'
    );
    expect(foot(filtered)).toBe(
      '⟦4 min 10 s under this filter, 63 % of capacity ⟦6 min 40 s = wall 80.0 s × 5 threads⟧⟧ · ⟦wall leaves out pauses⟧'
    );
    expect(foot(told)).toBe(
      '⟦2 min 40 s under this filter, 89 % of 3 min 00 s of tasks as Dask adds them up, with waits for the worker’s event loop⟧'
    );
    expect(foot({ ...told, otherSpansSeconds: 0 })).toBe(
      '⟦2 min 40 s of tasks as Dask adds them up, with waits for the worker’s event loop⟧'
    );
  });

  it('has a sum for each group', () => {
    const groups = headlineOf(result).groups.map(group => [
      groupWord(group, english),
      plain(group.text),
      plain(group.shareText)
    ]);
    expect(groups).toEqual([
      ['CPU', '60.0 s', '15 %'],
      ['not on CPU, mostly waiting for the GIL', '50.0 s', '13 %'],
      ['data', '33.0 s', '8.3 %'],
      ['rest of the task', '8.00 s', '2.0 %'],
      ['failed, cancelled or lost', '9.00 s', '2.3 %'],
      ['not accounted for', '2 min 30 s', '38 %'],
      ['idle', '90.0 s', '23 %']
    ]);
  });

  it('is as long as what is in it, where that is more than there was; shares are of what there was', () => {
    const more = {
      ...result,
      capacitySeconds: 240,
      wholeSeconds: 240,
      wallSeconds: 48
    };
    const { total, length, parts, groups } = headlineOf(more);
    expect([total, length]).toEqual([240, 160 + 90]);
    expect(sum(parts.map(({ value }) => value))).toBe(length);
    expect(parts.map(({ id }) => id)).not.toContain('rest');
    expect(plain(groups[0]!.shareText)).toBe('25 %');
    const row = functionRows(more, english).find(({ name }) => name === 'fit')!;
    expect(row.share).toBe(80 / 240);
    expect(tableOf(more, english).rows[0]![3]!.value).toBeCloseTo(
      result.byFunction[0]!.total / 240,
      12
    );
    expect(plain(footText(more, english))).toBe(
      'capacity 4 min 00 s = wall 48.0 s × 5 threads · tasks and idle time are 10.0 s more · wall leaves out pauses'
    );
    // Of rounding nothing is said.
    const rounded = { ...more, capacitySeconds: 249.9, wholeSeconds: 249.9 };
    expect(headlineOf(rounded)).toMatchObject({ total: 250, length: 250 });
    expect(footText(rounded, english)).not.toContain('more');
  });

  describe('what tasks did while others had their threads', () => {
    const [load] = result.byFunction;
    const besides: FineMetricsResult = {
      ...result,
      capacitySeconds: 225,
      wholeSeconds: 225,
      wallSeconds: 45,
      beside: { 'thread-cpu': 15, blocked: 10 },
      byFunction: [
        { ...load!, beside: { 'thread-cpu': 15, blocked: 10 } },
        ...result.byFunction.slice(1)
      ]
    };

    it('has no share of the capacity, which the rest makes up', () => {
      const { total, length, parts, groups } = headlineOf(besides);
      expect([total, length]).toEqual([225, 250]);
      expect(sum(parts.map(({ value }) => value))).toBe(length);
      expect(sum(parts.map(({ share }) => share ?? 0))).toBeCloseTo(1, 12);
      expect(
        parts.slice(-2).map(({ id, share, value }) => [id, share, value])
      ).toEqual([
        ['beside the threads: cpu', null, 15],
        ['beside the threads: blocked', null, 10]
      ]);
      expect(parts.find(({ id }) => id === 'cpu')!.share).toBe(45 / 225);
      expect(plain(groups[0]!.shareText)).toBe('20 %');
      const last = groups.at(-1)!;
      expect(groupWord(last, english)).toBe('beside the threads');
      expect([plain(last.text), last.shareText]).toEqual(['25.0 s', '']);
      expect(plain(footText(besides, english))).toBe(
        'capacity 3 min 45 s = wall 45.0 s × 5 threads · 25.0 s more of tasks that had left their threads · wall leaves out pauses'
      );
    });

    it('is in the lists by itself, and in the rows of functions without their share', () => {
      const names = activityParts(besides).map(each => [
        partName(each, english),
        plain(each.text),
        plain(each.shareText)
      ]);
      expect(names).toContainEqual(['CPU', '45.0 s', '20 %']);
      expect(names).toContainEqual(['CPU, beside the threads', '15.0 s', '–']);
      const row = functionRows(besides, english).find(
        ({ name }) => name === load!.function
      )!;
      expect(row.total).toBe(load!.total);
      expect(row.share).toBe((load!.total - 25) / 225);
      expect(sum(row.parts.map(({ value }) => value))).toBeCloseTo(
        load!.total,
        9
      );
      const cells = tableOf(besides, english).rows[0]!;
      expect(cells[2]!.value).toBe(load!.total);
      expect(cells[3]!.value).toBe((load!.total - 25) / 225);
    });

    it('has the looks of its activities, which the legend names once', () => {
      const { parts, length } = headlineOf(besides);
      const legend = legendOf(parts, [stackedBar(parts, length)]);
      const words = legend.map(({ word }) => word);
      expect(new Set(words).size).toBe(words.length);
      expect(words).toContain('CPU');
    });

    it('is taken from other waits where its own has less', () => {
      // Waits for the lock are told apart from what is blocked; of what is beside they are not.
      const { parts } = headlineOf({ ...besides, beside: { blocked: 25 } });
      expect(sum(parts.map(({ value }) => value))).toBe(250);
      expect(parts.filter(({ share }) => share === null)).toMatchObject([
        { id: 'beside the threads: gil', value: 15 },
        { id: 'beside the threads: blocked', value: 10 }
      ]);
      expect(parts.find(({ id }) => id === 'gil')!.value).toBe(25);
    });
  });

  it('shows what is left over from half a tenth of a percent on', () => {
    const rest = (seconds: number) =>
      headlineOf({ ...result, wholeSeconds: 250 + seconds }).parts.filter(
        ({ id }) => id === 'rest'
      );
    expect(rest(0.12)).toEqual([]);
    expect(rest(0.13)).toMatchObject([{ value: expect.closeTo(0.13, 9) }]);
  });

  it('has an error only for what is estimated, and only if there is one', () => {
    const exact = activityRows({ ...result, gilErrorSeconds: 0 });
    expect(exact.map(({ text }) => plain(text))).toEqual([
      '60.0 s',
      '40.0 s',
      '20.0 s',
      '13.0 s',
      '10.0 s',
      '9.00 s',
      '8.00 s'
    ]);
  });

  it('and its legend have shorter words where the lists below say more', () => {
    const words = partsOf(
      { 'thread-cpu': 1, transfer: 2, 'disk-read': 3, import: 4 },
      10,
      'seconds'
    ).map(({ label, word }) => [label, word]);
    expect(words).toEqual([
      ['CPU', 'CPU'],
      ['transfer, waited for', 'transfer'],
      ['disk read and write', 'disk'],
      ['importing modules', 'importing modules']
    ]);
    const { parts } = headlineOf(result);
    expect(parts.at(-1)!.word).toBe(parts.at(-1)!.label);
  });

  it('names the part that is two thirds of a group or more', () => {
    const words = (gil: number, blocked: number, transfer = 0) =>
      headlineOf({
        ...result,
        byActivity: [
          { activity: 'gil', value: gil, share: null },
          { activity: 'blocked', value: blocked, share: null },
          { activity: 'transfer', value: transfer, share: null }
        ]
      })
        .groups.slice(0, 2)
        .map(group => groupWord(group, english));
    expect(words(2, 1)[0]).toBe('not on CPU, mostly waiting for the GIL');
    expect(words(1, 2)[0]).toBe('not on CPU, mostly blocked (I/O, sleep)');
    expect(words(1.99, 1)[0]).toBe('not on CPU');
    expect(words(1, 1, 3)).toEqual(['not on CPU', 'transfer']);
    expect(words(3, 0)[0]).toBe('waiting for the GIL');
    // What has no causes of different kinds has its own word.
    const [cpu] = headlineOf({
      ...result,
      byActivity: [{ activity: 'thread-cpu', value: 9, share: null }]
    }).groups;
    expect(groupWord(cpu!, english)).toBe('CPU');
  });

  it('names the largest of the users’ labels, and another one if it is alone', () => {
    const words = (labels: Record<string, number>) =>
      headlineOf({
        ...result,
        byActivity: Object.entries(labels).map(([activity, value]) => ({
          activity,
          value,
          share: null
        }))
      })
        .groups.slice(0, -2)
        .map(group => [groupWord(group, english), plain(group.text)]);
    expect(words({ decode: 14 })).toEqual([['decode', '14.0 s']]);
    expect(words({ download: 6, decode: 14, other: 1 })).toEqual([
      ['rest of the task', '1.00 s'],
      ['decode', '14.0 s'],
      ['download', '6.00 s']
    ]);
    expect(words({ download: 6, decode: 14, parse: 2 })).toEqual([
      ['decode', '14.0 s'],
      ['other labels', '8.00 s']
    ]);
  });

  it('has a look for each of the users’ labels, the same in all bars', () => {
    const labels = [...'abcdefghijklmnop'].map(letter => `step ${letter}`);
    const looks = looksOf([...labels, 'thread-cpu', 'idle:paused']);
    expect([...looks.keys()]).toEqual(labels);
    expect(new Set(looks.values()).size).toBe(16);
    // The first four have a colour each.
    const few = looksOf(labels.slice(3, 7));
    expect(new Set([...few.values()].map(look => look % 4)).size).toBe(4);
    // There is no look of its own for the 17th.
    expect(looksOf([...labels, 'step q']).get('step q')).toBeLessThan(16);

    const activities = { download: 1, decode: 2 };
    const of = (shown: readonly Part[]) =>
      shown.flatMap(({ id, role }) => ('label' in role ? [[id, role]] : []));
    const measured: FineMetricsResult = {
      ...result,
      byActivity: [...labels, 'download', 'decode'].map(activity => ({
        activity,
        value: 1,
        share: null
      })),
      byFunction: [{ ...result.byFunction[0]!, activities }]
    };
    const all = of(headlineOf(measured).parts);
    expect(all).toHaveLength(18);
    expect(all).toEqual(
      expect.arrayContaining(of(functionRows(measured, english)[0]!.parts))
    );
    expect(all).toEqual(expect.arrayContaining(of(activityRows(measured))));
  });

  it('adds up activities that are told twice', () => {
    const twice = [
      { activity: 'gil', value: 1.5, share: null },
      { activity: 'gil', value: 2, share: null }
    ];
    const { parts } = headlineOf({ ...result, byActivity: twice });
    expect(parts[0]).toMatchObject({ id: 'gil', value: 3.5 });
  });

  it('draws what has no word last, under its own name', () => {
    const parts = partsOf(
      { mine: 1, lost: 2, yours: 3, other: 4, serialize: 5, deserialize: 6 },
      21,
      'seconds'
    );
    expect(said(parts)).toEqual([
      ['serialize', '(de)serialise', 'data', '11.0 s', '52 %'],
      ['other', 'rest of the task', 'rest of the task', '4.00 s', '19 %'],
      [
        'lost',
        'failed, cancelled or lost',
        'failed, cancelled or lost',
        '2.00 s',
        '9.5 %'
      ],
      ['mine', 'mine', 'other labels', '1.00 s', '4.8 %'],
      ['yours', 'yours', 'other labels', '3.00 s', '14 %']
    ]);
    expect(parts.map(({ role }) => role)).toEqual([
      { kind: 'serialize' },
      { kind: 'other' },
      { kind: 'failed' },
      { label: expect.any(Number) },
      { label: expect.any(Number) }
    ]);
  });

  it('has a word and a colour for whatever the observer measures, all different', () => {
    const all = Object.fromEntries(
      ACTIVITIES.map((activity, i) => [activity, i + 1])
    );
    const parts = partsOf(all, 100, 'seconds');
    expect(parts.map(({ role }) => ('kind' in role ? role.kind : ''))).toEqual([
      'cpu',
      'compute',
      'core',
      'gil',
      'blocked',
      'noncpu',
      'transfer',
      'disk',
      'import',
      'serialize',
      'other',
      'failed'
    ]);
    expect(parts.map(({ value }) => value)).toEqual(
      // Two directions of disk and of packing are one each, and what came to nothing.
      [1, 6, 2, 3, 4, 5, 7, 8 + 9, 10, 11 + 12, 13, 14 + 15 + 16]
    );
    const idle = idleParts(
      {
        ...result,
        idle: IDLE_CAUSES.map((cause, i) => ({ cause, seconds: 90 - i }))
      },
      1000
    );
    const seen = bracketing;
    for (const { id, label, group } of [...parts, ...idle]) {
      const word = groupWord(
        { group, mostly: label, isAll: true, text: '', shareText: '' },
        seen
      );
      expect([id, untranslated(word, [])]).toEqual([id, '']);
    }
    expect(idle.map(({ role }) => ('idle' in role ? role.idle : ''))).toEqual(
      IDLE_CAUSES
    );
    expect(new Set(idle.map(({ label }) => label)).size).toBe(idle.length);
  });

  it('says where idle time comes from in a run without a cluster', () => {
    const idle = idleParts(
      { ...result, idle: IDLE_CAUSES.map(cause => ({ cause, seconds: 1 })) },
      10,
      true
    );
    expect(idle.map(({ id, label }) => [id, label])).toEqual([
      ['idle:nothing-runnable', 'nothing runnable'],
      ['idle:inputs-in-flight', 'inputs in flight'],
      ['idle:held-elsewhere', 'held on another thread'],
      ['idle:no-worker', 'nowhere to run'],
      ['idle:paused', 'paused for memory'],
      ['idle:stopped', 'process stopped'],
      ['idle:scheduler', 'pool start, handing out'],
      ['idle:unknown', 'cause not known']
    ]);
    const remarked = (parts: typeof idle) =>
      parts
        .filter(part => remarkOn(part, result, english) !== '')
        .map(({ id }) => id);
    expect(remarked(idle)).toEqual(['idle:scheduler']);
    expect(remarked(idleParts(result, 10))).toEqual([]);
  });

  it('takes a user’s label for what it is, also if every object has such a word', () => {
    const own = {
      ...result,
      byActivity: [{ activity: 'constructor', value: 3, share: null }]
    };
    expect(activityRows(own)).toMatchObject([
      {
        id: 'constructor',
        label: 'constructor',
        group: 'other labels',
        value: 3
      }
    ]);
    const { rows } = tableOf(own, english);
    const figures = rows.map(cells => cells[4]!.value);
    expect(figures).toEqual([null, null, null, 3, null, null]);
  });

  it('says of what is not known why, and what is in blocked', () => {
    const remarks = headlineOf({
      ...result,
      byActivity: [
        ...result.byActivity,
        { activity: 'thread-noncpu', value: 1, share: null }
      ]
    })
      .parts.map(part => [part.id, remarkOn(part, result, english)])
      .filter(([, remark]) => remark !== '');
    expect(remarks).toEqual([
      ['blocked', expect.stringContaining('the Profile counts')],
      ['noncpu', expect.stringContaining('below 5 ms')],
      ['import', expect.stringContaining('unpickled')]
    ]);
  });
});

describe('what the whole is', () => {
  const total = (wallSeconds: number, threads: number) =>
    plain(
      totalText(
        {
          ...result,
          wallSeconds,
          threads,
          capacitySeconds: wallSeconds * threads
        },
        english
      )
    );

  it('is time on one thread, on several, or on a mean of several', () => {
    expect(total(10, 1)).toBe('10.0 s = wall 10.0 s × 1 thread');
    expect(total(10, 4)).toBe('40.0 s = wall 10.0 s × 4 threads');
    expect(total(10, 4.004)).toBe('40.0 s = wall 10.0 s × 4 threads');
    expect(total(10, 3.996)).toBe('40.0 s = wall 10.0 s × 4 threads');
    expect(total(10, 4.01)).toBe(
      '40.1 s = wall 10.0 s × 4.01 threads on average'
    );
    expect(total(10, 1.5)).toBe(
      '15.0 s = wall 10.0 s × 1.50 threads on average'
    );
  });

  it('is a sum of bytes or counts', () => {
    const bytes = {
      ...result,
      unit: 'bytes',
      byActivity: [
        { activity: 'transfer', value: 3 * MiB, share: null },
        { activity: 'disk-read', value: MiB, share: null }
      ]
    };
    expect(plain(footText(bytes, english))).toBe('4.00 MiB');
    expect(plain(totalText({ ...bytes, unit: 'count' }, english))).toBe(
      '4.19 M'
    );
    const { parts, groups, total } = headlineOf(bytes);
    expect(total).toBe(4 * MiB);
    expect(said(parts)).toEqual([
      ['transfer', 'transfer, waited for', 'data', '3.00 MiB', '75 %'],
      ['disk', 'disk read and write', 'data', '1.00 MiB', '25 %']
    ]);
    expect(groups).toMatchObject([
      {
        mostly: 'transfer',
        text: plain('4.00\u00a0MiB').replace(' ', '\u00a0')
      }
    ]);
  });
});

describe('functions', () => {
  it('have each its own figures, and the others theirs together', () => {
    const rows = functionRows(result, english);
    expect(
      rows.map(({ parts, text, shareText, ...row }) => ({
        ...row,
        text: plain(text),
        shareText: plain(shareText),
        parts: said(parts).map(part => part.join(' '))
      }))
    ).toEqual([
      {
        name: 'fit',
        slot: 4,
        round: 0,
        isOthers: false,
        total: 80,
        text: '80.0 s',
        share: 0.2,
        shareText: '20 %',
        executions: 7,
        parts: [
          'cpu CPU CPU 20.0 s 25 %',
          'gil waiting for the GIL not on CPU 40.0 s 50 %',
          'blocked blocked (I/O, sleep) not on CPU 10.0 s 13 %',
          'lost failed, cancelled or lost failed, cancelled or lost 10.0 s 13 %'
        ]
      },
      {
        name: 'load',
        slot: 3,
        round: 1,
        isOthers: false,
        total: 50,
        text: '50.0 s',
        share: 0.125,
        shareText: '13 %',
        executions: 70,
        parts: [
          'cpu CPU CPU 40.0 s 80 %',
          'transfer transfer, waited for data 10.0 s 20 %'
        ]
      },
      {
        name: '4 others',
        slot: -1,
        round: 0,
        isOthers: true,
        total: 30,
        text: '30.0 s',
        share: 0.075,
        shareText: '7.5 %',
        executions: 900,
        parts: [
          'transfer transfer, waited for data 9.00 s 30 %',
          'import importing modules data 13.0 s 43 %',
          'other rest of the task rest of the task 8.00 s 27 %'
        ]
      }
    ]);
    // The others are last, however they are sorted.
    const names = (order: 'time' | 'name' | 'executions') =>
      functionRows(result, english, order).map(({ name }) => name);
    expect(names('time')).toEqual(['fit', 'load', '4 others']);
    expect(names('executions')).toEqual(['load', 'fit', '4 others']);
    const byTime = [...result.byFunction].reverse();
    expect(
      functionRows({ ...result, byFunction: byTime }, english, 'name').map(
        ({ name }) => name
      )
    ).toEqual(['fit', 'load', '4 others']);
    expect(names('name')).toEqual(['fit', 'load', '4 others']);
    expect(functionRows({ ...result, others: null }, english)).toHaveLength(2);
    const none = { functions: 0, executions: 0, total: 0, activities: {} };
    expect(functionRows({ ...result, others: none }, english)).toHaveLength(2);
  });

  it('that are new come last, in their order, while rows keep theirs', () => {
    expect(
      keepOrder(['z', 'b', 'y', 'a', 'x'], ['a', 'gone', 'b'], row => row)
    ).toEqual(['a', 'b', 'z', 'y', 'x']);
  });
});

describe('of bytes and counts', () => {
  const run = firstLook(38);
  const log = drawnStore(run);
  const asked = (unit: string) =>
    ask(log, 'fine-metrics', { params: { unit }, ended: true });

  it('computing has one name, and is not called CPU time that is not known', () => {
    const isComputing = ({ kind }: { kind: BoxKind }) =>
      kind === BoxKind.Compute || kind === BoxKind.Failed;
    const executions = run.boxes.filter(isComputing).length;
    const counts = asked('count');
    const { parts, groups } = headlineOf(counts);
    expect(said(parts)[0]!.slice(0, 4)).toEqual([
      'cpu',
      'compute',
      'compute',
      String(executions)
    ]);
    expect(groupWord(groups[0]!, english)).toBe('compute');
    expect(functionRows(counts, english)[0]!.parts[0]!.label).toBe('compute');
    const bytes = ask(
      drawRuns('0/0 aa', {
        tasks: {
          a: {
            parts: [
              { kind: PartKind.Compute, offset: 0, duration: 1, bytes: 77 }
            ]
          }
        }
      }),
      'fine-metrics',
      { params: { unit: 'bytes' } }
    );
    expect(said(activityRows(bytes))).toEqual([
      ['cpu', 'compute', 'compute', '77 B', '100 %']
    ]);
  });

  it('are of the boxes that were drawn', () => {
    const held = (kind: BoxKind) =>
      run.boxes.filter(box => box.kind === kind && !box.strip);
    const bytes = (kind: BoxKind) =>
      sum(held(kind).map(({ from, to }) => to - from)) * 400 * MiB;
    const figures = (unit: string) =>
      Object.fromEntries(
        activityRows(asked(unit)).map(({ label, text }) => [label, text])
      );
    expect(figures('count')).toMatchObject({
      'transfer, waited for': String(held(BoxKind.Transfer).length),
      'disk read and write': String(held(BoxKind.Disk).length),
      '(de)serialise': String(held(BoxKind.Serialize).length)
    });
    expect(figures('bytes')).toEqual({
      'transfer, waited for': formatBytes(bytes(BoxKind.Transfer)),
      'disk read and write': formatBytes(bytes(BoxKind.Disk)),
      '(de)serialise': formatBytes(bytes(BoxKind.Serialize))
    });
  });
});

describe('what moved', () => {
  it('is called by who moved what, whatever of it was measured', () => {
    const one = { seconds: 2, bytes: 3 * MiB, count: 5 };
    const background = [
      { ...one, activity: 'send', seconds: 9 },
      { ...one, activity: 'serve', seconds: 8 },
      { ...one, activity: 'receive', seconds: 7 },
      { ...one, activity: 'report', seconds: 6 },
      { ...one, activity: 'get-data', seconds: 5 },
      { ...one, activity: 'memory-monitor', seconds: 4 },
      { ...one, activity: 'disk-read', seconds: 3 },
      { ...one, activity: 'deserialize', seconds: 2 },
      { ...one, activity: 'receive: transfer', seconds: 1 },
      { ...one, activity: 'constructor', seconds: 0.5 },
      { ...one, activity: 'none', seconds: 0 }
    ];
    const rows = movedRows({ ...result, background }, english);
    expect(rows.map(({ label, kind, value }) => [label, kind, value])).toEqual([
      ['send: network', 'transfer', 9],
      ['send: network', 'transfer', 8],
      ['receive: network', 'transfer', 7],
      ['report results: network', 'transfer', 6],
      ['send: network', 'transfer', 5],
      ['spill: network', 'transfer', 4],
      ['read from disk', 'disk', 3],
      ['deserialise', 'serialize', 2],
      ['receive: network', 'transfer', 1],
      ['constructor', 'other', 0.5]
    ]);
    expect(rows[0]).toMatchObject({ id: 'send' });
    const translated = movedRows({ ...result, background }, bracketing);
    expect(translated.slice(1, 4).map(({ label }) => label)).toEqual([
      '⟦⟦send⟧: ⟦network⟧⟧',
      '⟦⟦receive⟧: ⟦network⟧⟧',
      '⟦⟦report results⟧: ⟦network⟧⟧'
    ]);
    expect(translated[0]!.label).toBe(translated[1]!.label);
    expect(rows.map(({ title }) => plain(title))).toContain(
      '9.00 s, 3.00 MiB, 5 times'
    );
  });
});

describe('the table', () => {
  const texts = ({ rows: of }: ReturnType<typeof tableOf>) =>
    of.map(row => row.map(({ text }) => plain(text)));

  it('has a column for each activity, and what the whole is as a note', () => {
    const { columns, note } = tableOf(result, english);
    expect(columns.map(({ name }) => name)).toEqual([
      'Function',
      'Executions',
      'Total',
      'Share of capacity',
      'thread-cpu',
      'gil',
      'blocked',
      'transfer',
      'import',
      'other',
      'lost'
    ]);
    expect(columns.map(({ numeric }) => numeric === true)).toEqual([
      false,
      ...columns.slice(1).map(() => true)
    ]);
    expect(plain(note!)).toBe(
      'capacity 6 min 40 s = wall 80.0 s × 5 threads · wall leaves out pauses'
    );
  });

  it('has a row for each function, the others, all of them and each cause', () => {
    const table = tableOf(result, english);
    const none = ['–', '–', '–', '–', '–', '–', '–'];
    expect(texts(table)).toEqual([
      [
        'load',
        '70',
        '50.0 s',
        '13 %',
        '40.0 s',
        '–',
        '–',
        '10.0 s',
        '–',
        '–',
        '–'
      ],
      [
        'fit',
        '7',
        '80.0 s',
        '20 %',
        '20.0 s',
        '40.0 s',
        '10.0 s',
        '–',
        '–',
        '–',
        '10.0 s'
      ],
      [
        '4 others',
        '900',
        '30.0 s',
        '7.5 %',
        '–',
        '–',
        '–',
        '9.00 s',
        '13.0 s',
        '8.00 s',
        '–'
      ],
      [
        'all functions',
        '–',
        '2 min 40 s',
        '40 %',
        ...[
          '60.0 s',
          '40.0 s',
          '10.0 s',
          '20.0 s',
          '13.0 s',
          '8.00 s',
          '9.00 s'
        ]
      ],
      ['idle: worker stopped', '–', '60.0 s', '15 %', ...none],
      ['idle: paused for memory', '–', '30.0 s', '7.5 %', ...none]
    ]);
    expect(table.rows[0]!.map(({ value }) => value)).toEqual([
      'load',
      70,
      50,
      0.125,
      40,
      null,
      null,
      10,
      null,
      null,
      null
    ]);
  });

  it('of bytes has no idle time', () => {
    const bytes = tableOf({ ...result, unit: 'bytes', others: null }, english);
    expect(bytes.columns[3]!.name).toBe('Share');
    expect(texts(bytes).map(([name, , total]) => [name, total])).toEqual([
      ['load', '50 B'],
      ['fit', '80 B'],
      ['all functions', '160 B']
    ]);
    expect(plain(bytes.note!)).toBe('160 B');
  });

  it('of a drawn run has the seconds of its boxes', () => {
    const run = firstLook();
    const table = tableOf(
      ask(drawnStore(run), 'fine-metrics', { ended: true }),
      english
    );
    const column = (name: string) =>
      table.columns.findIndex(each => each.name === name);
    const seconds = (name: string, ...kinds: BoxKind[]) =>
      sum(
        run.boxes
          .filter(box => box.function === name && !box.strip)
          .filter(({ kind }) => kinds.length === 0 || kinds.includes(kind))
          .map(({ from, to }) => to - from)
      );
    for (const name of run.functions) {
      const row = table.rows.find(([cell]) => cell!.text === name)!;
      const runs = run.boxes.filter(
        ({ function: fn, kind }) =>
          fn === name && (kind === BoxKind.Compute || kind === BoxKind.Failed)
      );
      const value = (column: number) => Number(row[column]!.value ?? 0);
      expect(value(column('Executions'))).toBe(runs.length);
      expect(value(column('Total'))).toBeCloseTo(seconds(name), 3);
      expect(row[3]!.text).toBe(formatShare(seconds(name) / (run.end * 8)));
      expect(value(column('transfer'))).toBeCloseTo(
        seconds(name, BoxKind.Transfer),
        3
      );
      expect(value(column('disk-read'))).toBeCloseTo(
        seconds(name, BoxKind.Disk),
        3
      );
      expect(value(column('deserialize'))).toBeCloseTo(
        seconds(name, BoxKind.Serialize),
        3
      );
    }
    expect(
      table.rows.find(([cell]) => cell!.text === 'all functions')![2]!.text
    ).toBe(formatDuration(sum(run.functions.map(name => seconds(name)))));
  });
});
