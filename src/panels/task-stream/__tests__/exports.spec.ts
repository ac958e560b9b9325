/** What *Export* of the Task Stream gives: against the log that the panel shows, and read as other programs read it. */
import { Notification } from '@jupyterlab/apputils';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import fc from 'fast-check';
import { act } from 'react';
import { readPalette } from '../../../charts/theme';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import type { TileData } from '../../../feed/feed-types';
import type { SelectionModel } from '../../../feed/selection';
import { labContext } from '../../../lab/__tests__/lab-context';
import {
  ask,
  type Asked,
  takenIn,
  tile
} from '../../../observer/__tests__/ask';
import { runDetail } from '../../../observer/folds/run-detail';
import { PartKind } from '../../../records/enumerations';
import { CHUNK_ROWS } from '../../../observer/store/column-table';
import { ingestBlock } from '../../../observer/store/ingest';
import { LogStore } from '../../../observer/store/log-store';
import type { Span } from '../../../observer/store/span-tree';
import { DEFAULT_SPAN } from '../../../records/ids';
import { drawCluster } from '../../../testing/drawn-cluster';
import { DRAWN_SELECTIONS } from '../../../testing/drawn-selections';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { rowsToBlock } from '../../../testing/rows-to-block';
import { drawRuns } from '../../../testing/run-from-text';
import { english } from '../../../testing/translators';
import { waitFor } from '../../../testing/wait-for';
import type {
  Filter,
  RecordsResult,
  RunDetail,
  TasksResult,
  TimeRange
} from '../../../wire/panel-link';
import { FrameEncoder } from '../../../wire/frame';
import { taskStreamPanel } from '..';
import { allTasks, MOST_TASKS, TooManyTasks } from '../all-tasks';
import type { ITheme } from '../../panel-context';
import type { TaskStreamPanel } from '../panel';
import { traceOf } from '../trace';

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

const NASTY = '<img src="x" onerror="alert(1)">&amp;\u0000\u202e\ud800]]>';

const log = drawRuns(
  `
  0/0  aaaa..bbbb
  0/1  ..cccc..dd
  1/0  eeeeeeeeee
  `,
  {
    tasks: {
      a: { span: 'first/load', function: 'load' },
      b: {
        span: 'first',
        function: 'fit',
        parts: [
          { kind: PartKind.Transfer, offset: 0, duration: 1 },
          { kind: PartKind.Compute, offset: 1, duration: 3 }
        ]
      },
      c: { status: 1, function: 'fail' },
      d: { function: NASTY },
      e: { function: 'load' }
    }
  }
);
const tasksOf = (
  params: Readonly<Record<string, unknown>>,
  asked: { filter?: Filter; time?: TimeRange } = {}
) => ask(log, 'tasks', { ...asked, params, ended: true }) as TasksResult;

/** A tile's columns, of nothing. */
function noBoxes(whole: TileData): Partial<TileData> {
  return Object.fromEntries(
    Object.entries(whole)
      .filter(([, column]) => ArrayBuffer.isView(column))
      .map(([name, column]) => [name, (column as Uint8Array).slice(0, 0)])
  );
}

let panel: TaskStreamPanel;
let feed: ReturnType<typeof labContext>['feed'];
let selection: SelectionModel;
let theme: ITheme;
let saved: { name: string; text: string }[];
let errors: string[];
const choose = async (label: string) => {
  const { exportItems } = panel as unknown as {
    exportItems(): readonly { label: string; run(): void }[];
  };
  await act(async () => {
    exportItems
      .call(panel)
      .find(item => item.label === label)!
      .run();
    await Promise.resolve();
  });
};

