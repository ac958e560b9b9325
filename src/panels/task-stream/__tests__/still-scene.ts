import { readPalette } from '../../../charts/theme';
import type { LaneScene } from '../lane-scene';

/** A scene at its top, in which no task runs and nothing is selected. */
export function stillScene(
  own: Pick<
    LaneScene,
    'view' | 'width' | 'height' | 'layout' | 'tiles' | 'tileOf'
  > &
    Partial<LaneScene>
): LaneScene {
  return {
    scrollTop: 0,
    pixelRatio: 1,
    slots: new Map(),
    slotsVersion: 0,
    colourBy: 'function',
    palette: readPalette(document.body),
    running: [],
    now: null,
    selectedRun: null,
    range: null,
    ...own
  };
}
