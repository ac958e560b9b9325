/** What of the time the Memory Sampler shows, and what it asks for to draw that. */
import type { JSONObject } from '@lumino/coreutils';
import type { TimeRange } from '../../wire/panel-link';
import type { TimeView } from '../time-views';
import type { Align } from './rows';

export type Range = readonly [from: number, to: number];

/** zoom: the user's own. filter: chosen for all panels. task-stream: as there. */
export type ShownTime =
  | { readonly by: 'all'; readonly range?: undefined }
  | {
      readonly by: 'zoom' | 'filter' | 'task-stream';
      readonly range: Range;
    };

/** A part that the user has drawn out. By the other alignment, of another cluster and under another filter, these seconds are others. */
export type Zoom = {
  readonly cluster: string | undefined;
  readonly align: Align;
  readonly time: TimeRange;
  readonly range: Range;
};

const ALL: ShownTime = { by: 'all' };

/**
 * What the user chose last is shown: the own zoom, then the range that all panels have, then what the Task Stream shows. Runs from zero have
 * a time of their own.
 *
 * @param view - null: no Task Stream shows anything, or it is not gone by.
 */
export function shownTime(
  zoom: Zoom | null,
  now: Omit<Zoom, 'range'>,
  view: TimeView | null
): ShownTime {
  if (zoom !== null && isOf(zoom, now)) {
    return { by: 'zoom', range: zoom.range };
  }
  if (now.align === 'zero') {
    return ALL;
  }
  if (now.time !== 'all') {
    // (how long the newest seconds last is seen by what is drawn)
    return 'from' in now.time
      ? { by: 'filter', range: [now.time.from, now.time.to] }
      : ALL;
  }
  return view === null
    ? ALL
    : { by: 'task-stream', range: [view.from, view.to] };
}

function isOf(zoom: Zoom, now: Omit<Zoom, 'range'>): boolean {
  return (
    zoom.cluster === now.cluster &&
    zoom.align === now.align &&
    JSON.stringify(zoom.time) === JSON.stringify(now.time)
  );
}

/** Parts of a window by which it moves on: the fewer, the more is drawn in vain, and the seldomer it is asked for. */
const STEPS = 4;

/**
 * What is asked for to draw a range: as many points lie in it then as in the whole otherwise. It is somewhat more, so that a range that moves
 * on a little is drawn by the same answer.
 *
 *     range            |-------|
 *     window      |···:···:···:···:···|     by quarters of a power of two
 */
export function windowFor([from, to]: Range): {
  readonly from: number;
  readonly to: number;
} {
  const width = 2 ** Math.ceil(Math.log2(Math.max(to - from, 1e-6)));
  const step = width / STEPS;
  const begin = Math.floor(from / step) * step;
  return { from: begin, to: begin + width + step };
}

/** What was saved of a zoom; null: nothing, or nothing of use. */
export function zoomFrom(saved: unknown): Zoom | null {
  const { cluster, align, time, range } = (saved ?? {}) as Partial<Zoom>;
  const isKnown =
    typeof cluster === 'string' &&
    (align === 'zero' || align === 'clock') &&
    (time === 'all' || (typeof time === 'object' && time !== null)) &&
    Array.isArray(range) &&
    range.length === 2 &&
    range.every(end => typeof end === 'number') &&
    range[0]! < range[1]!;
  return isKnown ? { cluster, align, time, range: range as Range } : null;
}

export function zoomSaved(zoom: Zoom | null): JSONObject {
  return zoom === null || zoom.cluster === undefined
    ? {}
    : {
        zoom: {
          cluster: zoom.cluster,
          align: zoom.align,
          time: zoom.time === 'all' ? zoom.time : { ...zoom.time },
          range: [...zoom.range]
        }
      };
}
