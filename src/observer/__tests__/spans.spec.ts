import { NONE_U32, RunStatus, TaskOrigin } from '../../records/enumerations';
import { idOf } from '../../testing/ids';
import type { SpanRow, SpansResult } from '../../wire/panel-link';
import { drawRuns } from '../../testing/run-from-text';
import { rowsToBlock } from '../../testing/rows-to-block';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { ask } from './ask';

describe('spans', () => {
  it('have their own figures and those of their subtree, parents first', () => {
    const log = drawRuns(
      `
      0/0  aabbb.
      0/1  cccc.d
    `,
      {
        tasks: {
          a: { span: 'x', cpu: 1 },
          b: { span: 'x/y' },
          c: { span: 'z', status: 1 },
          d: {}
        },
        spans: ['empty']
      }
    );
    const { rows, totalTasks, totalThreadSeconds } = ask(log, 'spans');
    expect(totalTasks).toBe(4);
    expect(totalThreadSeconds).toBe(10);
    expect(
      rows.map(({ path, tasks, threadSeconds, cpuSeconds, ownNanoseconds }) => [
        path.join('/'),
        tasks,
        threadSeconds,
        cpuSeconds,
        ownNanoseconds / 1e9
      ])
    ).toEqual([
      ['default', 1, 1, 1, 1],
      ['empty', 0, 0, 0, 0],
      ['x', 2, 5, 4, 2],
      ['x/y', 1, 3, 3, 3],
      // (it failed: what it did is not told apart)
      ['z', 1, 4, 0, 4]
    ]);
    expect(rows.find(({ tag }) => tag === 'z')).toMatchObject({
      failed: 1,
      firstStart: 0,
      lastStop: 4,
      exact: 1,
      parent: null
    });
  });

  it('count a task as failed that ended each worker that ran it', () => {
    const log = drawRuns(
      `
      0/0  aa.
      1/0  .b.
    `,
      {
        tasks: { a: { span: 'x', status: RunStatus.Lost }, b: { span: 'x/y' } }
      }
    );
    const { rows: before } = ask(log, 'spans');
    const { span } = before.find(({ tag }) => tag === 'x')!;
    const names = log.names.size + 1;
    ingestBlock(
      log,
      rowsToBlock(100, 'names', [
        { id: names, text: 'task-failed' },
        { id: names + 1, text: 'task-lost' }
      ])
    );
    const ofTask = { span, run: NONE_U32 };
    ingestBlock(
      log,
      rowsToBlock(101, 'events', [
        { ...ofTask, kind: names, text: '["a", "KilledWorker"]' },
        // Of what its failure took along.
        { ...ofTask, kind: names + 1, text: '["c", "its input failed"]' },
        // Of a run that says so itself.
        { ...ofTask, run: 0, kind: names, text: 'Traceback' }
      ])
    );
    const { rows } = ask(log, 'spans');
    expect(rows.map(({ tag, failed }) => [tag, failed])).toEqual([
      ['x', 1],
      ['y', 0]
    ]);
  });

  it('name whose each is, each notebook once and nobody who is not known', () => {
    const log = new LogStore('log');
    const described = { joined: 0, left: NaN };
    ingestBlock(
      log,
      rowsToBlock(1, 'clients', [
        { ...described, client: 1, path: '/a.ipynb' },
        { ...described, client: 2, name: 'job' },
        { ...described, client: 3, path: '/a.ipynb' }
      ])
    );
    const spans = [2, 1, 9, 3, 2].map((client, i) => ({ id: i + 1, client }));
    ingestBlock(log, rowsToBlock(2, 'spans', spans));
    ingestBlock(log, rowsToBlock(3, 'runs', [{ span: 0, duration: 1 }]));
    const { rows, clients } = ask(log, 'spans');
    expect(clients).toEqual(['job', '/a.ipynb']);
    expect(rows.map(({ span, client }) => [span, client])).toEqual([
      [0, null],
      [1, 0],
      [2, 1],
      [3, null],
      [4, 1],
      [5, 0]
    ]);
  });

  it('own the inner parts of fused tasks that were written in them', () => {
    const log = drawRuns('0/0 aaaa', {
      spans: ['x', 'y'],
      tasks: {
        a: {
          span: 'x',
          parts: [
            { kind: 4, offset: 0, duration: 1, span: 'x' },
            { kind: 4, offset: 1, duration: 3, span: 'y', function: 'g' }
          ]
        }
      }
    });
    const own = Object.fromEntries(
      ask(log, 'spans').rows.map(row => [
        row.tag,
        [row.ownNanoseconds / 1e9, row.ownTasks, row.executions]
      ])
    );
    expect(own).toEqual({ x: [1, 1, 1], y: [3, 0, 1] });
  });

  it('are all given to a program, page by page', () => {
    const log = new LogStore('many');
    const spans = 4000;
    ingestBlock(
      log,
      rowsToBlock(
        1,
        'spans',
        Array.from({ length: spans }, (_, i) => ({
          id: i + 1,
          parent: (i + 1) >> 1,
          closed: NaN,
          uuid: `uuid ${i + 1}`
        }))
      )
    );
    const runs = Array.from({ length: spans }, (_, i) => ({
      run: i,
      span: i + 1,
      start: 0,
      duration: 1,
      nbytes: 8
    }));
    ingestBlock(log, rowsToBlock(2, 'runs', runs));
    const seen = new Map<number, number>();
    let pages = 0;
    for (let after: number | null = 0; after !== null; pages++) {
      const params: Record<string, unknown> = { all: true, after };
      const page: SpansResult = ask(log, 'spans', { params });
      for (const { span, parent, ownTasks, threadSeconds } of page.rows) {
        expect(parent === null || seen.has(parent)).toBe(true);
        expect([seen.has(span), ownTasks]).toEqual([false, 1]);
        seen.set(span, threadSeconds);
      }
      expect(JSON.stringify(page).length).toBeLessThan(1 << 20);
      after = page.next ?? null;
    }
    expect(pages).toBeGreaterThan(2);
    expect(seen.size).toBe(spans);
    expect(seen.get(1)).toBe(spans);
  });

  it('of all pages are those of the moment of the first, reckoned once', () => {
    const log = new LogStore('paged');
    const count = 2000;
    const spans = Array.from({ length: count }, (_, i) => ({
      id: i + 1,
      closed: NaN
    }));
    ingestBlock(log, rowsToBlock(1, 'spans', spans));
    const run = { start: 0, duration: 1 };
    const runs = spans.map(({ id }) => ({ ...run, run: id, span: id }));
    ingestBlock(log, rowsToBlock(2, 'runs', runs));
    const walks = jest.spyOn(log.runZones, 'zones');
    const question = (): [tasks: number, walks: number[]] => {
      const counts: number[] = [];
      let tasks = 0;
      for (let after: number | null = 0; after !== null;) {
        walks.mockClear();
        const params: Record<string, unknown> = { all: true, after };
        const page: SpansResult = ask(log, 'spans', { params });
        tasks += page.rows.reduce((sum, { ownTasks }) => sum + ownTasks, 0);
        counts.push(walks.mock.calls.length);
        after = page.next ?? null;
        if (counts.length === 1) {
          // One more of each, and one more span.
          const more = runs.map(each => ({
            ...each,
            run: each.run + seq * count
          }));
          ingestBlock(log, rowsToBlock(seq++, 'runs', more));
          const opened = { id: count + seq, closed: NaN };
          ingestBlock(log, rowsToBlock(seq++, 'spans', [opened]));
        }
      }
      return [tasks, counts];
    };
    let seq = 3;
    const [tasks, [first, ...rest]] = question();
    expect(tasks).toBe(count);
    expect(first).toBeGreaterThan(0);
    expect(rest.length).toBeGreaterThan(1);
    expect(rest.every(each => each === 0)).toBe(true);
    // One that is given up after its first page is no matter to the next.
    ask(log, 'spans', { params: { all: true, after: 0 } });
    const last = runs.map(each => ({ ...each, run: each.run + seq * count }));
    ingestBlock(log, rowsToBlock(seq++, 'runs', last));
    expect(question()[0]).toBe(3 * count);
  });

  it('of two questions at once are of a moment each', () => {
    const log = new LogStore('paged by two');
    const count = 3000;
    const spans = Array.from({ length: count }, (_, i) => ({
      id: i + 1,
      closed: NaN
    }));
    ingestBlock(log, rowsToBlock(1, 'spans', spans));
    let seq = 2;
    const runOfEach = () => {
      const runs = spans.map(({ id }) => ({
        run: id + seq * count,
        span: id,
        start: 0,
        duration: 1
      }));
      ingestBlock(log, rowsToBlock(seq++, 'runs', runs));
    };
    const asked = [1, 2, 3].map(tasks => ({ tasks, after: 0, seen: 0 }));
    const page = (question: (typeof asked)[number]) => {
      const params: Record<string, unknown> = {
        all: true,
        after: question.after
      };
      const { rows, next }: SpansResult = ask(log, 'spans', { params });
      expect(rows.every(row => row.ownTasks === question.tasks)).toBe(true);
      question.seen += rows.length;
      question.after = next ?? 0;
    };
    for (const question of asked) {
      runOfEach();
      page(question);
    }
    while (asked.some(({ after }) => after > 0)) {
      asked.filter(({ after }) => after > 0).forEach(page);
    }
    expect(asked.map(({ seen }) => seen)).toEqual([count, count, count]);
  });

  it('beyond what one message holds are shown by their parents, with the same sums', () => {
    const log = new LogStore('many');
    const spans = 4000;
    ingestBlock(
      log,
      rowsToBlock(
        1,
        'spans',
        Array.from({ length: spans }, (_, i) => ({
          id: i + 1,
          parent: (i + 1) >> 1,
          closed: NaN
        }))
      )
    );
    ingestBlock(
      log,
      rowsToBlock(
        2,
        'runs',
        Array.from({ length: spans }, (_, i) => ({
          run: i,
          span: i + 1,
          start: i,
          duration: 1 + (i % 7)
        }))
      )
    );
    const { spans: rows, totalNanoseconds } = ask(log, 'summary');
    expect(rows.length).toBeLessThanOrEqual(1500);
    const sum = (of: (row: (typeof rows)[number]) => number): number =>
      rows.reduce((total, row) => total + of(row), 0);
    expect(sum(row => row.ownNanoseconds)).toBe(totalNanoseconds);
    expect(sum(row => row.ownTasks)).toBe(spans);
    expect(rows[0]).toMatchObject({ span: 1, tasks: spans });
  });

  it('survive rows that make no tree', () => {
    const log = new LogStore('broken');
    ingestBlock(
      log,
      rowsToBlock(1, 'spans', [
        { id: 1, parent: 2, closed: NaN },
        { id: 2, parent: 1, closed: NaN },
        { id: 3, parent: 3, closed: NaN },
        { id: 4, parent: 99, closed: NaN }
      ])
    );
    expect(
      ask(log, 'spans')
        .rows.map(({ span }) => span)
        .sort()
    ).toEqual([1, 2, 3, 4]);
  });

  it('get their paths when the parent comes late or is renamed', () => {
    const log = new LogStore('late');
    ingestBlock(
      log,
      rowsToBlock(
        1,
        'names',
        ['a', 'b', 'c'].map((text, i) => ({ id: i + 1, text }))
      )
    );
    ingestBlock(
      log,
      rowsToBlock(2, 'spans', [{ id: 7, parent: 6, tag: 2, closed: NaN }])
    );
    ingestBlock(
      log,
      rowsToBlock(3, 'spans', [{ id: 6, parent: 0, tag: 1, closed: NaN }])
    );
    expect(log.spans.pathOf(idOf(7))).toEqual(['a', 'b']);
    ingestBlock(
      log,
      rowsToBlock(4, 'spans', [{ id: 6, parent: 0, tag: 3, closed: 5 }])
    );
    expect(log.spans.pathOf(idOf(7))).toEqual(['c', 'b']);
  });
});

