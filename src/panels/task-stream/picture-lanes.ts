/**
 * The lanes of a picture as SVG: what `LanePainter` and `LaneOverlay` draw on a canvas, box by box, from the same tiles and by the same rules.
 * Coordinates are device pixels, as in a `LaneScene`.
 */
import { BoxKind } from '../../records/enumerations';
import { boxColour, boxPattern, rowsInLane } from '../../charts/lane-fills';
import { MARK_FROM } from '../../charts/lane-raster';
import {
  fillOf,
  joined,
  solidColour,
  type Svg,
  svgElement,
  textNode
} from '../../charts/svg';
import { runningFill, textOn, topLines } from '../../charts/theme';
import type { TileData } from '../../feed/feed-types';
import { formatDuration } from '../format';
import { axisTicks } from './figure';
import { LABEL_FROM, LABEL_PADDING, notesOf } from './lane-notes';
import {
  boxPixels,
  cellPixels,
  colourOf,
  colouringSlot,
  laneBox,
  laneTops,
  type LaneScene,
  pixelX
} from './lane-scene';
import { BOX_KINDS } from './rows';
import { CELLS_PER_TILE } from './tile-plan';

/** From this width on (CSS pixels) a box shows its pattern, and leaves a pixel of air at its right, as in the raster. */
const PATTERN_FROM = 5;
const GAP_FROM = 3;
const EXACT = 255;
/** What covers less of its time is paler, but never too pale to be seen. */
const PALEST = 90 / 255;

/** Width of a text of 11 px. */
export type TextWidth = (text: string) => number;

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
  return joined([
    ...groundOf(scene),
    ...tiles.flatMap(tile => boxesOf(scene, tile)),
    ...runningOf(scene, textWidth),
    ...tiles.flatMap((tile, place) =>
      notedOf(scene, tile, place === 0, textWidth)
    ),
    ...selectedOf(scene, tiles),
    ...rangeOf(scene, textWidth),
    ...nowOf(scene)
  ]);
}

/** Under this name is what boxes of a kind are filled with; `inLanes`: in their pixels. */
export function patternName(kind: string, inLanes = false): string {
  return inLanes ? `sw-${kind}-in-lanes` : `sw-${kind}`;
}

function groundOf({ palette, layout, pixelRatio, ...scene }: LaneScene): Svg[] {
  const fill = solidColour(palette.gridLine, palette.background);
  const line = (x: number, y: number, width: number, height: number) =>
    svgElement('rect', { x, y, width, height, fill });
  return [
    ...axisTicks(scene.view, scene.width).map(({ x }) =>
      line(
        Math.round(x * pixelRatio),
        0,
        Math.max(1, Math.floor(pixelRatio)),
        scene.height * pixelRatio
      )
    ),
    ...layout.workers.flatMap(worker =>
      worker.lanes.map(lane =>
        line(
          0,
          Math.round((lane.top + layout.laneHeight) * pixelRatio) - 1,
          scene.width * pixelRatio,
          1
        )
      )
    )
  ];
}

