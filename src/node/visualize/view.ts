import type { Shade } from './theme';

/** Which part of a picture is drawn, and how large. */
export type View = {
  /** Seconds at the left and right border. */
  readonly from: number;
  readonly to: number;
  readonly width: number;
  readonly shade: Shade;
};
