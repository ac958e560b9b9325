/**
 * The lanes of a picture as SVG, from the tiles of the canvas: boxes by the rules of the raster, one by one, and around them what is drawn on the
 * canvas too.
 * Coordinates are device pixels, as in a `LaneScene`.
 */
import { BoxKind } from '../../records/enumerations';
import { SvgInk } from '../../charts/ink';
import {
  boxColour,
  boxPattern,
  hatchSeceded,
  isOfFunction,
  struckLine,
  rowsInLane
} from '../../charts/lane-fills';
import {
  GAP_FROM,
  isOfFailedRuns,
  liesOver,
  MARK_FROM,
  PATTERN_FROM
} from '../../charts/lane-raster';
import {
  fillOf,
  joined,
  solidColour,
  type Svg,
  svgElement
} from '../../charts/svg';
import { patternName } from '../../charts/svg-patterns';
import { topLines } from '../../charts/theme';
import type { TileData } from '../../feed/feed-types';
import type { TextWidth } from '../picture-parts';
import { drawGround } from './lane-ground';
import { LaneOverlay } from './lane-overlay';
import {
  boxPixels,
  cellPixels,
  colouringSlot,
  laneBox,
  laneTops,
  type LaneScene
} from './lane-scene';
import { BOX_KINDS } from './rows';
import { CELLS_PER_TILE } from './tile-plan';

const EXACT = 255;
/** What covers less of its time is paler, but never too pale to be seen. */
const PALEST = 90 / 255;

/** How many rectangles the lanes of these tiles would be. */
export function boxesIn(scene: LaneScene, tiles: readonly TileData[]): number {
  const tops = laneTops(scene);
  let boxes = 0;
  for (const tile of tiles) {
    for (const lane of tile.laneIndex) {
      boxes += tops.has(lane as never) ? 1 : 0;
    }
  }
  return boxes;
}

export function lanesSvg(
  scene: LaneScene,
  tiles: readonly TileData[],
  textWidth: TextWidth
): Svg {
  const ground = new SvgInk(textWidth);
  drawGround(ground, scene);
  const overlay = new SvgInk(textWidth);
  new LaneOverlay().draw(overlay, scene);
  return joined([
    ground.drawn,
    ...tiles.flatMap(tile => boxesOf(scene, tile)),
    overlay.drawn
  ]);
}

/** In the order of the raster: work as given, then failed ones that are too thin for a mark once more, then strips. */
function boxesOf(scene: LaneScene, tile: TileData): Svg[] {
  const { pixelRatio: ratio } = scene;
  const tops = laneTops(scene);
  const rows = Array.from(tile.laneIndex, (_, row) => row).filter(
    row => !isOfFailedRuns(tile, row)
  );
  const thin = rows.filter(row => {
    const { left, right } = boxPixels(scene, tile, row);
    return (
      tile.kind[row] === BoxKind.Failed && right - left < MARK_FROM * ratio
    );
  });
  const work = rows.filter(row => tile.strip[row] !== 1);
  const strips = rows.filter(row => tile.strip[row] === 1);
  const edges = new RunEdges(scene, tile);
  return [...work, ...thin, ...strips].flatMap(row => {
    const top = tops.get(tile.laneIndex[row]!);
    return top === undefined
      ? []
      : [...edges.before(row, top), ...boxOf(scene, tile, row, top)];
  });
}

/** Air between runs of one thread that overlap by as much as their times are wrong; others leave it at their right. */
class RunEdges {
  private readonly _ends = new Map<number, number>();

  constructor(
    private readonly _scene: LaneScene,
    private readonly _tile: TileData
  ) {}

  /** What is drawn below the box of a row, and over those before it. */
  before(row: number, top: number): Svg[] {
    const { _scene: scene, _tile: tile } = this;
    const { pixelRatio: ratio, palette } = scene;
    if (
      tile.strip[row] === 1 ||
      tile.cover[row] !== EXACT ||
      tile.kind[row] === BoxKind.Failed ||
      liesOver(tile, row)
    ) {
      return [];
    }
    const lane = tile.laneIndex[row]!;
    const { left, right } = boxPixels(scene, tile, row);
    const end = this._ends.get(lane) ?? -Infinity;
    this._ends.set(lane, Math.max(end, right));
    const gap = right - left >= GAP_FROM * ratio ? Math.round(ratio) : 0;
    const whole = cellPixels(scene, tile, 0, CELLS_PER_TILE);
    const last = Math.min(scene.width * ratio, whole.right) - gap;
    // (what begins beyond it is drawn with the next tile)
    if (left >= end || gap === 0 || left > last) {
      return [];
    }
    // (that at its right is where another one was drawn first)
    return [left - gap, right - gap]
      .filter(x => x >= Math.max(0, whole.left) && x <= last)
      .map(x =>
        svgElement('rect', {
          x,
          ...laneBox(scene, top, false),
          width: gap,
          fill: solidColour(palette.background, '#ffffff')
        })
      );
  }
}

