import { SpanOrigin } from '../../../records/enumerations';
import type { SpanId } from '../../../records/ids';
import { ClientSpans, SpanNumbers } from '../client-scope';

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
