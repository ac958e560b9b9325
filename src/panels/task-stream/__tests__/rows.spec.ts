import fc from 'fast-check';
import { ask } from '../../../observer/__tests__/ask';
import { runDetail } from '../../../observer/folds/run-detail';
import {
  BoxKind,
  membersOf,
  PartKind,
  RunStatus
} from '../../../records/enumerations';
import { idOf } from '../../../testing/ids';
import {
  drawnStore,
  waitShares
} from '../../../testing/panel-harness/drawn-log';
import {
  bracketing,
  english,
  untranslated
} from '../../../testing/translators';
import type { TaskStreamResult } from '../../../wire/panel-link';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { drawRuns, type DrawnTask } from '../../../testing/run-from-text';
import { formatBytes, formatDuration, formatInstant } from '../../format';
import {
  placedBands,
  BOX_KINDS,
  cardHint,
  cardOf,
  fusedWith,
  type HoveredBox,
  foldedText,
  leftOutText,
  legendItems,
  partRows,
  stripBars,
  liveText,
  summaryText,
  taskColumns,
  taskRow,
  workerHeaders
} from '../rows';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const bandRows = (of: TaskStreamResult) => placedBands(of).rows;
const run = firstLook();
const now = run.end + 0.9;
const log = drawnStore(run, { live: true });
const result = ask(log, 'task-stream', { now });
const heldSeconds = (boxes: typeof run.boxes) =>
  boxes.reduce((sum, { from, to, strip }) => sum + (strip ? 0 : to - from), 0);
/** What the observer says of a run, and what was drawn of it. */
const observed = (id: number) => {
  const boxes = run.boxes.filter(each => each.run === id);
  const held = boxes.filter(({ strip }) => !strip);
  const start = Math.min(...held.map(({ from }) => from));
  const before = run.boxes
    .filter(each => each.lane === boxes[0]!.lane && each.to <= start)
    .filter(({ strip, run: other }) => !strip && other !== id)
    .map(({ to }) => to);
  return {
    detail: runDetail(log, log.runRows.get(id))!,
    boxes,
    start,
    stop: Math.max(...held.map(({ to }) => to)),
    gap: start - Math.max(0, ...before)
  };
};
const failed = observed(
  run.boxes.find(({ kind }) => kind === BoxKind.Failed)!.run
);
const main = failed.boxes.find(({ kind }) => kind === BoxKind.Failed)!;
const box: HoveredBox = {
  run: main.run,
  function: 'fit_fold',
  kind: 'failed',
  inStrip: false,
  tasks: 1,
  from: main.from,
  to: main.to,
  worker: 'worker 2',
  thread: 1,
  running: false
};
/** The only run of a drawing whose columns are 0.1 s wide. */
const drawnDetail = (letters: string, task: DrawnTask) =>
  runDetail(
    drawRuns(`0/0 ${letters}`, {
      secondsPerColumn: 0.1,
      tasks: { [letters[0]!]: task }
    }),
    0
  )!;
/** A run that is not divided into inner tasks, and gave a result. */
const { detail } = observed(
  run.boxes.find(({ function: name }) => name === 'score_fold')!.run
);

