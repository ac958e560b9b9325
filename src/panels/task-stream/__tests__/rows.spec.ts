import { firstLook } from '../../../testing/panel-harness/drawn-run';
import {
  detailOf,
  taskStreamOf
} from '../../../testing/panel-harness/drawn-answers';
import {
  bandRows,
  cardOf,
  fusedWith,
  type HoveredBox,
  legendItems,
  partRows,
  stripBars,
  summaryText,
  taskColumns,
  taskRow,
  workerHeaders
} from '../rows';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const run = firstLook();
const result = taskStreamOf(run, true);
const box: HoveredBox = {
  run: 3,
  function: 'fit_fold',
  kind: 'compute',
  inStrip: false,
  tasks: 1,
  from: 21.31,
  to: 22.01,
  worker: 'worker 2',
  thread: 1,
  running: false
};
const detail = {
  ...detailOf(run, 0)!,
  function: 'fit_fold',
  start: 21.31,
  duration: 0.7,
  cpu: 0.652
};

describe('rows of the task stream', () => {
  it('says of each worker how busy it is', () => {
    expect(workerHeaders(result).map(header => plain(header.text))[0]).toBe(
      '2 threads · busy 89 % · 2.40 GiB of 4.00 GiB'
    );
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
    expect(rows.map(row => [row.tag, row.level])).toEqual([
      ['a', 0],
      ['b', 1],
      ['a', 0]
    ]);
    expect(rows[0]?.tint).toBe(rows[2]?.tint);
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

  it('counts what runs now as busy', () => {
    const text = (running: typeof result.running) =>
      plain(
        workerHeaders({
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
        })[0]?.text ?? ''
      );
    const task = { key: 'k', function: 'f', span: 0 };
    expect(text([])).toMatch(/busy 0 %/);
    // One of two threads since 10 s, of 20 s.
    expect(text([{ ...task, lane: 0, started: 10 }])).toMatch(/busy 25 %/);
  });

  it('lists functions by time, then the kinds that occurred', () => {
    const items = legendItems(result, 'function');
    expect(items.filter(item => item.kind === 'function')).toHaveLength(12);
    expect(items.slice(12).map(item => item.name)).toEqual([
      'transfer',
      'disk',
      '(de)serialise',
      'failed'
    ]);
    const seconds = items.flatMap(item =>
      item.kind === 'function' ? [item.seconds] : []
    );
    expect(seconds).toEqual([...seconds].sort((a, b) => b - a));
    expect(legendItems(result, 'kind')[0]?.name).toBe('compute');
  });

  it('never draws more in a bar than all threads', () => {
    for (const bar of stripBars(result)) {
      expect(bar.compute + bar.disk + bar.transfer).toBeLessThanOrEqual(
        1 + 1e-9
      );
    }
    expect(stripBars(result).filter(bar => bar.failed > 0)).toHaveLength(1);
  });

  it('says the picture in words', () => {
    expect(plain(summaryText(result))).toMatch(
      /^\d+ tasks on 4 workers with 8 threads in 29\.6 s\. 8 running\. 1 failed\. Most time: fit_fold/
    );
  });
});

describe('the hover card', () => {
  const lines = (card: ReturnType<typeof cardOf>) =>
    card.rows.map(row => plain(`${row.label}: ${row.text}`));

  it('shows at once what the box tells', () => {
    const card = cardOf(box, null);
    expect(card.title).toBe('fit_fold');
    expect(lines(card)).toEqual([
      'where: worker 2, thread 2',
      'ran: 21.310 s – 22.010 s',
      'duration: 700 ms'
    ]);
  });

  it('adds what the observer knows of the run', () => {
    const card = cardOf(
      { ...box, kind: 'failed' },
      {
        ...detail,
        status: 'failed',
        attempt: 1,
        nbytes: null,
        error: 'ValueError: no'
      }
    );
    expect(card.aside).toBe('failed, attempt 1');
    expect(card.error).toBe('ValueError: no');
    expect(lines(card)).toContain('duration: 700 ms, CPU 652 ms');
    expect(lines(card)).toContain(
      'waited: queue 38.0 ms, inputs 12.4 ms, thread 0 s'
    );
    expect(lines(card)).not.toContain('size: –');
  });

  it('tells a transfer by what it was for, and that it cost no time behind work', () => {
    const card = cardOf({ ...box, kind: 'transfer', inStrip: true }, detail);
    expect(card.title).toBe('transfer for fit_fold');
    expect(card.aside).toBe('behind other work');
  });

  it('names both, the part under the pointer and the fused task it is in', () => {
    const part = { kind: 'compute', held: true, cpu: null, bytes: null };
    const fused = {
      ...detail,
      parts: [
        { ...part, function: 'matmul', span: [], offset: 0, duration: 0.5 },
        {
          ...part,
          function: detail.function,
          span: [],
          offset: 0.5,
          duration: 0.2
        }
      ]
    };
    expect(fusedWith(fused)).toEqual(['matmul']);
    expect(fusedWith({ ...fused, parts: [] })).toEqual([]);
    const over = { ...box, function: 'matmul', to: box.from + 0.5 };
    const card = cardOf(over, fused);
    expect(card.title).toBe('matmul, in fit_fold');
    expect(lines(card)).toContain('duration: 500 ms');
    expect(lines(card)).toContain('fused task: 700 ms');
    // Of the task's own function only a part is drawn under a filter; without one, the box is the whole task.
    const own = { ...box, from: box.from + 0.5 };
    const alone = cardOf({ ...own, isExecution: true }, fused);
    expect(alone.title).toBe('fit_fold');
    expect(lines(alone)).toContain('duration: 200 ms');
    expect(lines(cardOf(box, fused))).toContain('ran: 21.310 s – 22.010 s');
    expect(
      plain(
        cardOf({ ...box, run: null, tasks: 12, isExecution: true }, null).title
      )
    ).toBe('12 executions');
  });

  it('counts the tasks of an aggregate and says no duration of one', () => {
    const card = cardOf({ ...box, run: null, tasks: 1200 }, null);
    expect(plain(card.title)).toBe('1,200 tasks');
    expect(card.aside).toBe('mostly fit_fold');
    expect(card.rows.map(row => row.label)).toEqual(['where', 'between']);
  });
});

describe('the table and the details', () => {
  it('has a cell for each column', () => {
    expect(taskRow(detail)).toHaveLength(taskColumns.length);
    expect(
      taskRow({
        ...detail,
        waitReady: null,
        waitInputs: null,
        waitThread: null
      })[9]
    ).toEqual({ text: '–', value: null });
  });

  it('fills the parts that held the thread up to the duration', () => {
    const part = {
      kind: 'transfer',
      held: true,
      function: 'f',
      span: [],
      offset: 0,
      duration: 0.2,
      cpu: null,
      bytes: 5
    };
    const rows = partRows({
      ...detail,
      duration: 1,
      parts: [
        part,
        { ...part, kind: 'compute', duration: 0.6 },
        { ...part, held: false, duration: 3 }
      ]
    });
    expect(rows.map(row => [row.kind, row.held])).toEqual([
      ['transfer', true],
      ['compute', true],
      ['other', true],
      ['transfer', false]
    ]);
    expect(rows.map(row => row.label)).toEqual([
      'transfer',
      'f',
      'other',
      'transfer'
    ]);
    const held = rows
      .filter(row => row.held)
      .reduce((sum, row) => sum + row.seconds, 0);
    expect(held).toBeCloseTo(1, 12);
    expect(
      partRows({ ...detail, duration: 1, parts: [] }).map(row => row.seconds)
    ).toEqual([1]);
  });
});
