import { readPalette } from '../../../charts/theme';
import type { LaneLayout } from '../lane-layout';
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

type WorkerRow = LaneLayout['workers'][number];

/** The only worker: a header, and below it lanes of 20 pixels. */
export function headedWorker(lanes: WorkerRow['lanes']): WorkerRow {
  return {
    worker: 0,
    top: 0,
    height: 18 + 20 * lanes.length,
    headerHeight: 18,
    collapsed: false,
    lanes
  };
}