describe('more spans than are shown', () => {
  it('leave out the smallest, whose figures are added to their parents', () => {
    const MOST = 1500;
    const COUNT = 1600;
    // A root, and children of unlike lengths; of equal ones the later go.
    const seconds = (id: number): number => 1 + ((id * 7) % 400);
    const children = Array.from({ length: COUNT }, (_, i) => i + 2);
    const of = new LogStore('many');
    [
      rowsToBlock(1, 'lanes', [{ lane: 0, worker: 0 }]),
      rowsToBlock(2, 'spans', [
        { id: 1, parent: 0, tag: 'root', closed: NaN },
        ...children.map(id => ({ id, parent: 1, tag: `${id}`, closed: NaN }))
      ]),
      rowsToBlock(
        3,
        'runs',
        children.map(id => ({ run: id, span: id, duration: seconds(id) }))
      )
    ].forEach(block => ingestBlock(of, block));
    const kept = [...children]
      .sort((a, b) => seconds(b) - seconds(a) || a - b)
      .slice(0, MOST - 1)
      .sort((a, b) => a - b);
    const hidden = children.filter(id => !kept.includes(id));
    const { rows, folded } = ask(of, 'spans');
    expect(rows.map(({ span }) => span)).toEqual([1, ...kept]);
    expect(folded).toBe(COUNT + 1 - MOST);
    expect(rows[0]!.ownTasks).toBe(hidden.length);
    expect(rows[0]!.ownNanoseconds / 1e9).toBe(
      hidden.reduce((sum, id) => sum + seconds(id), 0)
    );
    expect(rows[0]!.tasks).toBe(COUNT);
    rows
      .slice(1)
      .forEach(({ parent, ownTasks }) =>
        expect([parent, ownTasks]).toEqual([1, 1])
      );
  });

  it('are counted with those that have joined another', () => {
    const log = new LogStore('joined');
    const row = { id: 1, tag: 1, closed: 1 };
    ingestBlock(log, rowsToBlock(1, 'spans', [{ ...row, uuid: 'a' }]));
    ingestBlock(log, rowsToBlock(2, 'runs', [{ span: 1, duration: 1 }]));
    expect(ask(log, 'spans')).not.toHaveProperty('folded');
    ingestBlock(
      log,
      rowsToBlock(3, 'spans', [
        { ...row, uuid: 'b' },
        { ...row, uuid: 'c' }
      ])
    );
    expect(ask(log, 'spans').folded).toBe(2);
  });

  it('are counted in those beside them that are called the same', () => {
    const steps = Array.from({ length: 1600 }, (_, i) => 2 * i + 2);
    const log = new LogStore('alike');
    [
      rowsToBlock(1, 'spans', [
        { id: 1, tag: 1, closed: NaN },
        ...steps.flatMap(id => [
          { id, parent: 1, tag: 2, closed: NaN },
          { id: id + 1, parent: id, tag: 3, closed: NaN }
        ])
      ]),
      rowsToBlock(
        2,
        'runs',
        steps.map(id => ({ run: id, span: id + 1, duration: 1 }))
      )
    ].forEach(block => ingestBlock(log, block));
    const { rows } = ask(log, 'spans');
    const sum = (depth: number) =>
      rows
        .filter(({ path }) => path.length === depth)
        .reduce((tasks, row) => tasks + row.tasks, 0);
    // (the smallest of the shown ones has no room for what is below it)
    expect([1, 2, 3].map(sum)).toEqual([1600, 1600, 1599]);
    expect(rows[0]).toMatchObject({ ownTasks: 0, tasks: 1600 });
  });

  it('are handed up through those that are left out too, and by roots to the default', () => {
    // Many roots, and a small one, 2, above 3 above 4.
    const large = Array.from({ length: 1600 }, (_, i) => i + 5);
    const log = new LogStore('many');
    [
      rowsToBlock(1, 'lanes', [{ lane: 0, worker: 0 }]),
      rowsToBlock(2, 'spans', [
        { id: 2, tag: 2, closed: NaN },
        { id: 3, tag: 3, parent: 2, closed: NaN },
        { id: 4, tag: 4, parent: 3, closed: NaN },
        ...large.map(id => ({ id, tag: id, closed: NaN })),
        // Nothing ran in it.
        { id: 2000, tag: 2000, closed: NaN }
      ]),
      rowsToBlock(3, 'nodes', [{ node: 0, span: 4, origin: TaskOrigin.User }]),
      rowsToBlock(4, 'runs', [
        ...large.map(id => ({ run: id, span: id, start: 9, duration: id })),
        { run: 2, span: 2, start: 3, duration: 0.25, cpu: NaN },
        { run: 4, span: 4, start: 1, duration: 0.5, status: RunStatus.Failed }
      ])
    ].forEach(block => ingestBlock(log, block));
    const { rows } = ask(log, 'spans');
    const [first, ...others] = rows;
    expect(others.map(({ span }) => span)).toEqual(large.slice(100));
    const left = large.slice(0, 100);
    expect(first).toMatchObject({
      span: 0,
      parent: null,
      path: ['default'],
      origin: 'default',
      tasks: 102,
      failed: 1,
      executions: 102,
      exact: 1,
      firstStart: 1,
      lastStop: 9 + 104,
      ownNanoseconds: 1e9 * (0.75 + left.reduce((sum, id) => sum + id, 0))
    });
  });
});

