/**
 * What the Task Stream shows as an SVG file: the part of the run in view, of all workers, also of those to which one had to scroll. Pure: the
 * PNG is made of the same text.
 *
 *     Task Stream, first-look                      title, and what is shown
 *     whole run   ▁▃█████▇▇███▅▁██████
 *     since start       10 s      20 s
 *     spans       data load | Model training
 *     worker 0    2 threads · busy 89 %
 *     thread 1    ████ ██████ ▒▒███ ████
 *     ■ load 54.1 s  ■ fit 18.8 s                  legend
 */
import { elided } from '../../charts/elided-text';
import { SvgInk } from '../../charts/ink';
import { hatchSeceded, markFailed, struckLine } from '../../charts/lane-fills';
import {
  fillOf,
  joined,
  solidColour,
  type Svg,
  svgElement
} from '../../charts/svg';
import { kindFill, patternName, patternsOf } from '../../charts/svg-patterns';
import {
  functionColour,
  type Palette,
  runningFill,
  topLines
} from '../../charts/theme';
import type { TileData } from '../../feed/feed-types';
import {
  measuring,
  type Section,
  stacked,
  type TextWidth,
  titleSection,
  write
} from '../picture-parts';
import type { Picture } from '../picture-file';
import { axisTicks, bandShapes, stripShapes } from './figure';
import { BAND_HEIGHT, placedLabels, stripColour } from './frame-painter';
import { HEADER_HEIGHT, type WorkerRow } from './lane-layout';
import type { LaneScene } from './lane-scene';
import { crossSvg, lanesSvg } from './picture-lanes';
import {
  bandLevels,
  type BandRow,
  type LanePlace,
  type LegendItem,
  type StripBar,
  type WorkerHeader
} from './rows';
import { type Viewport, xOf } from './viewport';

type PictureParts = {
  readonly title: string;
  /** What of the run is shown, and under which filter. */
  readonly subtitle: string;
  readonly scene: LaneScene;
  /** Those in view, in order. */
  readonly tiles: readonly TileData[];
  /** Pixels of the labels at the left. */
  readonly gutter: number;
  readonly whole: {
    readonly label: readonly string[];
    readonly view: Viewport;
    readonly from: number;
    readonly to: number;
    readonly bars: readonly StripBar[];
  };
  readonly axisLabel: string;
  readonly bandsLabel: string;
  readonly bands: readonly BandRow[];
  readonly heads: ReadonlyMap<number, WorkerHeader>;
  laneName(lane: LanePlace): string;
  readonly legend: readonly LegendItem[];
  readonly textWidth: TextWidth;
};

const STRIP_HEIGHT = 36;
const AXIS_HEIGHT = 20;
const LEGEND_LINE = 18;
/** How much wider than others bold letters are. */
const BOLDER = 1.1;
const SWATCH = 10;
/** Of the functions that have no colour of their own. */
const OTHER = { slot: -1, round: 0 };
/** Those of the lanes and their legend that have patterns. */
const PATTERNED = ['transfer', 'disk', 'import'] as const;

export function pictureOf(parts: PictureParts): Picture {
  const { scene, gutter } = parts;
  const { palette } = scene;
  return stacked(
    parts.title,
    gutter + scene.width,
    [
      titleSection(parts.title, parts.subtitle, palette),
      wholeSection(parts),
      axisSection(parts),
      bandsSection(parts),
      lanesSection(parts),
      legendSection(parts)
    ],
    [
      ...patternsOf(PATTERNED, palette),
      ...patternsOf(PATTERNED, palette, scene.pixelRatio),
      clipOf(scene)
    ],
    palette
  );
}

