/** The boxes of each lane by time: to find what is at a place looks at few of many. */
import type { DrawnBox } from './drawn-boxes';

/** Of one lane, by begin. */
type Lane = {
  readonly from: Float64Array;
  readonly to: Float64Array;
  /** The middle of a stretch has the latest end of all of it, and the middle of each half likewise. */
  readonly latest: Float64Array;
  /** Which boxes. */
  readonly places: Uint32Array;
};

export class LaneIndex {
  private readonly _lanes: readonly Lane[];

  /** @param boxes - in the order of drawing. */
  constructor(
    private readonly _boxes: readonly DrawnBox[],
    lanes: number
  ) {
    const places: number[][] = Array.from({ length: lanes }, () => []);
    _boxes.forEach(({ lane }, place) => places[lane]!.push(place));
    this._lanes = places.map(own => laneOf(_boxes, own));
  }

  /** The box that is drawn last at a time, or at most `slack` beside it. With `inStrip` those in the strip lie over work, else elsewhere. */
  at(
    lane: number,
    time: number,
    inStrip: boolean,
    slack: number
  ): DrawnBox | null {
    const own = this._lanes[lane];
    const near =
      own === undefined ? [] : within(own, time - slack, time + slack);
    let found = -1;
    for (const place of near) {
      const { strip } = this._boxes[place]!;
      const over = strip - (this._boxes[found]?.strip ?? 0);
      if (
        (strip === 0 || inStrip) &&
        (over > 0 || (over === 0 && place > found))
      ) {
        found = place;
      }
    }
    return this._boxes[found] ?? null;
  }
}

function laneOf(boxes: readonly DrawnBox[], own: readonly number[]): Lane {
  const places = Uint32Array.from(own).sort(
    (a, b) => boxes[a]!.from - boxes[b]!.from
  );
  const from = Float64Array.from(places, place => boxes[place]!.from);
  const to = Float64Array.from(places, place => boxes[place]!.to);
  const latest = new Float64Array(places.length);
  const fill = (first: number, end: number): number => {
    if (first >= end) {
      return -Infinity;
    }
    const middle = (first + end) >> 1;
    latest[middle] = Math.max(
      to[middle]!,
      fill(first, middle),
      fill(middle + 1, end)
    );
    return latest[middle];
  };
  fill(0, places.length);
  return { from, to, latest, places };
}

/** Which boxes of a lane reach into a time. */
function within(lane: Lane, begin: number, end: number): number[] {
  const found: number[] = [];
  const look = (first: number, last: number): void => {
    const middle = (first + last) >> 1;
    if (first >= last || lane.latest[middle]! < begin) {
      return;
    }
    look(first, middle);
    if (lane.from[middle]! <= end) {
      if (lane.to[middle]! >= begin) {
        found.push(lane.places[middle]!);
      }
      look(middle + 1, last);
    }
  };
  look(0, lane.places.length);
  return found;
}
