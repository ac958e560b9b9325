/**
 * Whether a figure of lines looks like the one that is drawn. Plotly takes tens of milliseconds to draw, and samples of a cluster that does
 * nothing come once a second: their line goes on as flat as it was.
 *
 *   drawn  ──╱╲────────┤room│     in the drawn axes, to a pixel
 *   next   ──╱╲─────────···       flat, and within the room at the right: the same picture
 *   next   ──╱╲─────────╱         another one
 */
import type { Figure } from './plotly-api';

const PIXEL = 1;
/** A time axis goes on with its lines. By a larger share of its length, another stretch is shown. */
const GOES_ON = 0.125;

export type Size = { readonly width: number; readonly height: number };

type Plain = Readonly<Record<string, unknown>>;
type Margin = Readonly<Record<'l' | 'r' | 't' | 'b', number>>;
type Axis = {
  readonly range: readonly [number, number];
  readonly tickvals?: readonly number[];
  readonly ticktext?: readonly string[];
};

/** From values to pixels, as the drawn figure has them. */
type Frame = {
  readonly width: number;
  x(value: number): number;
  y(value: number): number;
};

/** In each column of pixels, from where to where a line goes; Infinity and -Infinity where it does not. */
type Shape = {
  readonly low: Float64Array;
  readonly high: Float64Array;
  /** The last column that it is in; -1: none. */
  readonly end: number;
  /** How high it ends; null: the end is not known. */
  readonly endsAt: number | null;
  /** The furthest right of its points. */
  readonly reach: number;
};

export function looksSame(drawn: Figure, next: Figure, size: Size): boolean {
  if (isEqual(drawn, next)) {
    return true;
  }
  const frame = frameOf(drawn.layout, size);
  return (
    frame !== null &&
    haveSameAxes(drawn.layout, next.layout, frame) &&
    isEqualBut(['xaxis', 'yaxis'], drawn.layout, next.layout) &&
    drawn.data.length === next.data.length &&
    drawn.data.every((trace, index) =>
      isSameTrace(trace, next.data[index]!, frame, mayMove(drawn.data, trace))
    )
  );
}

// ------------------------------------------------------------------- axes

function axisOf(layout: Plain, name: 'xaxis' | 'yaxis'): Axis | null {
  const axis = layout[name] as Partial<Axis> | undefined;
  return axis?.range === undefined ? null : (axis as Axis);
}

function frameOf(layout: Plain, size: Size): Frame | null {
  const [x, y] = [axisOf(layout, 'xaxis'), axisOf(layout, 'yaxis')];
  const margin = layout['margin'] as Margin | undefined;
  if (x === null || y === null || margin === undefined) {
    return null;
  }
  const width = size.width - margin.l - margin.r;
  const height = size.height - margin.t - margin.b;
  const [perX, perY] = [x, y].map(
    ({ range }, index) => (index === 0 ? width : height) / (range[1] - range[0])
  ) as [number, number];
  return Number.isFinite(perX) && Number.isFinite(perY) && width > 0
    ? {
        width,
        x: value => (value - x.range[0]) * perX,
        y: value => (value - y.range[0]) * perY
      }
    : null;
}

function haveSameAxes(drawn: Plain, next: Plain, frame: Frame): boolean {
  const [x, nextX] = [axisOf(drawn, 'xaxis'), axisOf(next, 'xaxis')];
  const [y, nextY] = [axisOf(drawn, 'yaxis'), axisOf(next, 'yaxis')];
  if (x === null || nextX === null || y === null || nextY === null) {
    return false;
  }
  const moved = frame.x(nextX.range[1]) - frame.width;
  return (
    isEqualBut(['range', 'tickvals', 'ticktext'], x, nextX) &&
    Math.abs(frame.x(nextX.range[0])) < PIXEL &&
    moved > -PIXEL &&
    moved < frame.width * GOES_ON &&
    isEqual(ticksUpTo(x, x.range[1]), ticksUpTo(nextX, x.range[1])) &&
    isEqualBut(['range'], y, nextY) &&
    y.range.every(
      (value, end) =>
        Math.abs(frame.y(value) - frame.y(nextY.range[end]!)) < PIXEL
    )
  );
}

function ticksUpTo(
  { tickvals = [], ticktext = [] }: Axis,
  end: number
): unknown[] {
  return tickvals.flatMap((at, index) =>
    at <= end ? [[at, ticktext[index]]] : []
  );
}

// ------------------------------------------------------------------- lines