function wholeSection(parts: PictureParts): Section {
  const { scene, gutter } = parts;
  const { palette, width } = scene;
  const { label, view, from, to, bars } = parts.whole;
  const left = xOf(view, width, from);
  const shapes = stripShapes(bars, xOf(view, width, to) - left);
  const top = 4;
  const height = STRIP_HEIGHT - top;
  const [begin, end] = [scene.view.from, scene.view.to].map(seconds =>
    Math.min(width, Math.max(0, xOf(view, width, seconds)))
  ) as [number, number];
  return {
    height: STRIP_HEIGHT,
    svg: joined([
      ...label.map((text, line) =>
        write(text, 0, 10 + 12 * line, palette.secondaryText, palette)
      ),
      svgElement(
        'g',
        { transform: `translate(${gutter} 0)` },
        ...shapes.map(shape =>
          shape.role === 'failed-mark'
            ? crossSvg(
                left + shape.x,
                top + 3,
                3,
                solidColour(palette.text, palette.background),
                1.6
              )
            : svgElement('rect', {
                x: left + shape.x,
                y: top + shape.top * height,
                width: shape.width,
                height: shape.height * height,
                fill:
                  shape.role === 'kind-disk'
                    ? `url(#${patternName('disk')})`
                    : shape.role === 'kind-transfer'
                      ? `url(#${patternName('transfer')})`
                      : stripColour(palette)
              })
        ),
        svgElement('rect', {
          x: begin + 1,
          y: 1,
          width: Math.max(2, end - begin - 2),
          height: STRIP_HEIGHT - 2,
          fill: 'none',
          stroke: solidColour(palette.brand, palette.background),
          'stroke-width': 2
        })
      )
    ])
  };
}

function axisSection({
  scene,
  gutter,
  axisLabel,
  textWidth
}: PictureParts): Section {
  const { palette, view, width } = scene;
  const labels = placedLabels(
    measuring(textWidth),
    axisTicks(view, width),
    width
  );
  return {
    height: AXIS_HEIGHT,
    svg: joined([
      write(axisLabel, 0, 14, palette.secondaryText, palette),
      ...labels.map(({ text, x }) =>
        write(text, gutter + x, 14, palette.secondaryText, palette)
      )
    ])
  };
}

function bandsSection(parts: PictureParts): Section {
  const { scene, gutter, bands, textWidth } = parts;
  const { palette, view, width } = scene;
  const levels = bandLevels(bands);
  return {
    height: levels * BAND_HEIGHT,
    svg: joined(
      levels === 0
        ? []
        : [
            write(parts.bandsLabel, 0, 12, palette.secondaryText, palette),
            svgElement(
              'g',
              { transform: `translate(${gutter} 0)` },
              ...bandShapes(bands, view, width).flatMap(band => {
                const { fill, line } =
                  palette.bands[band.tint % palette.bands.length]!;
                const x = Math.max(0, band.x);
                const end = Math.min(width, band.x + band.width - 1);
                const y = band.level * BAND_HEIGHT;
                const room = end - band.textX - 2;
                const box = (height: number, colour: string) =>
                  svgElement('rect', {
                    x,
                    y,
                    width: Math.max(0, end - x),
                    height,
                    fill: colour
                  });
                return [
                  box(BAND_HEIGHT - 2, fill),
                  box(2, line),
                  write(
                    elided(measuring(textWidth), band.text, room),
                    band.textX,
                    y + 12.5,
                    palette.text,
                    palette
                  )
                ];
              })
            )
          ]
    )
  };
}

function lanesSection(parts: PictureParts): Section {
  const { scene, gutter, heads, tiles, textWidth } = parts;
  const { layout, palette, width, pixelRatio } = scene;
  const named = layout.workers.flatMap(worker => {
    const head = heads.get(worker.worker);
    const text = head === undefined ? String(worker.worker) : head.name;
    if (worker.headerHeight === 0) {
      return loneLaneName(parts, worker, text);
    }
    const nameEnd = textWidth(text) * BOLDER + 12;
    return [
      svgElement('rect', {
        x: 0,
        y: worker.top,
        width: gutter + width,
        height: HEADER_HEIGHT,
        fill: solidColour(palette.headerFill, palette.background)
      }),
      write(text, 4, worker.top + 13, palette.text, palette, {
        'font-weight': 600
      }),
      write(
        [head?.standing?.text, head?.text].filter(Boolean).join(' · '),
        Math.max(gutter, nameEnd) + 6,
        worker.top + 13,
        palette.text,
        palette
      ),
      ...worker.lanes.map(lane =>
        write(
          parts.laneName(lane),
          14,
          lane.top + layout.laneHeight / 2 + 4,
          palette.secondaryText,
          palette
        )
      )
    ];
  });
  return {
    height: layout.height + 8,
    svg: joined([
      svgElement(
        'g',
        {
          transform: `translate(${gutter} 0) scale(${1 / pixelRatio})`,
          'clip-path': `url(#${CLIP})`
        },
        lanesSvg(scene, tiles, textWidth)
      ),
      ...named
    ])
  };
}

