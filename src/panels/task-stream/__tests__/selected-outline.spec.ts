/** The outline of the selected task, also where no tile has a box of its own of it. */
import { SvgInk } from '../../../charts/ink';
import { drawnTile } from '../../../testing/drawn-lanes';
import { laneIndices } from '../../../testing/ids';
import { LaneOverlay } from '../lane-overlay';
import type { LaneScene, SelectedPlace } from '../lane-scene';
import { tileSeconds } from '../tile-plan';
import { headedWorker, stillScene } from './still-scene';

const LEVEL = 12;
const SECONDS = tileSeconds(LEVEL);
const laneIndexes = laneIndices([0, 1]);

/** One box of ten runs on each lane; one of run 3, of its own, on the second. */
const tile = {
  ...drawnTile(['aaaaaaaa', 'bbbbbbbb....cccc'], { level: LEVEL, index: 0 }),
  run: Uint32Array.of(2 ** 32 - 1, 2 ** 32 - 1, 3),
  tasks: Uint32Array.of(10, 10, 1)
};
const place: SelectedPlace = {
  run: 7,
  laneIndex: laneIndexes[1]!,
  from: SECONDS / 4,
  to: SECONDS / 4 + 1e-6
};

function outlines(over: Partial<LaneScene>): (readonly [number, number])[] {
  const ink = new SvgInk(text => text.length * 6);
  const lanes = [...laneIndexes].map((laneIndex, at) => ({
    laneIndex,
    worker: 0,
    thread: at,
    top: 18 + 20 * at
  }));
  const scene = stillScene({
    view: { from: 0, to: SECONDS },
    width: 512,
    height: 80,
    layout: {
      laneHeight: 20,
      height: 80,
      workers: [headedWorker(lanes)]
    },
    tiles: { level: LEVEL, first: 0, count: 1 },
    tileOf: () => tile,
    ...over
  });
  new LaneOverlay().draw(ink, scene);
  return [
    ...ink.drawn.markup.matchAll(
      /<rect x="(-?[\d.]+)" y="([\d.]+)" [^>]*fill="none"/g
    )
  ].map(([, x, y]) => [Number(x), Number(y)] as const);
}

it('is drawn where the run lies, if tiles have it only among others', () => {
  expect(outlines({ selectedRun: 7, selectedPlace: place })).toEqual([
    [128, 40]
  ]);
  expect(outlines({ selectedRun: 7 })).toEqual([]);
});

it('is that of its box where it has one, and of no other run', () => {
  expect(
    outlines({ selectedRun: 3, selectedPlace: { ...place, run: 3 } })
  ).toEqual([[12, 40]]);
  // What was selected before it.
  expect(outlines({ selectedRun: 8, selectedPlace: place })).toEqual([]);
  expect(
    outlines({
      selectedRun: 7,
      selectedPlace: { ...place, from: -5, to: -4 }
    })
  ).toEqual([]);
});
