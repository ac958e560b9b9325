import { SpanOrigin } from '../../../records/enumerations';
import type { OuterTaskId, SpanId } from '../../../records/ids';
import { ClientSpans } from '../client-scope';
import { SpanNumbers } from '../span-numbers';

const span = (id: number) => id as SpanId;
const opened = (id: number, parent: number) => ({
  id: span(id),
  parent: span(parent),
  tag: `span ${id}`,
  opened: 1,
  closed: null,
  origin: SpanOrigin.User
});

/** The first number that the scheduler gives, and the next ones. */
const given = (later = 0) => 2 ** 31 + later;

describe('spans of a client that has a default span of its own', () => {
  it('stand beside it, and what is outside of them in it', () => {
    const numbers = new SpanNumbers();
    const spans = new ClientSpans(numbers, 'a.ipynb');
    const [own, ...more] = spans.takeOwnDefault(5);
    expect(own).toMatchObject({
      id: given(),
      parent: 0,
      tag: 'default',
      opened: 5
    });
    expect(more).toEqual([]);
    expect(spans.takeOwnDefault(6)).toEqual([]);
    expect(spans.outer(span(0))).toBe(given());
    expect(spans.own(span(given()))).toBe(0);
    expect(spans.announce([opened(1, 0), opened(2, 1)])).toMatchObject([
      { id: 1, parent: 0 },
      { id: 2, parent: 1 }
    ]);
    // Another client has number 3.
    numbers.take(span(3));
    expect(spans.announce([opened(3, 2)])).toMatchObject([
      { id: given(1), parent: 2 }
    ]);
    expect(spans.outer(span(3))).toBe(given(1));
    expect(spans.own(span(given(1)))).toBe(3);
    expect([1, 3].map(id => spans.own(span(id)))).toEqual([1, 0]);
    expect(spans.close(7).map(({ id, closed }) => [id, closed])).toEqual([
      [given(), 7],
      [1, 7],
      [2, 7],
      [given(1), 7]
    ]);
  });

  it('have numbers of their own, however many there are and of what path', () => {
    const numbers = new SpanNumbers();
    const one = new ClientSpans(numbers, 'a.ipynb');
    const other = new ClientSpans(numbers, 'a.ipynb');
    const told = new Set<number>();
    const COUNT = 70_000;
    const tell = (spans: ClientSpans, ids: number): void => {
      const rows = Array.from({ length: ids }, (_, i) => ({
        ...opened(i + 1, 0),
        tag: 'step',
        closed: 2
      }));
      for (const { id } of spans.announce(rows)) {
        told.add(id);
      }
    };
    tell(one, COUNT);
    tell(other, 10);
    expect(told.size).toBe(COUNT + 10);
    expect(one.outer(span(COUNT))).toBe(COUNT);
    expect(other.outer(span(10))).toBe(given(9));
    // The same span again is the same.
    expect(other.announce([opened(7, 0)])).toMatchObject([{ id: given(6) }]);
  });

  it('have no number of those that the scheduler gives', () => {
    const spans = new ClientSpans(new SpanNumbers(), 'a.ipynb');
    const ids = [given(), 2 ** 32 - 1, 2 ** 31 - 1];
    const rows = spans.announce(ids.map(id => opened(id, 0)));
    expect(rows.map(({ id }) => id)).toEqual([given(), given(1), 2 ** 31 - 1]);
  });

  it('that the log calls otherwise are forgotten, the oldest that have closed', () => {
    const numbers = new SpanNumbers();
    const spans = new ClientSpans(numbers, 'a.ipynb', 0, 3);
    for (let id = 1; id <= 9; id++) {
      numbers.take(span(id));
    }
    const closed = (id: number) => ({ ...opened(id, 1), closed: 2 });
    spans.announce([opened(1, 0), ...[2, 3, 4, 5, 6].map(closed)]);
    expect([1, 5, 6].map(id => spans.outer(span(id)))).toEqual(
      [0, 4, 5].map(given)
    );
    expect(spans.own(span(given(2)))).toBe(0);
    expect(spans.own(span(given(5)))).toBe(6);
    // In the log it is the number of another client's span.
    expect([spans.outer(span(3)), spans.own(span(3))]).toEqual([0, 0]);
    expect(spans.announce([closed(3), opened(7, 3)])).toMatchObject([
      { id: given(6), parent: 0 }
    ]);
    const [own] = spans.takeOwnDefault(5);
    expect(spans.outer(span(3))).toBe(own!.id);
  });
});