describe('rows of the task stream', () => {
  it('says of each worker how busy it is', () => {
    const busy = [0, 1, 2, 3].map(worker => {
      const lanes = [2 * worker, 2 * worker + 1];
      const running = lanes.map(lane => now - (run.end + 0.02 * lane));
      const done = heldSeconds(
        run.boxes.filter(({ lane }) => lanes.includes(lane))
      );
      return Math.round(((done + running[0]! + running[1]!) / (2 * now)) * 100);
    });
    expect(new Set(busy).size).toBeGreaterThan(2);
    expect(
      workerHeaders(result, english).map(
        ({ name, text }) => `${name}: ${plain(text)}`
      )
    ).toEqual([
      `worker 0: 2 threads · busy ${busy[0]} % · 1.38 GiB of 4.00 GiB`,
      `worker 1: 2 threads · busy ${busy[1]} % · 1.48 GiB of 4.00 GiB`,
      `worker 2: 2 threads · busy ${busy[2]} % · 1.58 GiB of 4.00 GiB`,
      `worker 3: 2 threads · busy ${busy[3]} % · 1.68 GiB of 4.00 GiB`
    ]);
  });

  it('puts spans into rows by depth, with a tint by first appearance', () => {
    const rows = bandRows(result);
    expect(rows.map(row => `${row.level} ${row.tag}`)).toEqual([
      '0 Alice’s workflow',
      '1 data load',
      '1 ML preprocessing',
      '1 Model training',
      '2 clean',
      '2 features'
    ]);
    const level1 = rows.filter(row => row.level === 1).map(row => row.tint);
    expect(new Set(level1).size).toBe(3);
  });

  it('moves a band that overlaps another one of its depth to the next row', () => {
    const band = (tag: string, from: number, to: number) => ({
      span: from,
      tag,
      depth: 0,
      from,
      to
    });
    const rows = bandRows({
      ...result,
      bands: [band('a', 0, 5), band('b', 3, 8), band('a', 8, 9)]
    });
    expect(rows.map(row => [row.tag, row.client, row.level])).toEqual([
      ['a', '', 0],
      ['b', '', 1],
      ['a', '', 0]
    ]);
    expect(rows[0]?.tint).toBe(rows[2]?.tint);
  });

  it('are said to be the longest where others have none', () => {
    expect(leftOutText(result, false, english)).toBe('');
    const cut = { ...result, bandsLeftOut: 1200 };
    const text = `The ${result.bands.length} longest spans are drawn, 1,200 shorter ones are not. Choose a range of time (Shift-drag) or filter, and those in it are drawn first.`;
    expect(plain(leftOutText(cut, false, english))).toBe(text);
    // A screen reader has no pointer to hold over the word.
    expect(plain(summaryText(cut, english, false))).toContain(text);
  });

  it('are said to be those of the chosen range first', () => {
    expect(leftOutText(result, true, english)).toBe('');
    const cut = { ...result, bandsLeftOut: 1 };
    const text = `${result.bands.length} spans are drawn: first those in the chosen range of time, of these and of the others the longest. 1 is not. Choose a shorter range (Shift-drag) or filter to see others.`;
    expect(plain(leftOutText(cut, true, english))).toBe(text);
    expect(plain(summaryText(cut, english, false, true))).toContain(text);
  });

  it('joins spans of one name that overlap or touch', () => {
    const band = (tag: string, depth: number, from: number, to: number) => ({
      span: from,
      tag,
      depth,
      from,
      to
    });
    const rows = bandRows({
      ...result,
      bands: [
        band('a', 0, 0, 5),
        band('a', 0, 4, 8),
        band('x', 1, 0, 5),
        band('y', 1, 5, 8)
      ]
    });
    expect(rows.map(row => [row.tag, row.level, row.from, row.to])).toEqual([
      ['a', 0, 0, 8],
      ['x', 1, 0, 5],
      ['y', 1, 5, 8]
    ]);
  });

  it('has a row for each span that finds one free, from that of its depth on', () => {
    const anyBand = fc.record({
      depth: fc.integer({ min: 0, max: 3 }),
      from: fc.integer({ min: 0, max: 30 }),
      length: fc.integer({ min: 1, max: 12 })
    });
    fc.assert(
      fc.property(
        fc.array(anyBand, { maxLength: 20 }),
        fc.integer({ min: 1, max: 6 }),
        (drawn, levels) => {
          const bands = drawn.map(({ depth, from, length }, span) => ({
            span,
            tag: `span ${span}`,
            depth,
            from,
            to: from + length
          }));
          const { rows, without } = placedBands({ ...result, bands }, levels);
          expect([...rows.map(({ tag }) => tag), ...without].sort()).toEqual(
            bands.map(({ tag }) => tag).sort()
          );
          const isTaken = (level: number, from: number, to: number) =>
            rows.some(
              row => row.level === level && row.from < to && row.to > from
            );
          for (const [at, row] of rows.entries()) {
            expect(row.level).toBeGreaterThanOrEqual(bands[row.span]!.depth);
            const others = rows.filter((_, other) => other !== at);
            expect(
              others.some(
                other =>
                  other.level === row.level &&
                  other.from < row.to &&
                  other.to > row.from
              )
            ).toBe(false);
          }
          for (const { depth, from, to } of bands.filter(({ tag }) =>
            without.includes(tag)
          )) {
            for (let level = depth; level < levels; level++) {
              expect(isTaken(level, from, to)).toBe(true);
            }
          }
        }
      ),
      { numRuns: 200 }
    );
  });

  it('counts what runs now as busy', () => {
    const text = (running: typeof result.running) =>
      plain(
        workerHeaders(
          {
            ...result,
            from: 0,
            to: 10,
            now: 20,
            running,
            workers: result.workers.map(worker => ({
              ...worker,
              busy: 0,
              capacity: 40
            }))
          },
          english
        )[0]?.text ?? ''
      );
    const task = { key: 'k', function: 'f', span: 0 };
    expect(text([])).toMatch(/busy 0 %/);
    // One of two threads since 10 s, of 20 s.
    expect(text([{ ...task, laneIndex: idOf(0), started: 10 }])).toMatch(
      /busy 25 %/
    );
  });

  it('names each way in which a run that is drawn ended, but well', () => {
    const words = membersOf(RunStatus).map(([word]) => word);
    // (no run is told with the last one)
    for (const word of words.filter(
      each => each !== 'ok' && each !== 'rescheduled'
    )) {
      const status = words.indexOf(word);
      const log = drawRuns('0/0 aabb', { tasks: { b: { status } } });
      for (const by of ['function', 'kind'] as const) {
        const named = legendItems(ask(log, 'task-stream'), by, english);
        expect(named.map(({ name }) => name)).toContain(`${word} runs`);
      }
    }
  });

  it('lists functions by time, then the kinds that occurred', () => {
    const items = legendItems(result, 'function', english);
    const largest = ['fit_fold', 'read-parquet', 'rechunk-merge'];
    expect(
      items.slice(0, 3).map(item => [item.name, item.text, item.title])
    ).toEqual(
      largest.map(name => {
        const boxes = run.boxes.filter(each => each.function === name);
        const runs = new Set(boxes.map(each => each.run)).size;
        return [
          name,
          formatDuration(heldSeconds(boxes)),
          `${runs}\u00a0executions`
        ];
      })
    );
    expect(items.filter(item => item.kind === 'function')).toHaveLength(12);
    expect(items.slice(12).map(item => item.name)).toEqual([
      'transfer',
      'disk',
      '(de)serialise',
      'failed runs'
    ]);
    const parts = (kind: BoxKind) =>
      run.boxes.filter(each => each.kind === kind).length;
    expect(items.slice(12, 15).map(item => plain(item.title))).toEqual([
      `${parts(BoxKind.Transfer)} parts`,
      `${parts(BoxKind.Disk)} parts`,
      `${parts(BoxKind.Serialize)} parts`
    ]);
    const seconds = items.flatMap(item =>
      item.kind === 'function' ? [item.seconds] : []
    );
    expect(seconds).toEqual([...seconds].sort((a, b) => b - a));
    expect(legendItems(result, 'kind', english)[0]?.name).toBe('compute');
    expect([1, 2].map(count => foldedText(count, english))).toEqual([
      '1 other function',
      '2 other functions'
    ]);
  });

  it('never draws more in a bar than all threads', () => {
    for (const bar of stripBars(result)) {
      expect(bar.compute + bar.disk + bar.transfer).toBeLessThanOrEqual(
        1 + 1e-9
      );
    }
    const bars = stripBars(result);
    expect(bars.filter(bar => bar.failed > 0)).toHaveLength(1);
    const threadSeconds = (kind: 'disk' | 'transfer') =>
      bars.reduce((sum, bar) => sum + bar[kind], 0) * 8 * (run.end / 240);
    const drawn = (kind: BoxKind) =>
      heldSeconds(run.boxes.filter(each => each.kind === kind));
    expect(threadSeconds('disk')).toBeCloseTo(drawn(BoxKind.Disk), 0);
    expect(threadSeconds('transfer')).toBeCloseTo(drawn(BoxKind.Transfer), 0);
  });

  it('says the picture in words', () => {
    const runs = new Set(run.boxes.map(each => each.run)).size;
    expect(plain(summaryText(result, english, false))).toMatch(
      `${runs} task runs in 30.5 s. 4 workers. 8 threads. 8 running. 1 failed run. Most time: fit_fold`
    );
  });

  it('says what changes in words, one run as one', () => {
    expect(plain(liveText(result, english))).toMatch(
      /^\d+ task runs, 8 running, 1 failed run$/
    );
    expect(plain(liveText({ ...result, tasks: 1 }, english))).toMatch(
      /^1 task run, /
    );
  });
});