/** In the order of the raster: as given, then failed ones that are too thin for a mark once more. */
function boxesOf(scene: LaneScene, tile: TileData): Svg[] {
  const { pixelRatio: ratio } = scene;
  const tops = laneTops(scene);
  const rows = Array.from(tile.laneIndex, (_, row) => row);
  const thin = rows.filter(row => {
    const { left, right } = boxPixels(scene, tile, row);
    return (
      tile.kind[row] === BoxKind.Failed && right - left < MARK_FROM * ratio
    );
  });
  return [...rows, ...thin].flatMap(row => {
    const top = tops.get(tile.laneIndex[row]!);
    return top === undefined ? [] : boxOf(scene, tile, row, top);
  });
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
  const isPart = tile.tasks[row] === 0 && !isStrip;
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
  const hasPattern =
    boxPattern(word) !== 'plain' && size >= PATTERN_FROM * ratio;
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
  const lines =
    slot === null || word !== 'compute' || lineRoom(scene) <= 2 * ratio
      ? 0
      : topLines(slot);
  return [
    box,
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

function runningOf(scene: LaneScene, textWidth: TextWidth): Svg[] {
  const { now, palette, pixelRatio: ratio } = scene;
  const tops = laneTops(scene);
  return scene.running.flatMap(task => {
    const top = tops.get(task.laneIndex);
    const x = Math.max(0, pixelX(scene, task.started));
    const end = Math.min(scene.width * ratio, pixelX(scene, now ?? 0));
    if (now === null || top === undefined || end <= x) {
      return [];
    }
    const { y, height } = laneBox(scene, top, false);
    const fill = runningFill(palette, colourOf(scene, 0, task.function));
    return [
      svgElement('rect', { x, y, width: end - x, height, fill }),
      svgElement('rect', {
        x: Math.max(x, end - 2 * ratio),
        y,
        width: 2 * ratio,
        height,
        fill: solidColour(palette.text, palette.background)
      }),
      ...labelOf(
        scene,
        task.function,
        fill,
        { left: x, right: end - 4 * ratio, y, height },
        textWidth
      )
    ];
  });
}

/** Names in wide boxes, ✕ in failed ones. */
function notedOf(
  scene: LaneScene,
  tile: TileData,
  isFirst: boolean,
  textWidth: TextWidth
): Svg[] {
  const ratio = scene.pixelRatio;
  const tops = laneTops(scene);
  return notesOf(tile).flatMap(({ row, from, to }) => {
    const top = tops.get(tile.laneIndex[row]!);
    const box = cellPixels(scene, tile, from, to);
    if (
      top === undefined ||
      box.right < 0 ||
      box.left > scene.width * ratio ||
      // The first tile in view draws its label.
      ((tile.from[row] as number) < 0 && !isFirst)
    ) {
      return [];
    }
    const shape = { ...box, ...laneBox(scene, top, false) };
    if (tile.kind[row] === BoxKind.Failed) {
      return failedMark(scene, shape);
    }
    if (box.right - box.left < LABEL_FROM * ratio) {
      return [];
    }
    const name = tile.functions[tile.function[row] as number] ?? '';
    return labelOf(scene, name, colourOf(scene, 0, name), shape, textWidth);
  });
}

type Shape = {
  readonly left: number;
  readonly right: number;
  readonly y: number;
  readonly height: number;
};

function labelOf(
  { palette, pixelRatio: ratio, width }: LaneScene,
  text: string,
  fill: string,
  { left, right, y, height }: Shape,
  textWidth: TextWidth
): Svg[] {
  const x = Math.max(left, 0) + LABEL_PADDING * ratio;
  const room = Math.min(right, width * ratio) - x - 3 * ratio;
  if (
    text === '' ||
    room < 12 * ratio ||
    height < 11 * ratio ||
    textWidth(text) * ratio > room
  ) {
    return [];
  }
  return [
    svgElement(
      'text',
      {
        x,
        y: y + height / 2 + 4 * ratio,
        'font-size': 11 * ratio,
        'font-family': palette.uiFont,
        fill: textOn(fill)
      },
      textNode(text)
    )
  ];
}

function failedMark(
  { palette, pixelRatio: ratio, width }: LaneScene,
  { left, right, y, height }: Shape
): Svg[] {
  const wide = right - left;
  const parts: Svg[] = [];
  if (palette.failedLine !== palette.kinds.failed && wide >= 4 * ratio) {
    parts.push(
      svgElement('rect', {
        x: left + ratio / 2,
        y: y + ratio / 2,
        width: wide - 2 * ratio,
        height: height - ratio,
        fill: 'none',
        stroke: palette.failedLine,
        'stroke-width': ratio
      })
    );
  }
  if (wide >= MARK_FROM * ratio && height >= MARK_FROM * ratio) {
    const x = (Math.max(left, 0) + Math.min(right, width * ratio)) / 2;
    const middle = y + height / 2;
    const room = (MARK_FROM / 2) * ratio;
    parts.push(
      svgElement('rect', {
        x: x - room,
        y: middle - room,
        width: 2 * room,
        height: 2 * room,
        fill: palette.kinds.failed
      }),
      crossSvg(x, middle, 3 * ratio, '#ffffff', 1.6 * ratio)
    );
  }
  return parts;
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

function selectedOf(scene: LaneScene, tiles: readonly TileData[]): Svg[] {
  const { palette, pixelRatio: ratio, selectedRun } = scene;
  const tops = laneTops(scene);
  const boxes = tiles.flatMap(tile =>
    Array.from(tile.run, (_, row) => row)
      .filter(row => tile.run[row] === selectedRun && tile.strip[row] !== 1)
      .flatMap(row => {
        const top = tops.get(tile.laneIndex[row]!);
        return top === undefined
          ? []
          : [
              {
                ...boxPixels(scene, tile, row),
                ...laneBox(scene, top, false)
              }
            ];
      })
  );
  const [first] = boxes;
  if (first === undefined) {
    return [];
  }
  const left = Math.max(0, Math.min(...boxes.map(box => box.left)));
  const right = Math.min(
    scene.width * ratio,
    Math.max(...boxes.map(box => box.right), left + 3 * ratio)
  );
  return right <= left
    ? []
    : [
        svgElement('rect', {
          x: left,
          y: first.y + ratio,
          width: right - left,
          height: first.height - 2 * ratio,
          fill: 'none',
          stroke: solidColour(palette.brand, palette.background),
          'stroke-width': 2.5 * ratio
        })
      ];
}

function rangeOf(scene: LaneScene, textWidth: TextWidth): Svg[] {
  const { range, palette, pixelRatio: ratio } = scene;
  if (range === null) {
    return [];
  }
  const edge = scene.width * ratio;
  const bottom = scene.height * ratio;
  const line = Math.max(1, Math.round(2 * ratio));
  const begin = pixelX(scene, range.from);
  const end = Math.max(begin + line, pixelX(scene, range.to));
  const [left, right] = [Math.max(0, begin), Math.min(edge, end)];
  if (right <= left) {
    return [];
  }
  const fill = solidColour(palette.brand, palette.background);
  const box = (x: number, width: number, opacity?: number) =>
    svgElement('rect', {
      x,
      y: 0,
      width,
      height: bottom,
      fill,
      'fill-opacity': opacity
    });
  const text = formatDuration(range.to - range.from);
  const width = (textWidth(text) + 10) * ratio;
  const x = (left + right - width) / 2;
  return [
    box(left, right - left, 0.12),
    ...(begin >= 0 ? [box(begin, line)] : []),
    ...(end <= edge ? [box(end - line, line)] : []),
    ...(right - left < width
      ? []
      : [
          svgElement('rect', {
            x,
            y: bottom - 16 * ratio,
            width,
            height: 16 * ratio,
            fill
          }),
          svgElement(
            'text',
            {
              x: x + 5 * ratio,
              y: bottom - 4 * ratio,
              'font-size': 11 * ratio,
              'font-family': palette.uiFont,
              fill: textOn(palette.brand)
            },
            textNode(text)
          )
        ])
  ];
}

function nowOf(scene: LaneScene): Svg[] {
  const { now, palette, pixelRatio: ratio } = scene;
  const x = now === null ? -1 : Math.round(pixelX(scene, now));
  return x < 0 || x > scene.width * ratio
    ? []
    : [
        svgElement('rect', {
          x,
          y: 0,
          width: Math.max(1, Math.round(ratio)),
          height: scene.height * ratio,
          fill: solidColour(palette.brand, palette.background)
        })
      ];
}
