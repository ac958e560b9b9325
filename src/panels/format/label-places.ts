/**
 * Where the labels of peaks stand: over no line, no other label and no other label's leader, of two in one column the higher
 * peak's above; else nowhere, for the list of the runs has all.
 *
 *            /\___ [large: peak 359 MiB]      y upwards
 *      _____/     \______
 *      /\
 *     /  \ [small: peak 159 MiB]
 */

/** Pixels from the left and the lower end of the axes. */
export type Place = readonly [x: number, y: number];

export type Area = {
  readonly width: number;
  readonly height: number;
  /** Free above the upper end. */
  readonly above: number;
};

export type WantedLabel = {
  readonly peak: Place;
  /** Whose it is. */
  readonly line: number;
  /** What it may say, the best first. */
  readonly texts: readonly {
    readonly text: string;
    readonly pixels: number;
    /** Rather than be left out it stands closer to its peak, or above or below it. */
    readonly mayReach: boolean;
  }[];
};

type LabelPlace = {
  readonly text: string;
  /** From the peak to the middle of the label's side, where the leader ends. */
  readonly across: number;
  readonly up: number;
  /** Which side that is. */
  readonly side: 'left' | 'right';
};

type Taken = LabelPlace & {
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  readonly top: number;
  readonly leader: Segment;
};
type Segment = readonly [Place, Place];

/** From a peak to its label. */
const GAP = 16;
/** From one label to the next above it, its frame included. */
const LABEL_PIXELS = 20;
/** Half of a line, and air. */
const LINE_PIXELS = 2;
/** No label stands further above or below its peak. */
const STEPS = Array.from({ length: 32 }, (_, step) => 4 * step);
const ABOVE = STEPS.map(step => 18 + step);
const BELOW = STEPS.map(step => -26 - step);
const BESIDE = STEPS.slice(0, 5).flatMap(step => [
  step,
  -step,
  step + 2,
  -2 - step
]);

/**
 * Null: left out.
 *
 * @param wanted - the highest peak first.
 * @param lines - from left to right; null: a gap.
 */
export function labelPlaces(
  wanted: readonly WantedLabel[],
  lines: readonly (readonly (Place | null)[])[],
  area: Area
): (LabelPlace | null)[] {
  const drawn = lines.map(segmentsOf);
  const peaks = wanted.map(({ peak }): Segment[] => [[peak, peak]]);
  const cover = new LineCover([...drawn, ...peaks], area.width);
  const free = wanted.map((label, index) => {
    const near = segmentsOfOthers(label, drawn);
    return placesOf(label, index, area).filter(
      place =>
        isWithin(place, area) &&
        cover.isFree(place) &&
        !near.some(each => doCross(each, afterPeak(place.leader)))
    );
  });
  let best: readonly (Taken | null)[] = wanted.map(() => null);
  let most = 0;
  // The highest chooses first, if that leaves none out that could stay; it is never left out for others.
  for (const order of ordersOf(wanted.map((_, index) => index))) {
    const places = chosenInTurn(free, order);
    const count = places.filter(place => place !== null).length;
    if (count > most && (best[0] === null || places[0] !== null)) {
      most = count;
      best = places;
    }
    if (most === free.filter(each => each.length > 0).length) {
      break;
    }
  }
  return best.map(
    place =>
      place && {
        text: place.text,
        across: place.across,
        up: place.up,
        side: place.side
      }
  );
}

function chosenInTurn(
  free: readonly (readonly Taken[])[],
  order: readonly number[]
): readonly (Taken | null)[] {
  const chosen = free.map((): Taken | null => null);
  for (const index of order) {
    chosen[index] =
      free[index]!.find(place =>
        chosen.every(
          (other, above) =>
            other === null ||
            (isApart(place, other) &&
              (!areInColumn(place, other) ||
                above < index === place.bottom < other.bottom))
        )
      ) ?? null;
  }
  return chosen;
}

/** Of four there are 24. */
function ordersOf(of: readonly number[]): readonly (readonly number[])[] {
  return of.length < 2
    ? [of]
    : of.flatMap(first =>
        ordersOf(of.filter(each => each !== first)).map(rest => [
          first,
          ...rest
        ])
      );
}

/** The best first. */
function placesOf(
  { peak, texts }: WantedLabel,
  index: number,
  area: Area
): Taken[] {
  const [x, y] = peak;
  if (!(x >= 0 && x <= area.width)) {
    return [];
  }
  const ups =
    index === 0
      ? [...ABOVE.slice(0, 1), ...BELOW, ...ABOVE.slice(1), ...BESIDE]
      : [-6 - LABEL_PIXELS * index, ...BELOW, ...ABOVE, ...BESIDE];
  // Where there is more room.
  const sides: readonly LabelPlace['side'][] =
    x > area.width / 2 ? ['right', 'left'] : ['left', 'right'];
  return texts.flatMap(({ text, pixels, mayReach }) =>
    sides.flatMap(side => {
      const beside = (side === 'left' ? area.width - x : x) - GAP;
      const tooMuch = Math.max(0, pixels - beside);
      if (tooMuch > 0 && (!mayReach || side !== sides[0])) {
        return [];
      }
      const across = (side === 'left' ? 1 : -1) * (GAP - tooMuch);
      const edge = x + across;
      return ups.map((up): Taken => {
        const middle = y + up;
        return {
          text,
          across,
          up,
          side,
          left: side === 'left' ? edge : edge - pixels,
          right: side === 'left' ? edge + pixels : edge,
          bottom: middle - LABEL_PIXELS / 2,
          top: middle + LABEL_PIXELS / 2,
          leader: [peak, [edge, middle]]
        };
      });
    })
  );
}