describe('the hover card', () => {
  const lines = (card: ReturnType<typeof cardOf>) =>
    card.rows.map(row => plain(`${row.label}: ${row.text}`));

  it('shows at once what the box tells', () => {
    const card = cardOf({ ...box, from: 21.31, to: 22.01 }, null, english);
    expect(card.title).toBe('fit_fold');
    expect(lines(card)).toEqual([
      'where: worker 2, thread 2',
      'ran: 21.310 s – 22.010 s',
      'duration: 700 ms'
    ]);
  });

  it('adds what the observer knows of the run', () => {
    const { start, stop, gap } = failed;
    const wait = waitShares(box.run!).map(share => formatDuration(gap * share));
    expect(new Set(wait).size).toBe(3);
    const card = cardOf(box, failed.detail, english);
    expect(card.title).toBe('fit_fold');
    expect(card.aside).toBe('failed, attempt 1');
    expect(card.key).toBe(`fit_fold-70a926-${box.run}`);
    expect(card.error).toMatch(
      /^Traceback [^]*\nValueError: Input X contains NaN\.\n$/
    );
    expect(lines(card)).toEqual(
      [
        'span: Alice’s workflow › Model training',
        'where: worker 2, thread 2',
        `ran: ${formatInstant(start)} – ${formatInstant(stop)}`,
        `duration: ${formatDuration(stop - start)}, CPU ${formatDuration(0.7 * 0.86)}`,
        `waited: queue ${wait[0]}, inputs ${wait[1]}, thread ${wait[2]}`
      ].map(plain)
    );
  });

  it('counts attempts and says the size of a result', () => {
    const next = run.boxes.find(
      ({ lane, from, strip }) => lane === main.lane && from > main.to && !strip
    )!;
    const again = observed(next.run);
    const card = cardOf(
      { ...box, run: next.run, from: next.from, to: next.to, kind: 'compute' },
      again.detail,
      english
    );
    expect(card.aside).toBe('attempt 2');
    expect(card.key).toBe(`fit_fold-70a926-${box.run}`);
    expect(lines(card).at(-1)).toBe(
      plain(`size: ${formatBytes((1 + (next.run % 7)) * 7.5 * 2 ** 20)}`)
    );
  });

  it('tells a transfer by what it was for, and that it cost no time behind work', () => {
    const card = cardOf(
      { ...box, kind: 'transfer', inStrip: true },
      detail,
      english
    );
    expect(card.title).toBe('transfer for fit_fold');
    expect(card.aside).toBe('in the background');
  });

  it('names both, the part under the pointer and the fused task it is in', () => {
    const fused = drawnDetail('f'.repeat(7), {
      function: 'fit_fold',
      parts: [
        {
          kind: PartKind.Compute,
          function: 'matmul',
          offset: 0,
          duration: 5
        },
        { kind: PartKind.Compute, offset: 5, duration: 2 }
      ]
    });
    const whole = { ...box, kind: 'compute' as const, from: 0, to: 0.7 };
    // It is called by what took most of it, whatever its key says.
    expect(fused.function).toBe('matmul');
    expect(fusedWith(fused)).toEqual(['fit_fold']);
    expect(fusedWith({ ...fused, fused: undefined, parts: [] })).toEqual([]);
    expect(taskRow(fused, english)[1]).toMatchObject({
      text: 'matmul with fit_fold',
      value: 'matmul'
    });
    const over = { ...whole, function: 'matmul', to: 0.5, tasks: 0 };
    const card = cardOf(over, fused, english);
    expect(card.title).toBe('matmul');
    expect(lines(card)).toContain('duration: 500 ms');
    expect(lines(card)).toContain('fused task: 700 ms');
    // Of the task's own function only a part is drawn under a filter; without one, the box is the whole task.
    const own = { ...whole, from: 0.5 };
    const alone = cardOf({ ...own, isExecution: true }, fused, english);
    expect(alone.title).toBe('fit_fold, in matmul');
    expect(lines(alone)).toContain('duration: 200 ms');
    const all = cardOf(whole, fused, english);
    expect(all.title).toBe('matmul');
    expect(lines(all)).toContain('ran: 0.000 s – 0.700 s');
    expect(
      plain(
        cardOf(
          { ...whole, run: null, tasks: 12, isExecution: true },
          null,
          english
        ).title
      )
    ).toBe('12 executions');
  });

  it('says nothing that the translator has not seen', () => {
    const names = [...run.functions, ...run.spans.map(({ tag }) => tag)];
    const boxes: HoveredBox[] = BOX_KINDS.flatMap(kind => [
      { ...box, kind: kind! },
      { ...box, kind: kind!, inStrip: true },
      { ...box, kind: kind!, run: null, tasks: 2 },
      { ...box, kind: kind!, run: null, tasks: 7, isExecution: true }
    ]);
    boxes.push({ ...box, running: true, kind: 'compute' });
    expect(boxes.length).toBeGreaterThan(20);
    for (const each of boxes) {
      for (const told of [null, failed.detail, detail]) {
        const card = cardOf({ ...each, worker: 'worker-2' }, told, bracketing);
        const texts = [
          card.title,
          card.aside,
          cardHint(each, told, bracketing),
          ...card.rows.flatMap(({ label, text }) => [label, text])
        ];
        expect(texts.filter(text => untranslated(text, names) !== '')).toEqual(
          []
        );
      }
    }
  });

  it('counts the tasks of an aggregate and says no duration of one', () => {
    const card = cardOf({ ...box, run: null, tasks: 1200 }, null, english);
    expect(plain(card.title)).toBe('1,200 task runs');
    expect(card.aside).toBe('mostly fit_fold');
    expect(card.rows.map(row => row.label)).toEqual(['where', 'between']);
  });
});

