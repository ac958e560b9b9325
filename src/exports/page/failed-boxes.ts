/** The failed boxes of a picture: each is seen and found however short it is, as in the panel's lanes. */
import {
  drawFailed,
  failedOfLane,
  type FailedOfLane,
  markAt
} from '../../charts/failed-marks';
import type { IInk } from '../../charts/ink';
import type { BoxArea } from '../../charts/lane-fills';
import type { ShadeColours } from '../../charts/palette';
import { BOX_KINDS } from '../../panels/task-stream/rows';
import type { Viewport } from '../../panels/task-stream/viewport';
import type { DrawnBox } from './drawn-boxes';

/** How a view lies on the screen. */
export type PicturePlace = {
  readonly view: Viewport;
  /** Device pixels. */
  readonly width: number;
  readonly scale: number;
  areaOf(lane: number): Pick<BoxArea, 'y' | 'height'>;
};

export class FailedBoxes {
  private readonly _byLane: ReadonlyMap<number, readonly DrawnBox[]>;

  constructor(boxes: readonly DrawnBox[]) {
    const byLane = new Map<number, DrawnBox[]>();
    for (const box of boxes) {
      if (BOX_KINDS[box.kind] === 'failed') {
        const ofLane = byLane.get(box.lane) ?? [];
        byLane.set(box.lane, ofLane);
        ofLane.push(box);
      }
    }
    this._byLane = byLane;
  }

  draw(ink: IInk, colours: ShadeColours, place: PicturePlace): void {
    const { width, scale } = place;
    for (const lane of this._byLane.keys()) {
      const failed = this._of(lane, place);
      drawFailed(ink, colours, failed, place.areaOf(lane), width, scale);
    }
  }

  /** The boxes of the mark at a point, in device pixels; none: there is no mark. */
  at(
    lane: number,
    x: number,
    y: number,
    place: PicturePlace
  ): readonly DrawnBox[] {
    if (!this._byLane.has(lane)) {
      return [];
    }
    const { marks } = this._of(lane, place);
    return markAt(marks, place.areaOf(lane), x, y, place.scale)?.of ?? [];
  }

  private _of(lane: number, place: PicturePlace): FailedOfLane<DrawnBox> {
    const { view, width, scale } = place;
    const x = (seconds: number) =>
      Math.round(((seconds - view.from) / (view.to - view.from)) * width);
    const boxes = this._byLane
      .get(lane)!
      .filter(({ from, to }) => to >= view.from && from <= view.to)
      .map(of => ({ left: x(of.from), right: x(of.to), runs: 1, of }));
    return failedOfLane(boxes, scale);
  }
}