function boxOf(
  scene: LaneScene,
  tile: TileData,
  row: number,
  top: number
): Svg[] {
  const { pixelRatio: ratio, palette } = scene;
  const { left, right } = boxPixels(scene, tile, row);
  // A box over several tiles is a row in each.
  const whole = cellPixels(scene, tile, 0, CELLS_PER_TILE);
  const size = right - left;
  const isStrip = tile.strip[row] === 1;
  const isPart = liesOver(tile, row);
  const isFailed = tile.kind[row] === BoxKind.Failed;
  const gap = !isPart && size >= GAP_FROM * ratio ? Math.round(ratio) : 0;
  const x = Math.max(0, whole.left, left);
  const end = Math.min(
    scene.width * ratio,
    whole.right,
    Math.max(left + (isFailed ? 2 : 1), right - gap)
  );
  if (end <= x) {
    return [];
  }
  const { y, height } = laneBox(scene, top, isStrip);
  const place = { x, y, width: end - x, height };
  const word = BOX_KINDS[tile.kind[row] as number] ?? 'compute';
  const slot = colouringSlot(
    scene,
    word,
    tile.functions[tile.function[row] as number] ?? ''
  );
  const cover = (tile.cover[row] as number) / EXACT;
  const pattern = boxPattern(word);
  const hasPattern =
    pattern !== 'plain' &&
    pattern !== 'outline' &&
    pattern !== 'struck' &&
    size >= PATTERN_FROM * ratio;
  const box = svgElement('rect', {
    ...place,
    fill: hasPattern
      ? `url(#${patternName(word, true)})`
      : boxColour(palette, word, slot),
    'fill-opacity':
      cover < 1 ? (isPart ? cover : Math.max(PALEST, cover)) : undefined
  });
  if (isStrip) {
    // A line of air, so that it parts from the work above it.
    const air = Math.round(ratio);
    return [
      svgElement('rect', {
        ...place,
        y: y - air,
        height: air,
        fill: solidColour(palette.background, '#ffffff')
      }),
      box
    ];
  }
  const shape = { left: x, right: end, y, height };
  if (pattern === 'outline') {
    const ink = new SvgInk(() => 0);
    hatchSeceded(ink, palette, shape, scene.width * ratio, ratio);
    return [box, ink.drawn];
  }
  const lines =
    slot === null || !isOfFunction(word) || lineRoom(scene) <= 2 * ratio
      ? 0
      : topLines(slot);
  const struck =
    pattern === 'struck' && size >= PATTERN_FROM * ratio
      ? [struckLine(shape, ratio)]
      : [];
  return [
    box,
    ...struck.map(line =>
      svgElement('rect', {
        x: line.left,
        y: line.y,
        width: line.right - line.left,
        height: line.height,
        ...fillOf(palette.patternLine)
      })
    ),
    ...Array.from({ length: lines }, (_, line) =>
      svgElement('rect', {
        ...place,
        y: y + 4 * ratio * line,
        height: 2 * ratio,
        ...fillOf(palette.patternLine)
      })
    )
  ];
}

/** Device pixels above the strip. */
function lineRoom({ layout, pixelRatio }: LaneScene): number {
  return rowsInLane(layout.laneHeight).workHeight * pixelRatio;
}

/** ✕ around a point. */
export function crossSvg(
  x: number,
  y: number,
  size: number,
  stroke: string,
  width: number
): Svg {
  const [left, right, top, bottom] = [x - size, x + size, y - size, y + size];
  return svgElement('path', {
    d: `M${left} ${top}L${right} ${bottom}M${right} ${top}L${left} ${bottom}`,
    fill: 'none',
    stroke,
    'stroke-width': width
  });
}