describe('the table and the details', () => {
  const columns = taskColumns(english);

  it('leaves seen of a long key by what it differs from those of the same call', () => {
    const tailOf = (key: string) => {
      const {
        text,
        value,
        tail = 0
      } = taskRow({ ...failed.detail, key }, english)[0]!;
      expect([text, value]).toEqual([key, key]);
      return text.slice(text.length - tail);
    };
    const token = '93c81276f30d86adead6c2b20ffda2a7';
    expect(tailOf(`fetch-36f883a6-7fb5-409e-bd2c-35b46ced412d-4`)).toBe('-4');
    expect(tailOf(`('slow-${token}', 11, 0)`)).toBe("', 11, 0)");
    expect(tailOf(`fetch-${token}-120`)).toBe('-120');
    for (const key of [`fetch-${token}`, 'load-3', '']) {
      expect(tailOf(key)).toBe('');
    }
  });

  it('has a cell for each column, each with its own figure', () => {
    const cells = (run: typeof detail) =>
      Object.fromEntries(
        taskRow(run, english).map((cell, i) => [
          columns[i]!.name,
          plain(cell.text)
        ])
      );
    const { start, stop, gap } = failed;
    expect(taskRow(failed.detail, english)).toHaveLength(columns.length);
    expect(cells(failed.detail)).toEqual({
      Key: `fit_fold-70a926-${box.run}`,
      Function: 'fit_fold',
      Span: 'Alice’s workflow › Model training',
      Worker: 'worker 2',
      Thread: '2',
      Status: 'failed',
      Start: plain(formatInstant(start)),
      Duration: plain(formatDuration(stop - start)),
      CPU: '602 ms',
      Waited: plain(formatDuration(gap)),
      Size: '–',
      Error: expect.stringContaining('Input X contains NaN.')
    });
    const again = failed.detail.run;
    const retried = ask(log, 'tasks', {
      params: { sort: 'attempt', descending: true, limit: 1 }
    }).rows[0]!;
    expect(cells(retried)).toMatchObject({
      Key: `fit_fold-70a926-${again}`,
      Status: 'ok, attempt 2'
    });
    expect(
      taskRow(
        {
          ...detail,
          waitReady: null,
          waitInputs: null,
          waitThread: null
        },
        english
      )[9]
    ).toEqual({ text: '–', value: null, unit: 'seconds' });
  });

  it('can be sorted by each column by which it offers to', () => {
    const statuses = ['ok', 'failed', 'lost'];
    for (const [i, { name, sort }] of columns.entries()) {
      const { rows } = ask(log, 'tasks', { params: { sort, limit: 500 } });
      const values = rows.map(row => taskRow(row, english)[i]!.value);
      const groups =
        name === 'Key'
          ? values.map(value => String(value).replace(/-\d+$/, ''))
          : name === 'Status'
            ? values.map(value =>
                statuses.indexOf(String(value).split(',')[0]!)
              )
            : // "(inferred)" stands beside its span.
              values.map(value =>
                typeof value === 'string'
                  ? value.replace(' (inferred)', '')
                  : (value ?? -1)
              );
      expect(new Set(groups).size).toBeGreaterThan(1);
      expect([name, groups]).toEqual([
        name,
        [...groups].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
      ]);
    }
  });

  it('fills the parts that held the thread up to the duration', () => {
    const rows = partRows(
      drawnDetail('f'.repeat(10), {
        function: 'f',
        parts: [
          { kind: PartKind.Transfer, offset: 0, duration: 2, bytes: 5 },
          { kind: PartKind.Compute, offset: 2, duration: 6 },
          {
            kind: PartKind.Transfer,
            held: false,
            offset: -30,
            duration: 30,
            bytes: 7
          }
        ]
      }),
      english
    );
    expect(
      rows.map(({ kind, label, held, seconds, bytes }) => [
        kind,
        label,
        held,
        Math.round(seconds * 1e6) / 1e6,
        bytes
      ])
    ).toEqual([
      ['transfer', 'transfer', true, 0.2, 5],
      ['compute', 'f', true, 0.6, 0],
      ['other', 'rest of the task', true, 0.2, null],
      ['transfer', 'transfer', false, 3, 7]
    ]);
    expect(
      partRows({ ...detail, duration: 1, parts: [] }, english).map(
        row => row.seconds
      )
    ).toEqual([1]);
  });

  it('calls nothing computing of a run that was lost with its worker', () => {
    const lost = { ...detail, status: 'lost' as const, duration: 1, parts: [] };
    expect(
      partRows(lost, english).map(({ kind, label, seconds }) => [
        kind,
        label,
        seconds
      ])
    ).toEqual([['lost', 'lost', 1]]);
  });

  it('calls each kind of part by its word', () => {
    const kinds = membersOf(PartKind);
    const rows = partRows(
      drawnDetail('f'.repeat(10), {
        parts: kinds.map(([, kind], i) => ({
          kind,
          offset: i,
          duration: 10 / kinds.length
        }))
      }),
      english
    );
    expect(rows.map(({ kind, label }) => [kind, label])).toEqual([
      ['transfer', 'transfer'],
      ['disk', 'read from disk'],
      ['serialize', 'deserialise'],
      ['compute', 'inc'],
      ['serialize', 'serialise'],
      ['disk', 'write to disk'],
      ['import', 'importing modules']
    ]);
  });
});