function isWithin(
  { left, right, bottom, top }: Taken,
  { width, height, above }: Area
): boolean {
  return (
    left >= -1e-6 &&
    right <= width + 1e-6 &&
    bottom >= 0 &&
    top <= height + above
  );
}

function areInColumn(one: Taken, other: Taken): boolean {
  return one.left < other.right && other.left < one.right;
}

function isApart(one: Taken, other: Taken): boolean {
  return (
    (!areInColumn(one, other) ||
      one.bottom >= other.top ||
      other.bottom >= one.top) &&
    !doCross(one.leader, other.leader) &&
    !doesEnter(one.leader, other) &&
    !doesEnter(other.leader, one)
  );
}

/** Its two diagonals are crossed, or it ends within. */
function doesEnter(
  leader: Segment,
  { left, right, bottom, top }: Taken
): boolean {
  return (
    leader.some(
      ([x, y]) => x >= left && x <= right && y >= bottom && y <= top
    ) ||
    doCross(leader, [
      [left, bottom],
      [right, top]
    ]) ||
    doCross(leader, [
      [left, top],
      [right, bottom]
    ])
  );
}

/** At the peak itself lines of others may be, as those of equal runs are. */
function afterPeak([[x, y], end]: Segment): Segment {
  const share = Math.min(1, LINE_PIXELS / Math.hypot(end[0] - x, end[1] - y));
  return [[x + share * (end[0] - x), y + share * (end[1] - y)], end];
}

/** Not where they only touch. */
function doCross([a, b]: Segment, [c, d]: Segment): boolean {
  return turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0;
}

/** Positive: to the left, negative: to the right. */
function turn([ax, ay]: Place, [bx, by]: Place, [cx, cy]: Place): number {
  return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
}

/** Pieces of other lines that a leader may cross. */
function segmentsOfOthers(
  { peak: [x], line, texts }: WantedLabel,
  drawn: readonly (readonly Segment[])[]
): Segment[] {
  const reach = Math.max(GAP, ...texts.map(({ pixels }) => pixels));
  return drawn.flatMap((segments, index) =>
    index === line
      ? []
      : segments.filter(
          ([[from], [to]]) => to >= x - reach && from <= x + reach
        )
  );
}

/** A sample between gaps is a piece of no length. */
function segmentsOf(points: readonly (Place | null)[]): Segment[] {
  return points.flatMap((point, index): Segment[] =>
    point === null ? [] : [[point, points[index + 1] ?? point]]
  );
}

/** In pixels. */
const COLUMN = 4;

/** What lines cover of each column of the chart. */
class LineCover {
  private readonly _count: number;
  /** Of each line from where to where, of a column that it is not in from Infinity. */
  private readonly _lines: readonly {
    readonly from: Float64Array;
    readonly to: Float64Array;
  }[];

  constructor(lines: readonly (readonly Segment[])[], width: number) {
    const count = Math.max(1, Math.ceil(width / COLUMN));
    this._count = count;
    this._lines = lines.map(segments => {
      const from = new Float64Array(count).fill(Infinity);
      const to = new Float64Array(count).fill(-Infinity);
      for (const segment of segments) {
        const [[left], [right]] = segment;
        const last = Math.min(count - 1, Math.floor(right / COLUMN));
        let column = Math.max(0, Math.floor(left / COLUMN));
        for (; column <= last; column += 1) {
          const one = heightAt(segment, column * COLUMN);
          const other = heightAt(segment, (column + 1) * COLUMN);
          from[column] = Math.min(from[column]!, one, other);
          to[column] = Math.max(to[column]!, one, other);
        }
      }
      return { from, to };
    });
  }

  isFree({ left, right, bottom, top }: Taken): boolean {
    const first = Math.max(0, Math.floor((left - LINE_PIXELS) / COLUMN));
    const last = Math.min(
      this._count - 1,
      Math.floor((right + LINE_PIXELS) / COLUMN)
    );
    return this._lines.every(({ from, to }) => {
      for (let column = first; column <= last; column += 1) {
        if (
          from[column]! < top + LINE_PIXELS &&
          to[column]! > bottom - LINE_PIXELS
        ) {
          return false;
        }
      }
      return true;
    });
  }
}

/** At its nearer end beyond it. */
function heightAt([[ax, ay], [bx, by]]: Segment, x: number): number {
  const share =
    bx > ax ? Math.min(1, Math.max(0, (x - ax) / (bx - ax))) : x > ax ? 1 : 0;
  return ay + share * (by - ay);
}