beforeEach(async () => {
  Object.assign(globalThis, {
    IS_REACT_ACT_ENVIRONMENT: true,
    ResizeObserver: ResizeObserverStub
  });
  saved = [];
  errors = [];
  jest.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
  const blobs: Blob[] = [];
  Object.assign(URL, {
    createObjectURL: (blob: Blob) => `blob:${blobs.push(blob) - 1}`,
    revokeObjectURL: () => {}
  });
  jest.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (
    this: HTMLAnchorElement
  ) {
    const blob = blobs[Number(this.href.replace('blob:', ''))]!;
    const reader = new FileReader();
    reader.onload = () =>
      saved.push({ name: this.download, text: String(reader.result) });
    reader.readAsText(blob);
  });
  jest.spyOn(Notification, 'error').mockImplementation(text => {
    errors.push(text);
    return '';
  });
  const lab = labContext();
  feed = lab.feed;
  feed.setClusters(clusterInfo({ state: 'ended' }));
  const context = lab.contexts.get({ name: 'first-look' });
  ({ selection, theme } = context);
  panel = taskStreamPanel.create({
    context,
    state: undefined
  }) as TaskStreamPanel;
  await act(async () => {
    Widget.attach(panel, document.body);
    const watch = feed.running[0]!;
    Object.assign(watch, {
      tile: (level: number, index: number): TileData => {
        const { columns, ...header } = tile(log, level, index);
        return { ...header, ...columns, logSeq: 1 };
      }
    });
    watch.answer(ask(log, 'task-stream', { ended: true }));
    MessageLoop.flush();
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await act(async () => panel.dispose());
});

/** Answers each page that is asked for from a log. */
async function answerTasks(
  over: Partial<
    Pick<TasksResult, 'total'> & Pick<RecordsResult, 'next' | 'lost'>
  > = {},
  of = log
): Promise<void> {
  for (;;) {
    const watch = feed.running.find(
      ({ spec, snapshot }) => spec.view !== 'task-stream' && snapshot === null
    );
    if (watch === undefined) {
      return;
    }
    await act(async () => {
      const { view, params, filter, time } = watch.spec;
      const asked = { params, filter, time, ended: true };
      watch.answer(
        view === 'records'
          ? { ...ask(of, 'records', asked), ...over }
          : { ...ask(of, 'tasks', asked), ...over }
      );
      await Promise.resolve();
      await Promise.resolve();
    });
  }
}

describe('a picture', () => {
  const picture = async () => {
    await choose('Export picture as SVG');
    await waitFor('a file', () => saved.length > 0);
    const [file] = saved;
    expect(file!.name).toBe('task-stream first-look.svg');
    const read = new DOMParser().parseFromString(file!.text, 'image/svg+xml');
    expect(read.querySelector('parsererror')).toBeNull();
    return read;
  };

  it('has each task where it ran, from its start to its stop', async () => {
    const read = await picture();
    const { from, to } = panel.model.view;
    const lanes = read.querySelector('[clip-path]')!;
    const rects = [...lanes.querySelectorAll('rect')].map(rect => ({
      x: Number(rect.getAttribute('x')),
      y: Number(rect.getAttribute('y')),
      width: Number(rect.getAttribute('width')),
      fill: rect.getAttribute('fill')
    }));
    const clip = read.querySelector('clipPath rect')!;
    const scale = Number(clip.getAttribute('width')) / (to - from);
    const runs = tasksOf({ limit: 500 }).rows;
    const a = runs.find(run => run.function === 'load' && run.duration === 4);
    const b = runs.find(run => run.function === 'fit');
    for (const run of [a!, b!]) {
      const x = (run.start - from) * scale;
      const end = x + run.duration * scale;
      const first = rects.find(
        rect => Math.abs(rect.x - x) < 3 && rect.width > 8
      )!;
      // In the colour of its function, a box of each tile that it lies in.
      const own = rects.filter(
        ({ fill, y, x: left }) =>
          fill === first.fill && y === first.y && left >= first.x && left < end
      );
      const covered = own.reduce((sum, { width }) => sum + width, 0);
      expect(Math.abs(covered - (end - x))).toBeLessThan(6);
    }
    // Part of `fit` is a transfer, with its pattern.
    const pattern = rects.find(
      ({ fill }) => fill === 'url(#sw-transfer-in-lanes)'
    )!;
    expect(pattern.x).toBeCloseTo((b!.start - from) * scale, -1);
    expect(pattern.width).toBeCloseTo(1 * scale, -1);
    expect(read.querySelector('pattern#sw-transfer-in-lanes')).not.toBeNull();
  });

  it('says what it is of, with the workers, spans and functions', async () => {
    const texts = [...(await picture()).querySelectorAll('text')].map(
      ({ textContent }) => textContent
    );
    expect(texts).toEqual(
      expect.arrayContaining([
        'Task Stream, first-look',
        'worker 0',
        'thread 2',
        'first',
        'load',
        'fit',
        'failed runs'
      ])
    );
  });

  it('has the name of a worker of one lane, and how busy it was, beside that lane', async () => {
    const texts = [...(await picture()).querySelectorAll('text')];
    const places = (wanted: string) =>
      texts
        .filter(({ textContent }) => textContent === wanted)
        .map(each => Number(each.getAttribute('y')));
    const busy = texts.findIndex(
      ({ textContent }) => textContent === '100\u00a0%'
    );
    expect(places('100\u00a0%')).toEqual(places('worker 1'));
    expect(texts[busy - 1]!.textContent).toBe('worker 1');
    expect(Number(texts[busy]!.getAttribute('x'))).toBeLessThan(112);
    // Beside it nothing is called a thread: both that are so called are those of the other worker.
    expect(places('thread 1')).toHaveLength(1);
    // From lane to lane 24 pixels.
    expect(places('worker 1')[0]! - places('thread 2')[0]!).toBe(24);
  });

  it('has in its legend failed runs with their mark, which is seen on a dark ground too', async () => {
    for (const shade of ['light', 'dark'] as const) {
      saved.length = 0;
      document.body.style.setProperty(
        '--jp-layout-color1',
        shade === 'dark' ? '#111111' : '#ffffff'
      );
      Object.assign(theme, { palette: readPalette(document.body) });
      const { kinds, failedLine } = theme.palette;
      const read = await picture();
      const name = [...read.querySelectorAll('text')].findLast(
        ({ textContent }) => textContent === 'failed runs'
      );
      const swatch: Element[] = [];
      for (
        let each = name!.previousElementSibling;
        each !== null && each.tagName !== 'text';
        each = each.previousElementSibling
      ) {
        swatch.unshift(each);
      }
      const drawn = (selector: string) =>
        swatch.flatMap(each => [
          ...(each.matches(selector) ? [each] : []),
          ...each.querySelectorAll(selector)
        ]).length;
      expect(drawn(`rect[fill="${kinds.failed}"]`)).toBeGreaterThan(0);
      expect(drawn('path[stroke="#ffffff"]')).toBe(1);
      expect(drawn(`rect[stroke="${failedLine}"]`)).toBe(
        shade === 'dark' ? 1 : 0
      );
    }
    document.body.style.removeProperty('--jp-layout-color1');
  });

  it('has names of users as text and as nothing else', async () => {
    const read = await picture();
    expect(read.querySelector('img')).toBeNull();
    expect(
      [...read.querySelectorAll('text')].map(({ textContent }) => textContent)
    ).toContain(
      NASTY.replace('\u0000', '\\x00')
        .replace('\u202e', '\\u202e')
        .replace('\ud800', '\ufffd')
    );
  });

  it('says of what its tasks are, also if that has changed while they were on their way', async () => {
    const watch = feed.running[0]!;
    const { tile: tileHere } = watch as unknown as { tile: unknown };
    Object.assign(watch, { tile: () => null });
    await choose('Export picture as SVG');
    expect(saved).toEqual([]);
    const filter = { functions: ['load'] };
    await act(async () => {
      selection.setFilter(filter);
      Object.assign(feed.running[0]!, { tile: tileHere });
      feed.running[0]!.answer(ask(log, 'task-stream', { filter, ended: true }));
      MessageLoop.flush();
    });
    await waitFor('a file', () => saved.length > 0);
    expect(saved[0]!.text).toContain('function load');
  });

  it('has the memory that workers have now, as their heads do, though no task has run since', async () => {
    const { workers } = clusterInfo();
    const now = workers.map(each => ({
      ...each,
      process: 192 * 2 ** 20
    }));
    await act(async () => {
      feed.setClusters(clusterInfo({ workers: now }));
      MessageLoop.flush();
    });
    const heads = [
      ...panel.node.querySelectorAll('.sw-TaskStream-workerText')
    ].map(({ textContent }) => textContent?.replaceAll('\u00a0', ' '));
    // (a worker of one lane has no room for it)
    expect(heads).toEqual([expect.stringMatching(/ · 192 MiB of 1\.00 GiB$/)]);
    await choose('Export picture as SVG');
    await waitFor('a file', () => saved.length > 0);
    expect(saved[0]!.text.replaceAll('\u00a0', ' ')).toContain(heads[0]);
  });

  it('has what ended since the last one of the same detail', async () => {
    const watch = feed.running[0]!;
    const kept = new Map<string, TileData>();
    const { tile: tileNow } = watch as unknown as {
      tile(level: number, index: number): TileData;
    };
    let isEmpty = true;
    const asked: string[] = [];
    Object.assign(watch, {
      tile: (level: number, index: number) =>
        kept.get(`${level} ${index}`) ?? null,
      requestTiles: (level: number, first: number, count: number) => {
        for (let index = first; index < first + count; index += 1) {
          asked.push(`${level} ${index}`);
        }
      }
    });
    /** What was asked for comes. */
    const bring = async (logSeq: number) =>
      act(async () => {
        for (const key of asked.splice(0)) {
          const [level, index] = key.split(' ').map(Number);
          const whole = tileNow(level!, index!);
          kept.set(key, {
            ...(isEmpty ? { ...whole, ...noBoxes(whole) } : whole),
            logSeq,
            settled: false
          });
        }
        watch.tileArrived.emit([...kept.values()][0]!);
        await Promise.resolve();
      });
    await choose('Export picture as SVG');
    await bring(1);
    await waitFor('a file', () => saved.length > 0);
    const boxes = ({ text }: { readonly text: string }) =>
      new DOMParser()
        .parseFromString(text, 'image/svg+xml')
        .querySelectorAll('[clip-path] rect').length;
    await choose('Export picture as SVG');
    await waitFor('a file', () => saved.length > 1);

    isEmpty = false;
    await act(async () => {
      watch.answer(ask(log, 'task-stream', { ended: true }), { logSeq: 2 });
      MessageLoop.flush();
    });
    await choose('Export picture as SVG');
    // One that was made before the answer.
    await bring(1);
    expect(saved).toHaveLength(2);
    await bring(2);
    await waitFor('a file', () => saved.length > 2);
    expect(boxes(saved[1]!)).toBe(boxes(saved[0]!));
    expect(boxes(saved[2]!)).toBeGreaterThan(boxes(saved[0]!) + 4);
  });

  it('is of one moment, however far the clock of the page is', async () => {
    const live = drawnStore(firstLook(), { live: true });
    // Of after the answer: what runs has ended, and something else has begun.
    const later = drawnStore(firstLook(), { live: true });
    const answer = ask(live, 'task-stream', { now: live.now + 1 });
    const began = answer.running.map(({ laneIndex, started }, at) => ({
      run: 9_000_000 + at,
      lane: live.shape.lanes[laneIndex]!.lane,
      start: started,
      duration: answer.to + 0.3 - started
    }));
    ingestBlock(
      later,
      rowsToBlock(later.seq + 1, 'runs', [
        ...began,
        ...began.map(({ lane }, at) => ({
          run: 9_100_000 + at,
          lane,
          start: answer.to + 0.35,
          duration: 0.2
        }))
      ])
    );
    const watch = feed.running[0]!;
    Object.assign(watch, {
      tile: (level: number, index: number): TileData => {
        const { columns, ...header } = tile(later, level, index);
        return { ...header, ...columns, logSeq: 1 };
      }
    });
    const ahead = jest.spyOn(performance, 'now');
    const clock = performance.now();
    ahead.mockReturnValue(clock);
    await act(async () => {
      watch.answer(answer);
      panel.model.setFollowing(false);
      panel.model.setView({ from: answer.to - 3, to: answer.to + 2 });
      MessageLoop.flush();
    });
    ahead.mockReturnValue(clock + 800);
    expect(panel.model.now).toBeCloseTo(answer.now + 0.8, 6);
    const read = await picture();
    ahead.mockRestore();
    const { from, to } = panel.model.view;
    const ends = (rects: Iterable<Element>, scale: number) =>
      Array.from(rects, rect => {
        const of = (name: string) => Number(rect.getAttribute(name));
        return from + (of('x') + of('width')) / scale;
      });
    const clip = read.querySelector('clipPath rect')!;
    const [width, height] = ['width', 'height'].map(name =>
      Number(clip.getAttribute(name))
    ) as [number, number];
    const boxes = [...read.querySelectorAll('[clip-path] rect')].filter(
      rect =>
        // (lines of the axis, of lanes, and of now)
        Number(rect.getAttribute('height')) < height &&
        Number(rect.getAttribute('width')) < width
    );
    const scale = width / (to - from);
    const drawn = ends(boxes, scale);
    expect(Math.max(...drawn)).toBeCloseTo(answer.to, 1);
    // Spans end where boxes do, on the same scale at half of its pixels.
    const bands = read.querySelectorAll('rect[height="14"]');
    const bandEnds = ends(bands, scale / 2);
    expect(bandEnds.length).toBeGreaterThan(0);
    expect(Math.max(...bandEnds)).toBeCloseTo(answer.to, 1);
  });

  it('says what it waits for, and is no error where the user gives it up', async () => {
    jest.useFakeTimers();
    const dismiss = jest.spyOn(Notification, 'dismiss').mockReturnValue();
    const emit = jest.spyOn(Notification, 'emit').mockReturnValue('notice');
    try {
      Object.assign(feed.running[0]!, { tile: () => null });
      await choose('Export picture as SVG');
      await act(async () => jest.advanceTimersByTimeAsync(499));
      expect(emit).not.toHaveBeenCalled();
      await act(async () => jest.advanceTimersByTimeAsync(1));
      expect(emit).toHaveBeenCalledTimes(1);
      const [text, kind, options] = emit.mock.calls[0]!;
      expect([text, kind, options!.progress]).toEqual([
        'Waiting for the tasks in view…',
        'in-progress',
        0
      ]);
      options!.actions![0]!.callback(new MouseEvent('click'));
      await act(async () => jest.advanceTimersByTimeAsync(500));
      expect(dismiss).toHaveBeenCalledWith('notice');
      await act(async () => jest.advanceTimersByTimeAsync(20_000));
      expect([errors, saved]).toEqual([[], []]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('says so if what is shown does not come', async () => {
    jest.useFakeTimers();
    try {
      Object.assign(feed.running[0]!, { tile: () => null });
      await choose('Export picture as SVG');
      await act(async () => jest.advanceTimersByTimeAsync(10_000));
      expect(errors).toEqual([
        'Nothing was exported: the observer did not send what is shown.'
      ]);
      expect(saved).toEqual([]);
    } finally {
      jest.useRealTimers();
    }
  });
});

type TraceEvent = {
  readonly ph: string;
  readonly name: string;
  readonly cat?: string;
  readonly ts: number;
  readonly dur: number;
  readonly pid: number;
  readonly tid: number;
  readonly args: Record<string, unknown>;
};

function slicesOf(runs: readonly RunDetail[]): TraceEvent[] {
  const { traceEvents } = JSON.parse(
    traceOf({ runs, bands: [], about: {} }, english)
  ) as { traceEvents: TraceEvent[] };
  return traceEvents.filter(({ ph }) => ph === 'X');
}

describe('a trace', () => {
  const trace = async () => {
    await choose('Export trace for Perfetto or Chrome');
    await answerTasks();
    await waitFor('a file', () => saved.length > 0);
    expect(saved[0]!.name).toBe('task-stream first-look.trace.json');
    return (JSON.parse(saved[0]!.text) as { traceEvents: TraceEvent[] })
      .traceEvents;
  };

  it('has a slice of each task, on the track of its thread', async () => {
    const events = await trace();
    const nameOf = (ph: string, pid: number, tid: number) =>
      events.find(
        each =>
          each.ph === 'M' &&
          each.name === ph &&
          each.pid === pid &&
          each.tid === tid
      )?.args.name;
    const slices = events
      .filter(({ cat }) => cat === 'task')
      .map(({ name, ts, dur, pid, tid, args }) => [
        nameOf('process_name', pid, 0),
        nameOf('thread_name', pid, tid),
        name,
        ts / 1e6,
        dur / 1e6,
        args.key
      ]);
    const runs = tasksOf({ limit: 500 }).rows;
    expect(runs).toHaveLength(5);
    expect(slices).toEqual(
      runs.map(run => [
        `worker ${run.worker.replace('worker-', '')}`.replace(
          /^worker worker /,
          'worker '
        ),
        `thread ${run.thread + 1}`,
        run.function,
        run.start,
        run.duration,
        run.key
      ])
    );
  });

  it('has what held the thread in its task, and spans beside all', async () => {
    const events = await trace();
    const fit = events.find(
      ({ cat, name }) => cat === 'task' && name === 'fit'
    )!;
    const parts = events.filter(
      ({ ph, cat, tid, pid, ts }) =>
        ph === 'X' &&
        cat !== 'task' &&
        tid === fit.tid &&
        pid === fit.pid &&
        ts >= fit.ts
    );
    expect(parts.map(({ cat, ts, dur }) => [cat, ts - fit.ts, dur])).toEqual([
      ['transfer', 0, 1e6]
    ]);
    const spans = events.filter(({ cat, ph }) => cat === 'span' && ph === 'b');
    expect(spans.map(({ name }) => name)).toEqual(['first', 'load']);
  });

  it('has no slice twice of one name: a sum by name is what tasks took', () => {
    const compute = { kind: PartKind.Compute, duration: 1 };
    const three = drawRuns('0/0 aa.bbbbb.cccc', {
      tasks: {
        a: { function: 'slow' },
        b: {
          function: 'slow',
          parts: [
            { kind: PartKind.Transfer, offset: 0, duration: 1 },
            { ...compute, offset: 1, duration: 4 }
          ]
        },
        c: {
          function: 'getitem-overlap',
          parts: [
            { ...compute, offset: 0, function: 'getitem-overlap' },
            { ...compute, offset: 1, duration: 2, function: 'smooth' },
            { ...compute, offset: 3, duration: 1, function: 'smooth' }
          ]
        }
      }
    });
    const slices = slicesOf([0, 1, 2].map(row => runDetail(three, row)!));
    expect(slices.map(({ name, cat, dur }) => [name, cat, dur / 1e6])).toEqual([
      ['slow', 'task', 2],
      ['slow', 'task', 5],
      ['transfer', 'transfer', 1],
      ['smooth', 'task', 4],
      ['getitem-overlap', 'compute', 1]
    ]);
  });

  it('says how many spans it has not', async () => {
    await act(async () => {
      feed.running[0]!.answer({
        ...ask(log, 'task-stream', { ended: true }),
        bandsLeftOut: 12
      });
    });
    await trace();
    expect(JSON.parse(saved[0]!.text)).toMatchObject({
      otherData: { spans_left_out: '12' }
    });
  });

  it('says how many runs were dropped while it was made, also on the page', async () => {
    const warning = jest.spyOn(Notification, 'warning').mockReturnValue('');
    await choose('Export trace for Perfetto or Chrome');
    await answerTasks({ lost: 1234 });
    await waitFor('a file', () => saved.length > 0);
    const text =
      'Up to 1,234 task runs of the selection are missing: they were dropped for want of room while this file was made.';
    expect(JSON.parse(saved[0]!.text)).toMatchObject({
      otherData: { runs_missing: text }
    });
    expect(warning.mock.calls.map(([said]) => said)).toEqual([text]);
  });

  it('has all parts of a task', async () => {
    const nine = drawRuns('0/0 aaaaaaaaa', {
      tasks: {
        a: {
          parts: Array.from({ length: 9 }, (_, offset) => ({
            kind: PartKind.Transfer,
            offset,
            duration: 1,
            bytes: offset + 1
          }))
        }
      }
    });
    await choose('Export trace for Perfetto or Chrome');
    await answerTasks({}, nine);
    await waitFor('a file', () => saved.length > 0);
    const [task, ...parts] = (
      JSON.parse(saved[0]!.text) as { traceEvents: TraceEvent[] }
    ).traceEvents.filter(({ ph }) => ph === 'X');
    expect(task!.args).not.toHaveProperty('parts_left_out');
    expect(parts.map(({ ts, args }) => [ts, args.bytes])).toEqual(
      Array.from({ length: 9 }, (_, i) => [i * 1e6, i + 1])
    );
  });

  it('says of a task how many of its parts it has not', () => {
    const { rows } = tasksOf({ limit: 1 });
    const [task] = slicesOf([{ ...rows[0]!, partsLeftOut: 5 }]);
    expect(task!.args.parts_left_out).toBe(5);
  });

  it('names the cell in which a task was written', () => {
    const one = runDetail(log, tasksOf({ limit: 1 }).rows[0]!.run)!;
    const cell = { title: '# fit', execution: 7 };
    const [inCell, inNone] = slicesOf([
      { ...one, cell, parts: [] },
      { ...one, start: one.start + one.duration, parts: [] }
    ]);
    expect(inCell!.args.cell).toBe('# fit [7]');
    expect(inNone!.args).not.toHaveProperty('cell');
  });

  it('has slices that lie in each other or side by side, as readers add up', () => {
    const one = runDetail(log, tasksOf({ limit: 1 }).rows[0]!.run)!;
    const [part] = tasksOf({ limit: 500 }).rows.find(
      ({ function: name }) => name === 'fit'
    )!.parts;
    /** A whole number of nanoseconds; doubles are drawn near their borders too often. */
    const seconds = (most: number) =>
      fc.integer({ min: 0, max: most }).map(ns => ns / 1e9);
    const anyLength = fc.oneof(seconds(5e3), seconds(1e8), seconds(9e11));
    fc.assert(
      fc.property(
        seconds(1e15),
        fc.array(
          fc.record({
            gap: fc.oneof(fc.constant(0), anyLength),
            duration: anyLength,
            // Shares of the task; they are rounded, and together may be more.
            parts: fc.array(fc.double({ min: 0, max: 0.3, noNaN: true }), {
              maxLength: 4
            }),
            /** Tasks that ran within it, in the place of its parts. */
            within: fc.oneof(
              fc.constant<number[]>([]),
              fc.array(fc.double({ min: 0, max: 1 / 3, noNaN: true }), {
                maxLength: 3
              })
            )
          }),
          { maxLength: 12 }
        ),
        (begin, drawn) => {
          let now = begin;
          const runs = drawn.flatMap(({ gap, duration, parts, within }, at) => {
            const start = (now += gap);
            now += duration;
            let share = 0;
            const outer = {
              ...one,
              key: `${at}`,
              start,
              // As a log has it.
              duration: Math.fround(duration),
              parts: (within.length > 0 ? [] : parts).map(each => {
                const offset = Math.fround(share * duration);
                share += each;
                return {
                  ...part!,
                  offset,
                  duration: Math.fround(each * duration)
                };
              })
            };
            const inner = within.map((each, place) => {
              const begun = start + share * duration;
              share += each;
              return {
                ...outer,
                key: `${at} ${place}`,
                start: begun,
                duration: Math.fround(each * duration)
              };
            });
            return [outer, ...inner];
          });
          const slices = slicesOf(runs);
          const open: { readonly cat?: string; readonly end: number }[] = [];
          for (const { cat, ts, dur } of slices.sort(
            (a, b) => a.ts - b.ts || b.dur - a.dur
          )) {
            const end = ts + dur;
            expect(end).toBeGreaterThan(ts);
            while (open.length > 0 && open.at(-1)!.end <= ts) {
              open.pop();
            }
            expect(end).toBeLessThanOrEqual(open.at(-1)?.end ?? Infinity);
            // Parts lie in tasks, and tasks in one at most.
            const around = open.map(each => each.cat);
            expect(around).toEqual(
              cat === 'task' ? around.slice(0, 1) : ['task']
            );
            open.push({ cat, end });
          }
          const tasks = slices.filter(({ cat }) => cat === 'task');
          expect(tasks).toHaveLength(runs.length);
          tasks.forEach(({ ts, dur, args }) => {
            const { start, duration } = runs.find(
              ({ key }) => key === args.key
            )!;
            const most = runs.length + duration * 1e6 * 2 ** -23;
            expect(Math.abs(ts - start * 1e6)).toBeLessThanOrEqual(most);
            expect(Math.abs(dur - duration * 1e6)).toBeLessThanOrEqual(most);
          });
        }
      )
    );
  });

  it('counts among the parts that a task has not those of no microsecond', () => {
    const one = runDetail(log, tasksOf({ limit: 1 }).rows[0]!.run)!;
    const part = { ...one.parts[0]!, held: true, kind: 'transfer' as const };
    const slices = slicesOf([
      {
        ...one,
        start: 1,
        duration: 4,
        parts: [
          { ...part, offset: 0, duration: 3e-7 },
          { ...part, offset: 1, duration: 2 }
        ]
      }
    ]);
    expect(slices.map(({ ts, dur }) => [ts, dur])).toEqual([
      [1e6, 4e6],
      [2e6, 2e6]
    ]);
    expect(slices[0]!.args.parts_left_out).toBe(1);
  });

  it('has a task that others ran within end when the next begins', () => {
    const one = runDetail(log, tasksOf({ limit: 1 }).rows[0]!.run)!;
    const [outer, inner, next] = slicesOf([
      { ...one, run: 1, start: 1, duration: 4.000_000_6, parts: [] },
      { ...one, run: 2, start: 2, duration: 1, parts: [] },
      { ...one, run: 3, start: 5, duration: 1, parts: [] }
    ]);
    expect(outer!.ts + outer!.dur).toBe(next!.ts);
    expect([inner!.ts, inner!.dur]).toEqual([2e6, 1e6]);
  });

  it('draws no task in the one before it for a difference of rounding', () => {
    const one = runDetail(log, tasksOf({ limit: 1 }).rows[0]!.run)!;
    const [first, second] = slicesOf([
      { ...one, run: 1, start: 1, duration: 4.000_000_3, parts: [] },
      { ...one, run: 2, start: 5, duration: 1, parts: [] }
    ]);
    expect(first!.ts + first!.dur).toBe(second!.ts);
  });

  it('is not made of more tasks than viewers open, and says what to do', async () => {
    await choose('Export trace for Perfetto or Chrome');
    await answerTasks({ total: 1_250_000 });
    await waitFor('an error', () => errors.length > 0);
    expect(errors[0]!.replaceAll('\u00a0', ' ')).toBe(
      'Nothing was exported: the selection has 1.25 M task runs, and a file 50,000 at most. Choose less of the time (Shift-drag) or filter, and export that.'
    );
    expect(saved).toEqual([]);
  });
});

it('is no error where the user gives it up', async () => {
  const update = jest.spyOn(Notification, 'update').mockReturnValue(true);
  const dismiss = jest.spyOn(Notification, 'dismiss').mockReturnValue();
  const emit = jest
    .spyOn(Notification, 'emit')
    .mockImplementation((_text, _kind, options) => {
      options!.actions![0]!.callback(new MouseEvent('click'));
      return 'notice';
    });
  await choose('Export task runs as CSV');
  await answerTasks({ total: 3000, next: [1, 0] });
  await waitFor('the end', () => dismiss.mock.calls.length > 0);
  await act(async () => Promise.resolve());
  expect(emit).toHaveBeenCalledTimes(1);
  expect([update.mock.calls.length, errors, saved]).toEqual([0, [], []]);
});

it('the table of tasks has those of the selection, with their cells', async () => {
  const inCell = drawRuns(
    `
    0/0  aaaa
    1/0  .e
    `,
    {
      tasks: {
        a: { function: 'load', span: 'x' },
        e: { function: 'load' }
      }
    }
  );
  jest
    .spyOn(inCell.spans, 'cellOf')
    .mockImplementation(span =>
      span === DEFAULT_SPAN
        ? undefined
        : ({ tag: '# load', cellRun: { execution: 3 }, joined: 0 } as Span)
    );
  const { context } = panel as unknown as {
    context: { selection: { setFilter(filter: Filter): void } };
  };
  await act(async () => {
    context.selection.setFilter({ functions: ['load'] });
    feed.running[0]!.answer(
      ask(log, 'task-stream', {
        filter: { functions: ['load'] },
        ended: true
      })
    );
  });
  await choose('Export task runs as CSV');
  await answerTasks({}, inCell);
  await waitFor('a file', () => saved.length > 0);
  expect(saved[0]!.name).toBe('task-stream first-look task runs.csv');
  const lines = saved[0]!.text.split('\r\n');
  expect(lines[0]).toBe(
    'key,function,fused_from,span,cell,worker,thread,status,start_seconds,duration_seconds,cpu_seconds,waited_seconds,size_bytes,error'
  );
  expect(
    lines.slice(1).map(line => line.split(',').toSpliced(5).toSpliced(0, 1))
  ).toEqual([
    ['load', '', 'x', '# load [3]'],
    ['load', '', 'default', '']
  ]);
});

it('the table of tasks calls a fused one by what took most of it, and has what the others took', async () => {
  const compute = { kind: PartKind.Compute };
  const fused = drawRuns('0/0 aaaaaaaa', {
    tasks: {
      a: {
        function: 'getitem-overlap',
        parts: [
          { ...compute, offset: 0, duration: 1, function: 'getitem-overlap' },
          { ...compute, offset: 1, duration: 3, function: 'smooth' },
          { ...compute, offset: 4, duration: 4, function: 'smooth' }
        ]
      }
    }
  });
  await choose('Export task runs as CSV');
  await answerTasks({}, fused);
  await waitFor('a file', () => saved.length > 0);
  const [, row] = saved[0]!.text.split('\r\n');
  expect(row!.split(',').slice(1, 3)).toEqual([
    'smooth',
    'smooth 7.000000; getitem-overlap 1.000000'
  ]);
});

it('the table of tasks says how many were dropped while it was made, also on the page', async () => {
  const warning = jest.spyOn(Notification, 'warning').mockReturnValue('');
  await choose('Export task runs as CSV');
  await answerTasks({ lost: 1 });
  await waitFor('a file', () => saved.length > 0);
  const text =
    'Up to 1 task run of the selection is missing: it was dropped for want of room while this file was made.';
  const lines = saved[0]!.text.split('\r\n');
  expect(lines.at(-1)).toBe(text + ','.repeat(lines[0]!.split(',').length - 1));
  expect(warning.mock.calls.map(([said]) => said)).toEqual([text]);
});

it('the table of no task says what its figures are in', async () => {
  await act(async () => {
    selection.setFilter({ functions: ['none'] });
    feed.running[0]!.answer(
      ask(log, 'task-stream', { filter: { functions: ['none'] }, ended: true })
    );
  });
  await choose('Export task runs as CSV');
  await answerTasks();
  await waitFor('a file', () => saved.length > 0);
  expect(saved[0]!.text).toBe(
    'key,function,fused_from,span,cell,worker,thread,status,start_seconds,duration_seconds,cpu_seconds,waited_seconds,size_bytes,error'
  );
});

describe('all tasks of a selection', () => {
  /** As the panel asks. */
  const collected = async (of: LogStore, asked: Asked = {}) => {
    const pages: RecordsResult[] = [];
    let counts = 0;
    const { runs } = await allTasks(
      page => {
        const params = { ...page, detailed: true };
        pages.push(ask(of, 'records', { ...asked, params }));
        return Promise.resolve(pages.at(-1)!);
      },
      () => {
        counts += 1;
        const { total } = ask(of, 'tasks', { ...asked, params: { limit: 1 } });
        return Promise.resolve(total);
      },
      () => undefined
    );
    return { found: [...runs], pages, counts };
  };
  const manyRuns = (first: number, count: number) =>
    rowsToBlock(
      first + 1,
      'runs',
      Array.from({ length: count }, (_, i) => ({
        run: first + i,
        node: first + i,
        start: first + i,
        duration: 1
      }))
    );

  /** Tasks alike; the first half of the parts of each are long. */
  const pageOf = (tasks: number, parts: number): RecordsResult => {
    const one = ask(log, 'records', { params: { detailed: true } });
    const column = <T>(value: T) => new Array<T>(tasks * parts).fill(value);
    return {
      ...one,
      next: null,
      run: Array.from({ length: tasks }, (_, i) => i),
      ...Object.fromEntries(
        'key function span lane status attempt start duration nbytes type'
          .split(' ')
          .map(name => {
            const [first] = one[name as 'key'];
            return [name, new Array(tasks).fill(first)];
          })
      ),
      errors: [],
      parts: new Array<number>(tasks).fill(parts),
      partFrom: column(null),
      partHeld: column(1),
      partKind: column(0),
      partFunction: column(0),
      partSpan: column(0),
      partOffset: Array.from({ length: tasks * parts }, (_, i) => i % parts),
      partDuration: Array.from({ length: tasks * parts }, (_, i) =>
        i % parts < parts / 2 ? 2 : 1
      ),
      partBytes: column(null)
    };
  };

  it.each(DRAWN_SELECTIONS.map(each => [JSON.stringify(each.filter), each]))(
    'are what the table and the card of a task tell of them (%s)',
    async (_, { filter }) => {
      for (const time of ['all', { from: 2, to: 5 }] as const) {
        const drawn = takenIn(drawCluster(1));
        const asked = { filter, time };
        const { rows } = ask(drawn, 'tasks', {
          ...asked,
          params: { limit: 500 }
        });
        const { found } = await collected(drawn, asked);
        const byRun = (a: RunDetail, b: RunDetail) => a.run - b.run;
        expect(found.sort(byRun)).toEqual(
          rows
            .map(({ partsLeftOut: __, laneIndex: ___, ...short }) => ({
              ...short,
              parts: runDetail(drawn, drawn.runRows.get(short.run))!.parts.map(
                part => ({ ...part, cpu: null })
              )
            }))
            .sort(byRun)
        );
      }
    }
  );

  it('are each there once, although tasks end while they are read', async () => {
    const growing = new LogStore('growing');
    ingestBlock(growing, manyRuns(0, 9000));
    let late = 9000;
    const { runs: found } = await allTasks(
      page => {
        const params = { ...page, detailed: true };
        const answer = ask(growing, 'records', { params });
        // They end now.
        ingestBlock(growing, manyRuns(late, 100));
        late += 100;
        return Promise.resolve(answer);
      },
      () => Promise.resolve(9000),
      () => undefined
    );
    expect(late).toBeGreaterThan(9100);
    expect(found.map(({ run }) => run)).toEqual(
      Array.from({ length: 9000 }, (_, run) => run)
    );
  });

  it('say how many are here, page by page', async () => {
    const shares: number[] = [];
    const pages = [
      { ...pageOf(2, 1), next: [2, 0] as const },
      { ...pageOf(3, 1), next: [5, 0] as const },
      // More than were counted.
      { ...pageOf(4, 1), next: [9, 0] as const },
      pageOf(1, 1)
    ];
    await allTasks(
      () => Promise.resolve(pages.shift()!),
      () => Promise.resolve(8),
      share => shares.push(share)
    );
    expect(shares).toEqual([2 / 8, 5 / 8, 1, 1]);
  });

  it('have of an error the last line, and 200 characters of that', async () => {
    const said = `ValueError: ${'x'.repeat(300)}`;
    const errors = [[0, `Traceback\n  in fit\n${said}\n`]] as const;
    const { runs } = await allTasks(
      () => Promise.resolve({ ...pageOf(2, 1), errors }),
      () => Promise.resolve(2),
      () => undefined
    );
    expect(runs.map(({ error }) => error)).toEqual([
      said.slice(0, 200),
      undefined
    ]);
  });

  it('go through the log once, and are counted once', async () => {
    const long = new LogStore('long');
    ingestBlock(long, manyRuns(0, MOST_TASKS));
    const { found, pages, counts } = await collected(long);
    expect(found).toHaveLength(MOST_TASKS);
    expect(counts).toBe(1);
    let from = 0;
    for (const { next, end, run } of pages) {
      // A page begins where the one before it ended.
      expect(run[0]).toBe(from);
      from = next?.[0] ?? end;
      expect(run.at(-1)).toBe(from - 1);
    }
    expect(from).toBe(MOST_TASKS);
    expect(pages.length).toBeLessThan(30);
    for (const result of pages) {
      const body = new FrameEncoder('panel', 'down').encodeBody('snapshot', {
        ...{ id: 1, seq: 1, logId: 'long', logSeq: 1 },
        honoured: {},
        result: result as never
      });
      expect(body.length).toBeLessThan(2 ** 20);
    }
  });

  it('are said to be fewer where the oldest are dropped between pages', async () => {
    const long = new LogStore('long', { runs: CHUNK_ROWS });
    const most = 30_000;
    ingestBlock(long, manyRuns(0, CHUNK_ROWS));
    let next = 0;
    const { runs, lost } = await allTasks(
      page => {
        if (page.after !== undefined) {
          next ||= page.after[0]!;
          // The first chunk goes.
          ingestBlock(long, manyRuns(CHUNK_ROWS, CHUNK_ROWS));
        }
        const params = { ...page, detailed: true };
        const time = { from: 0, to: most - 0.5 };
        return Promise.resolve(ask(long, 'records', { params, time }));
      },
      () => Promise.resolve(most),
      () => undefined
    );
    expect(next).toBeGreaterThan(0);
    expect(next).toBeLessThan(most);
    expect(runs).toHaveLength(next);
    // Which of those that are gone were of the selection nobody knows.
    expect(lost).toBe(CHUNK_ROWS - next);
  });

  it('do not have one of whose parts some are dropped between pages', async () => {
    const [first, second] = [pageOf(2, 3), pageOf(1, 3)];
    const { runs, lost } = await allTasks(
      ({ after }) =>
        Promise.resolve(
          after === undefined
            ? { ...first, next: [1, 3], end: 9 }
            : { ...second, run: [7], lost: 6 }
        ),
      () => Promise.resolve(9),
      () => undefined
    );
    expect(runs.map(({ run }) => run)).toEqual([0, 7]);
    expect(lost).toBe(6);
  });

  it('are not read beyond what a file holds', async () => {
    const asked: unknown[] = [];
    const reading = allTasks(
      page => {
        asked.push(page);
        return Promise.resolve(ask(log, 'records'));
      },
      () => Promise.resolve(MOST_TASKS + 1),
      () => undefined
    );
    await expect(reading).rejects.toBeInstanceOf(TooManyTasks);
    expect(asked).toEqual([]);
  });

  it('are too many if more have ended since they were counted, whatever parts they have', async () => {
    const reading = allTasks(
      () => Promise.resolve(pageOf(MOST_TASKS + 10, 4)),
      () => Promise.resolve(MOST_TASKS),
      () => undefined
    );
    await expect(reading).rejects.toBeInstanceOf(TooManyTasks);
  });

  it('have of more parts than a file holds the longest, and say how many they have not', async () => {
    const parts = 2500;
    const page = pageOf(100, parts);
    const { runs: found } = await allTasks(
      () => Promise.resolve(page),
      () => Promise.resolve(100),
      () => undefined
    );
    expect(found).toHaveLength(100);
    for (const task of found) {
      expect(task.partsLeftOut).toBe(parts / 2);
      expect(task.parts.map(({ offset }) => offset)).toEqual(
        Array.from({ length: parts / 2 }, (_, i) => i)
      );
    }
  });
});