describe('a row of spans', () => {
  it('has no parent that is not described, no CPU time that is not known, no extent of nothing', () => {
    const log = new LogStore('few');
    [
      rowsToBlock(1, 'lanes', [{ lane: 0, worker: 0 }]),
      rowsToBlock(2, 'spans', [
        { id: 1, parent: 99, closed: NaN },
        { id: 2, parent: 1, closed: 4 },
        { id: 3, closed: NaN }
      ]),
      rowsToBlock(3, 'runs', [
        { run: 1, span: 1, start: 0, duration: 2, cpu: 0 },
        { run: 2, span: 2, start: 2, duration: 1, cpu: NaN },
        // Of a span that nobody describes.
        { run: 3, span: 8, start: 3, duration: 5, cpu: 1 },
        { run: 4, span: 0, start: 8, duration: 1, cpu: 1 }
      ])
    ].forEach(block => ingestBlock(log, block));
    const row = ({ span, parent, cpuSeconds, firstStart, lastStop }: SpanRow) =>
      [span, parent, cpuSeconds, firstStart, lastStop] as const;
    expect(ask(log, 'spans').rows.map(row)).toEqual([
      [0, null, 1, 8, 9],
      [1, null, null, 0, 3],
      [2, 1, null, 2, 3],
      [3, null, 0, null, null]
    ]);
    const { unattributedNanoseconds } = ask(log, 'summary');
    expect(unattributedNanoseconds).toBe(5e9);
    const known = { run: 5, span: 2, start: 4, duration: 1, cpu: 1 };
    ingestBlock(log, rowsToBlock(4, 'runs', [known]));
    expect(ask(log, 'spans').rows.map(({ cpuSeconds }) => cpuSeconds)).toEqual([
      1, 1, 1, 0
    ]);
  });
});