/** By less than so many pixels a line may lie elsewhere: those of a stack, which add up, by a pixel together. */
function mayMove(traces: readonly Plain[], { stackgroup }: Plain): number {
  return stackgroup === undefined
    ? PIXEL
    : PIXEL / traces.filter(each => each['stackgroup'] === stackgroup).length;
}

function isSameTrace(
  drawn: Plain,
  next: Plain,
  frame: Frame,
  by: number
): boolean {
  if (drawn['type'] !== 'scatter') {
    return isEqual(drawn, next);
  }
  if (!isEqualBut(['x', 'y'], drawn, next)) {
    return false;
  }
  const [was, is] = [shapeOf(drawn, frame), shapeOf(next, frame)];
  const right = frame.width + PIXEL;
  // A line that left the picture leaves it still.
  return (
    (is.reach <= right || was.reach > right) &&
    covers(is, was, was.end, by) &&
    covers(was, is, was.end + 1, by) &&
    goesOnFlat(was, is, by)
  );
}

function shapeOf(trace: Plain, frame: Frame): Shape {
  const x = trace['x'] as readonly (number | null)[];
  const y = trace['y'] as readonly (number | null)[];
  const columns = Math.ceil(frame.width) + 1;
  const low = new Float64Array(columns).fill(Infinity);
  const high = new Float64Array(columns).fill(-Infinity);
  let end = -1;
  let reach = -Infinity;
  let before: readonly [number, number] | null = null;
  for (let index = 0; index < x.length; index += 1) {
    const [at, value] = [x[index] ?? NaN, y[index] ?? NaN];
    const point: readonly [number, number] = [frame.x(at), frame.y(value)];
    if (Number.isNaN(point[0]) || Number.isNaN(point[1])) {
      before = null;
      continue;
    }
    reach = Math.max(reach, point[0]);
    const [from, to] = before ?? point;
    const slope = point[0] > from ? (point[1] - to) / (point[0] - from) : 0;
    const last = Math.min(columns - 1, Math.floor(point[0]));
    for (
      let column = Math.max(0, Math.floor(from));
      column <= last;
      column += 1
    ) {
      const left = to + slope * (Math.max(from, column) - from);
      const right =
        column === last
          ? point[1]
          : to + slope * (Math.min(point[0], column + 1) - from);
      low[column] = Math.min(low[column]!, left, right);
      high[column] = Math.max(high[column]!, left, right);
    }
    end = Math.max(end, last);
    before = point;
  }
  return { low, high, end, endsAt: before === null ? null : before[1], reach };
}

/** Whether `one`, up to a column, stays within so many pixels of `other`. */
function covers(other: Shape, one: Shape, to: number, by: number): boolean {
  for (
    let column = 0;
    column <= Math.min(to, one.low.length - 1);
    column += 1
  ) {
    const [low, high] = [one.low[column]!, one.high[column]!];
    if (low > high) {
      continue;
    }
    let [lowest, highest] = [Infinity, -Infinity];
    for (let near = Math.max(0, column - 1); near <= column + 1; near += 1) {
      lowest = Math.min(lowest, other.low[near] ?? Infinity);
      highest = Math.max(highest, other.high[near] ?? -Infinity);
    }
    if (!(low > lowest - by && high < highest + by)) {
      return false;
    }
  }
  return true;
}

/** What is new of it lies at the height at which it has ended. */
function goesOnFlat(was: Shape, is: Shape, by: number): boolean {
  for (let column = was.end + 2; column <= is.end; column += 1) {
    const [low, high] = [is.low[column]!, is.high[column]!];
    if (
      low <= high &&
      (was.endsAt === null || low <= was.endsAt - by || high >= was.endsAt + by)
    ) {
      return false;
    }
  }
  return true;
}

// ---------------------------------------------------------------- equality

function isEqualBut(
  left: readonly string[],
  one: object,
  other: object
): boolean {
  const without = (value: object) =>
    Object.fromEntries(
      Object.entries(value).filter(([key]) => !left.includes(key))
    );
  return isEqual(without(one), without(other));
}

/** Of what figures are made of: numbers, texts, columns, plain objects. */
function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) {
    return true;
  }
  if (Array.isArray(one) || Array.isArray(other)) {
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((value, index) => isEqual(value, other[index]))
    );
  }
  if (
    typeof one !== 'object' ||
    typeof other !== 'object' ||
    one === null ||
    other === null
  ) {
    return false;
  }
  const [a, b] = [one, other] as [Plain, Plain];
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every(key => key in b && isEqual(a[key], b[key]))
  );
}