/** As on the page: its name, and at the right of the gutter why it begins no task or how busy it was, as far as there is room. */
function loneLaneName(
  { scene, gutter, heads, textWidth }: PictureParts,
  { worker, top }: WorkerRow,
  name: string
): Svg[] {
  const { layout, palette } = scene;
  const { brief, standing } = heads.get(worker) ?? {};
  const measure = measuring(text => textWidth(text) * BOLDER);
  const room = gutter - 8;
  const figure = standing?.word ?? brief?.word ?? '';
  const figureWidth = textWidth(figure) + 6;
  const hasRoom = textWidth(name) * BOLDER + figureWidth <= room;
  const isKept = standing !== undefined || hasRoom;
  const y = top + layout.laneHeight / 2 + 4;
  return [
    write(
      elided(measure, name, room - (isKept ? figureWidth : 0)),
      4,
      y,
      palette.text,
      palette,
      { 'font-weight': 600 }
    ),
    ...(isKept
      ? [
          write(
            figure,
            gutter - figureWidth + 2,
            y,
            palette.secondaryText,
            palette
          )
        ]
      : [])
  ];
}

const CLIP = 'sw-lanes';

function clipOf({ width, height, pixelRatio }: LaneScene): Svg {
  return svgElement(
    'clipPath',
    { id: CLIP },
    svgElement('rect', {
      width: width * pixelRatio,
      height: height * pixelRatio
    })
  );
}

function legendSection({
  scene,
  gutter,
  legend,
  textWidth
}: PictureParts): Section {
  const { palette } = scene;
  const room = gutter + scene.width;
  let x = 0;
  let line = 0;
  const items = legend.flatMap(item => {
    const name = textWidth(item.name);
    const swatch = item.kind === 'unmarked' ? 0 : SWATCH + 5;
    const figure = item.text === '' ? 0 : textWidth(item.text) + 5;
    const width = swatch + name + figure;
    if (x > 0 && x + width > room) {
      x = 0;
      line += 1;
    }
    const y = line * LEGEND_LINE;
    const left = x;
    x += width + 14;
    return [
      ...swatchSvg(item, left, y + 4, palette),
      write(item.name, left + swatch, y + 13, palette.text, palette),
      write(
        item.text,
        left + swatch + 5 + name,
        y + 13,
        palette.secondaryText,
        palette
      )
    ];
  });
  return {
    height: items.length === 0 ? 0 : (line + 1) * LEGEND_LINE,
    svg: joined(items)
  };
}

function swatchSvg(
  item: LegendItem,
  x: number,
  y: number,
  palette: Palette
): Svg[] {
  const place = { x, y, width: SWATCH, height: SWATCH };
  if (item.kind === 'unmarked') {
    return [];
  }
  if (item.kind === 'seceded') {
    const ink = new SvgInk(() => 0);
    const box = { left: x, right: x + SWATCH, y, height: SWATCH };
    hatchSeceded(ink, palette, box, box.right, 1);
    return [svgElement('rect', { ...place, fill: palette.other }), ink.drawn];
  }
  if (item.kind === 'cancelled' || item.kind === 'cancelled-running') {
    const box = { left: x, right: x + SWATCH, y, height: SWATCH };
    const struck = struckLine(box, 1);
    return [
      svgElement('rect', {
        ...place,
        fill:
          item.kind === 'cancelled'
            ? palette.other
            : runningFill(palette, palette.other)
      }),
      svgElement('rect', {
        ...place,
        y: struck.y,
        height: struck.height,
        ...fillOf(
          item.kind === 'cancelled' ? palette.patternLine : palette.text
        )
      })
    ];
  }
  if (item.kind === 'failed') {
    const ink = new SvgInk(() => 0);
    // (boxes end a pixel before the next)
    const box = { left: x, right: x + SWATCH + 1, y, height: SWATCH };
    markFailed(ink, palette, box, Infinity, 1);
    return [
      svgElement('rect', { ...place, fill: palette.kinds.failed }),
      ink.drawn
    ];
  }
  if (item.kind !== 'function' && item.kind !== 'others') {
    const kind = item.kind === 'compute' ? 'cpu' : item.kind;
    return [
      svgElement('rect', {
        ...place,
        fill: kindFill(kind, palette)
      })
    ];
  }
  const slot = item.kind === 'others' ? OTHER : item;
  return [
    svgElement('rect', { ...place, fill: functionColour(palette, slot) }),
    ...Array.from({ length: topLines(slot) }, (_, line) =>
      svgElement('rect', {
        ...place,
        // (within it, as on the page)
        y: y + 2 + 4 * line,
        height: 2,
        fill: palette.background
      })
    )
  ];
}
