import { NONE_U32 } from '../../../records/enumerations';
import { DEFAULT_SPAN, type SpanId } from '../../../records/ids';
import { TallyNumbers } from '../tally-numbers';

const span = (number: number) => number as SpanId;

it('counts together what is of one function and one span', () => {
  const numbers = new TallyNumbers();
  const first = numbers.of(7, span(1));
  const others = [
    numbers.of(7, span(2)),
    numbers.of(8, span(1)),
    // (as large as numbers of spans and names may be)
    numbers.of(4_294_967_294, span(0)),
    numbers.of(0, span(4_294_967_294))
  ];
  expect(new Set([0, first, ...others]).size).toBe(6);
  expect(numbers.of(7, span(1))).toBe(first);
  expect([numbers.functionOf(first), numbers.spanOf(first)]).toEqual([7, 1]);
});

it('counts what comes beyond its bound together, as of any function', () => {
  const numbers = new TallyNumbers(3);
  const [first, second] = [numbers.of(1, span(1)), numbers.of(2, span(1))];
  expect([first, second, numbers.of(3, span(1))]).toEqual([1, 2, 0]);
  expect(numbers.of(2, span(1))).toBe(second);
  expect([numbers.functionOf(0), numbers.spanOf(0)]).toEqual([
    NONE_U32,
    DEFAULT_SPAN
  ]);
});