describe('default spans of a client', () => {
  /** Submits a graph of tasks outside of all spans. @returns what is told of it. */
  const submits = (
    spans: ClientSpans,
    now: number,
    tasks: readonly number[],
    unfinished: ReadonlySet<number>
  ) => {
    const rows = spans.nextDefault(now, task => unfinished.has(task));
    for (const task of tasks) {
      spans.addToDefault(task as OuterTaskId);
    }
    return rows.map(({ id, opened, closed }) => [id, opened, closed]);
  };

  it('close when no task is unfinished, and the next graph begins another', () => {
    const unfinished = new Set<number>();
    const spans = new ClientSpans(new SpanNumbers(), 'a.ipynb', 4);
    const closeIdle = (now: number) =>
      spans
        .closeIdleDefault(now, task => unfinished.has(task))
        .map(({ id, closed }) => [id, closed]);
    expect(closeIdle(0)).toEqual([]);
    // The log has told of its own.
    expect(submits(spans, 1, [], unfinished)).toEqual([]);
    expect(closeIdle(1)).toEqual([]);
    const high = 0xfffffff0;
    unfinished.add(1).add(high);
    expect(submits(spans, 2, [1, high], unfinished)).toEqual([]);
    unfinished.delete(high);
    unfinished.add(2);
    expect(submits(spans, 3, [2], unfinished)).toEqual([]);
    expect(closeIdle(4)).toEqual([]);
    unfinished.clear();
    expect(closeIdle(5)).toEqual([[0, 5]]);
    expect(closeIdle(6)).toEqual([]);
    expect(spans.outer(span(0))).toBe(0);
    unfinished.add(3);
    expect(submits(spans, 7, [3], unfinished)).toEqual([[given(), 7, null]]);
    unfinished.clear();
    // Nobody has looked meanwhile.
    expect(submits(spans, 8, [4], unfinished)).toEqual([
      [given(), 7, 8],
      [given(1), 8, null]
    ]);
    expect([0, given(), given(1), 3].map(id => spans.own(span(id)))).toEqual([
      0, 0, 0, 3
    ]);
    expect(spans.outer(span(0))).toBe(given(1));
    expect(spans.close(9)).toMatchObject([{ id: given(1), closed: 9 }]);
  });

  it('that a task is outside of give what it opens no parent', () => {
    const numbers = new SpanNumbers();
    new ClientSpans(numbers, 'a.ipynb', 4).takeOwnDefault(1);
    const spans = new ClientSpans(numbers, 'a.ipynb', 5);
    const same = { ...opened(1, 0), same: span(given()) };
    expect(spans.announce([same, opened(2, 1), opened(3, 2)])).toMatchObject([
      { id: 2, parent: 0, client: 4 },
      { id: 3, parent: 2 }
    ]);
  });

  it('share the last number when they are many', () => {
    const spans = new ClientSpans(new SpanNumbers(2), 'a.ipynb');
    const none = new Set<number>();
    const rows = [1, 2, 3, 4].flatMap(now => submits(spans, now, [now], none));
    expect(rows).toEqual([
      [0, 1, 2],
      [given(), 2, null],
      [given(), 2, 3],
      [given(1), 3, null],
      [given(1), 3, 4],
      [given(1), 4, null]
    ]);
  });

  it('keep few of the tasks that are finished', () => {
    const spans = new ClientSpans(new SpanNumbers(), 'a.ipynb');
    let newest = 0;
    for (let graph = 0; graph < 200; graph++) {
      // The newest task is always unfinished, so that none before it is at the end.
      spans.nextDefault(graph, task => task === newest);
      for (let i = 0; i < 100; i++) {
        spans.addToDefault(++newest as OuterTaskId);
      }
    }
    let asked = 0;
    spans.closeIdleDefault(300, () => ++asked < 0);
    expect(asked).toBeLessThan(2000);
  });
});
