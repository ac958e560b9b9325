import { SpanOrigin } from '../../../records/enumerations';
import type { SpanId } from '../../../records/ids';
import { ClientSpans, SharedNumbers } from '../client-scope';

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
    const numbers = new SharedNumbers(9);
    const spans = new ClientSpans(numbers);
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
    numbers.take(3);
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
    const numbers = new SharedNumbers(1);
    expect(numbers.take(1)).toBe(1);
    const spans = new ClientSpans(numbers);
    expect(spans.takeOwnDefault(5)).toEqual([]);
    expect(spans.outer(span(0))).toBe(0);
  });
});
