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

describe('spans of a client that has a default span of its own', () => {
  it('stand beside it, and what is outside of them in it', () => {
    const numbers = new SpanNumbers(9);
    const spans = new ClientSpans(numbers, 'a.ipynb');
    const [own, ...more] = spans.takeOwnDefault(5);
    expect(own).toMatchObject({ id: 9, parent: 0, tag: 'default', opened: 5 });
    expect(more).toEqual([]);
    expect(spans.takeOwnDefault(6)).toEqual([]);
    expect([spans.outer(span(0)), spans.own(span(9))]).toEqual([9, 0]);
    expect(spans.announce([opened(1, 0), opened(2, 1)])).toMatchObject([
      { id: 1, parent: 0 },
      { id: 2, parent: 1 }
    ]);
    // Another client has number 3.
    numbers.take(3, 'b.ipynb', span(0), 'its');
    expect(spans.announce([opened(3, 2)])).toMatchObject([
      { id: 8, parent: 2 }
    ]);
    expect([spans.outer(span(3)), spans.own(span(8))]).toEqual([8, 3]);
    expect(spans.close(7).map(({ id, closed }) => [id, closed])).toEqual([
      [9, 7],
      [1, 7],
      [2, 7],
      [8, 7]
    ]);
  });

  it('share the log’s default when no number is free', () => {
    const numbers = new SpanNumbers(1);
    expect(numbers.take(1, 'b.ipynb', span(0), 'its')).toBe(1);
    const spans = new ClientSpans(numbers, 'a.ipynb');
    expect(spans.takeOwnDefault(5)).toEqual([]);
    expect(spans.outer(span(0))).toBe(0);
  });

  it('join those of the same notebook when half of the numbers are given out', () => {
    const numbers = new SpanNumbers(9, 3);
    const before = new ClientSpans(numbers, 'a.ipynb');
    before.takeOwnDefault(1);
    before.announce([opened(1, 0), opened(2, 1)]);
    before.close(5);
    const again = new ClientSpans(numbers, 'a.ipynb');
    const other = new ClientSpans(numbers, 'b.ipynb');
    expect(again.takeOwnDefault(6)).toMatchObject([{ id: 9 }]);
    expect(
      again.announce([opened(1, 0), opened(2, 1), opened(3, 2)])
    ).toMatchObject([
      { id: 1, parent: 0 },
      { id: 2, parent: 1 },
      { id: 3, parent: 2 }
    ]);
    expect(other.takeOwnDefault(7)).toMatchObject([{ id: 8 }]);
    expect(other.announce([opened(1, 0)])).toMatchObject([{ id: 7 }]);
  });

  it('count to their parents when no number is free', () => {
    const numbers = new SpanNumbers(5);
    for (const taken of [3, 4, 5]) {
      numbers.take(taken, 'b.ipynb', span(0), `its ${taken}`);
    }
    const spans = new ClientSpans(numbers, 'a.ipynb');
    expect(spans.announce([opened(1, 0), opened(2, 1)])).toHaveLength(2);
    expect(spans.announce([opened(3, 2), opened(4, 3), opened(5, 0)])).toEqual(
      []
    );
    expect(spans.announce([{ ...opened(3, 2), closed: 2 }])).toEqual([]);
    expect([3, 4, 5].map(id => spans.outer(span(id)))).toEqual([2, 2, 0]);
    expect(spans.close(9).map(({ id }) => id)).toEqual([1, 2]);
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
    const spans = new ClientSpans(new SpanNumbers(9), 'a.ipynb', 4);
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
    expect(submits(spans, 7, [3], unfinished)).toEqual([[9, 7, null]]);
    unfinished.clear();
    // Nobody has looked meanwhile.
    expect(submits(spans, 8, [4], unfinished)).toEqual([
      [9, 7, 8],
      [8, 8, null]
    ]);
    expect([0, 9, 8, 3].map(id => spans.own(span(id)))).toEqual([0, 0, 0, 3]);
    expect(spans.outer(span(0))).toBe(8);
    expect(spans.close(9)).toMatchObject([{ id: 8, closed: 9 }]);
  });

  it('that a task is outside of give what it opens no parent', () => {
    const numbers = new SpanNumbers(9);
    new ClientSpans(numbers, 'a.ipynb', 4).takeOwnDefault(1);
    const spans = new ClientSpans(numbers, 'a.ipynb', 5);
    const same = { ...opened(1, 0), same: span(9) };
    expect(spans.announce([same, opened(2, 1), opened(3, 2)])).toMatchObject([
      { id: 2, parent: 0, client: 4 },
      { id: 3, parent: 2 }
    ]);
  });

  it('share the last number when they are many', () => {
    const spans = new ClientSpans(new SpanNumbers(9, 99, 2), 'a.ipynb');
    const none = new Set<number>();
    const rows = [1, 2, 3, 4].flatMap(now => submits(spans, now, [now], none));
    expect(rows).toEqual([
      [0, 1, 2],
      [9, 2, null],
      [9, 2, 3],
      [8, 3, null],
      [8, 3, 4],
      [8, 4, null]
    ]);
  });

  it('keep few of the tasks that are finished', () => {
    const spans = new ClientSpans(new SpanNumbers(9), 'a.ipynb');
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
