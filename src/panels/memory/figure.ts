/** The memory lines as a plotly figure; colours are roles, texts are escaped. */
import type { Trans } from '../../base/trans';
import type { LimitStep, LineBins, MemoryResult } from '../../wire/panel-link';
import {
  type Area,
  byteTicks,
  formatBytes,
  formatDifference,
  formatOffsetTick,
  formatTick,
  labelPixels,
  labelPlaces,
  type Place,
  timeTicks
} from '../format';
import {
  type Align,
  cornersOf,
  type Difference,
  type Line,
  type LostMark
} from './rows';

type Range = readonly [from: number, to: number];

type MemoryFigure = {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly layout: Readonly<Record<string, unknown>>;
};

const RUN_COLOURS = ['--sw-run-1', '--sw-run-2', '--sw-run-3', '--sw-run-4'];
const RUN_DASHES = ['solid', '7px,3px', '2px,3px', '12px,3px'];
const LIMIT_DASHES = { target: '2px,3px', spill: '6px,3px', pause: '10px,3px' };
/** Of a chart whose height is not known yet. */
const HEIGHT = 218;
/** Limits are drawn when memory reaches this share of the whole; below, they would press the lines flat. */
const LIMITS_FROM = 0.3;

/** plotly reads `<b>` and `<a href>` in texts; labels are the user's and stay text. */
export function plotText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

export function colourOfLine(line: Line): string {
  return line.run === null
    ? line.place === 0
      ? '--jp-ui-font-color2'
      : `--sw-fn-${(line.place % 12) + 1}`
    : (RUN_COLOURS[line.place % 4] as string);
}

export function dashOfLine(line: Line): string {
  return line.run === null ? 'solid' : (RUN_DASHES[line.place % 4] as string);
}

export function memoryFigure(
  lines: readonly Line[],
  limits: MemoryResult['limits'],
  align: Align,
  options: {
    readonly width: number;
    /** Of the whole chart; 0: not known yet. */
    readonly height?: number;
    /** Cluster limits do not fit lines of single workers. */
    readonly perWorker?: boolean;
    /** What the limits were from each time on; left out: always the same. */
    readonly limitSteps?: readonly LimitStep[];
    /** What is looked at; all of it if left out. */
    readonly range?: Range | undefined;
    readonly lost?: readonly LostMark[];
    readonly trans: Trans;
  }
): MemoryFigure {
  const { range, trans, lost = [] } = options;
  const highest = lines.reduce(
    (most, line) => Math.max(most, line.peak?.bytes ?? 0),
    0
  );
  const from = lines.reduce(
    (least, line) => Math.min(least, line.t[0] ?? Infinity),
    Infinity
  );
  // The last worker leaves after its last sample.
  const to = Math.max(
    lines.reduce((most, line) => Math.max(most, line.t.at(-1) ?? 0), 0),
    ...lost.map(({ t }) => t)
  );
  const first = Number.isFinite(from) ? (align === 'zero' ? 0 : from) : 0;
  const last = Math.max(to, first + 1);
  const [left, right] = range ?? [first, last];
  const axis: readonly [number, number] = range ?? [
    first,
    align === 'zero' ? last + (last - first) * ROOM : withRoom(first, last)
  ];
  const parts =
    limits === null || options.perWorker === true
      ? []
      : limitParts(
          options.limitSteps ?? [
            { from: -Infinity, memoryLimit: limits.memoryLimit }
          ],
          axis
        );
  const highestLimit = parts.reduce(
    (most, { memoryLimit }) => Math.max(most, memoryLimit),
    0
  );
  const showsLimits =
    limits !== null &&
    highestLimit > 0 &&
    highest >= highestLimit * LIMITS_FROM;
  const top = showsLimits
    ? Math.max(highestLimit, highest * 1.05)
    : Math.max(highest * 1.25, 1);
  // (none are said beside what ends before)
  const limitAtRight = parts.findLast(({ to }) => to >= axis[1])?.memoryLimit;
  const isNarrow = options.width < 430;
  const margin = { l: 60, r: showsLimits && !isNarrow ? 92 : 16, t: 10, b: 24 };
  const width = options.width - margin.l - margin.r;
  const height = (options.height || HEIGHT) - margin.t - margin.b;
  const corners = lines.map(cornersOf);
  return {
    data: lines.map((line, index) => ({
      type: 'scatter',
      mode: 'lines',
      name: plotText(line.label),
      x: corners[index]!.t,
      y: corners[index]!.bytes,
      connectgaps: false,
      hoverinfo: 'none',
      line: {
        color: colourOfLine(line),
        width: line.run === null ? 1.5 : 2,
        dash: dashOfLine(line)
      },
      ...(line.run !== null && line.place === 0 && align === 'zero'
        ? { fill: 'tozeroy', fillcolor: 'rgba(110,150,200,0.14)' }
        : {})
    })),
    layout: {
      ...PLAIN,
      hovermode: 'x',
      hoverdistance: -1,
      dragmode: 'zoom',
      margin,
      xaxis: {
        ...timeAxis(left, right, formatOf(align), width, margin.r),
        range: axis,
        fixedrange: false,
        linecolor: '--jp-border-color1'
      },
      yaxis: byteAxis(top, byteTicks(top)),
      shapes: [
        ...(showsLimits ? limitShapes(limits, parts, axis) : []),
        ...lost.map(lostShape)
      ],
      annotations: [
        ...lost.filter(({ t }) => t >= axis[0] && t <= axis[1]).map(lostNote),
        ...(showsLimits && !isNarrow && limitAtRight !== undefined
          ? limitNotes(sharesOf(limits, limitAtRight), trans, height / top)
          : []),
        ...peakNotes(lines, corners, align, trans, {
          left: axis[0],
          right: axis[1],
          width,
          top,
          height,
          above: margin.t
        })
      ]
    }
  };
}

/** What an axis has beyond its lines, as a share of their length. */
const ROOM = 0.02;

/** With room for what comes: a line that goes on flat is drawn again when that is used up. */
export function withRoom(left: number, right: number): number {
  const seconds = right - left;
  return right + Math.max(seconds * ROOM, Math.min(seconds / 10, 5));
}

const formatOf = (align: Align) =>
  align === 'zero' ? formatOffsetTick : formatTick;

export const PLAIN = {
  showlegend: false,
  paper_bgcolor: 'rgba(0,0,0,0)',
  plot_bgcolor: 'rgba(0,0,0,0)',
  font: {
    family: '--jp-ui-font-family',
    size: 11,
    color: '--jp-ui-font-color2'
  }
};

/**
 * @param rightPixels - the margin at its right.
 *
 * Plotly would measure all words once for each of them, a third of the time that a chart takes, to leave out what is cut off.
 */
export function timeAxis(
  from: number,
  to: number,
  format: typeof formatTick,
  widthPixels: number,
  rightPixels: number
): Readonly<Record<string, unknown>> {
  const { ticks } = timeTicks(from, to, widthPixels, format);
  // One that would be cut off at the right has no word.
  const texts = ticks.map(({ at, text }) => {
    const free = ((to - at) / (to - from)) * widthPixels + rightPixels;
    return labelPixels(text) <= 2 * free ? text : '';
  });
  return {
    range: [from, to],
    tickvals: ticks.map(({ at }) => at),
    ticktext: texts,
    ticklabeloverflow: 'allow',
    showgrid: false,
    zeroline: false,
    fixedrange: true
  };
}

function byteAxis(
  top: number,
  ticks: readonly number[]
): Readonly<Record<string, unknown>> {
  return {
    range: [0, top],
    tickvals: ticks,
    ticktext: ticks.map(bytes => (bytes === 0 ? '0' : tickText(bytes))),
    ticklabeloverflow: 'allow',
    gridcolor: '--jp-border-color2',
    zeroline: false,
    fixedrange: true
  };
}

/** Binary steps are whole: "4 GiB", not "4.00 GiB". */
function tickText(bytes: number): string {
  return formatBytes(bytes).replace(/([.,])0+(?=\D*$)/, '');
}

type Limits = NonNullable<MemoryResult['limits']>;
type LimitName = 'target' | 'spill' | 'pause';

/** Of other workers than those of the answer: with the same shares. */
function sharesOf(
  limits: Limits,
  memoryLimit: number
): Readonly<Record<LimitName, number>> {
  const scale = memoryLimit / limits.memoryLimit;
  return {
    target: limits.target * scale,
    spill: limits.spill * scale,
    pause: limits.pause * scale
  };
}

type LimitPart = {
  readonly from: number;
  readonly to: number;
  readonly memoryLimit: number;
};

/** What of the steps is in sight, without stretches in which there is no limit. */
function limitParts(
  steps: readonly LimitStep[],
  [left, right]: Range
): LimitPart[] {
  // Beyond the axis, and the same while that goes on a little: else each sample would be another picture.
  const end = left + 2 ** (Math.floor(Math.log2(right - left)) + 1);
  return steps
    .map(({ from, memoryLimit }, index) => ({
      from: Math.max(from, left),
      to: Math.min(steps[index + 1]?.from ?? end, end),
      memoryLimit
    }))
    .filter(
      ({ from, to, memoryLimit }) =>
        memoryLimit > 0 && to > left && from < right
    );
}

function limitShapes(
  limits: Limits,
  parts: readonly LimitPart[],
  [left, right]: Range
): object[] {
  const [first, ...others] = parts;
  const isWhole =
    first !== undefined &&
    others.length === 0 &&
    first.from <= left &&
    first.to >= right;
  return (['target', 'spill', 'pause'] as const).map(name => ({
    ...(isWhole
      ? {
          type: 'line',
          xref: 'paper',
          x0: 0,
          x1: 1,
          y0: sharesOf(limits, first.memoryLimit)[name],
          y1: sharesOf(limits, first.memoryLimit)[name]
        }
      : { type: 'path', path: stepPath(limits, parts, name) }),
    layer: 'below',
    line: { color: '--sw-limit', width: 1, dash: LIMIT_DASHES[name] }
  }));
}

/**
 * One line, so that its dashes go on:
 *
 *     ┄┄┄┄┐      ┌┄┄┄┄
 *         └┄┄┄┄┄┄┘
 */
function stepPath(
  limits: Limits,
  parts: readonly LimitPart[],
  name: LimitName
): string {
  return parts
    .map(({ from, to, memoryLimit }, index) => {
      const y = sharesOf(limits, memoryLimit)[name];
      const goesOn = parts[index - 1]?.to === from;
      return `${goesOn ? `V${y}` : `M${from},${y}`} H${to}`;
    })
    .join(' ');
}

/** So high is a line of small text. */
const TEXT_PIXELS = 13;

/**
 * Beside their lines; in a low chart as far apart as they can be read: the middle one, which is mostly half-way, stays, and the others give way.
 *
 *     ┄┄┄┄┄ pause 306 MiB
 *     ┄┄┄┄┄ spill 268 MiB
 *     ┄┄┄┄┄ target 229 MiB
 */
function limitNotes(
  limits: Readonly<Record<LimitName, number>>,
  trans: Trans,
  pixelsPerByte: number
): object[] {
  const away = (from: number, to: number): number =>
    Math.max(0, TEXT_PIXELS - (to - from) * pixelsPerByte);
  const shifts = {
    target: -away(limits.target, limits.spill),
    spill: 0,
    pause: away(limits.spill, limits.pause)
  };
  const texts = {
    target: trans.__('target %1', formatBytes(limits.target)),
    spill: trans.__('spill %1', formatBytes(limits.spill)),
    pause: trans.__('pause %1', formatBytes(limits.pause))
  };
  return (['target', 'spill', 'pause'] as const).map(name => ({
    xref: 'paper',
    x: 1,
    xanchor: 'left',
    xshift: 4,
    y: limits[name],
    yshift: shifts[name],
    yanchor: 'middle',
    showarrow: false,
    text: texts[name],
    font: { size: 11, color: '--jp-ui-font-color1' }
  }));
}

/** A line through the whole height and, where the lines' own zero is, a ✕ on it. */
function lostShape({ t }: LostMark): object {
  return {
    type: 'line',
    yref: 'paper',
    x0: t,
    x1: t,
    y0: 0,
    y1: 1,
    layer: 'below',
    opacity: 0.5,
    line: { color: '--sw-failed-line', width: 1, dash: 'dot' }
  };
}

function lostNote({ t }: LostMark): object {
  return {
    yref: 'paper',
    x: t,
    xanchor: 'center',
    y: 0,
    yanchor: 'middle',
    showarrow: false,
    text: '✕',
    font: { size: 12, color: '--sw-failed-line' }
  };
}

/** In pixels: so near the pointer a mark is told of. */
const NEAR = 7;

/** Marks beside the pointer. */
export function marksNear(
  lost: readonly LostMark[],
  t: number,
  { layout }: MemoryFigure,
  width: number
): LostMark[] {
  const { margin, xaxis } = layout as {
    readonly margin: { readonly l: number; readonly r: number };
    readonly xaxis: { readonly range: readonly [number, number] };
  };
  const [left, right] = xaxis.range;
  const pixels = Math.max(1, width - margin.l - margin.r);
  const seconds = (NEAR * (right - left)) / pixels;
  return lost.filter(mark => Math.abs(mark.t - t) <= seconds);
}

/** Letters of names that are cut. */
const CUT_NAMES = [20, 12, 6];

/** So wide is a label, its frame included. */
function pixelsOf(words: string): number {
  return labelPixels(words) + 6;
}

/**
 * What can be said at a peak, the longest first: all of it; not when, which the point itself says; the name and the size; and of a name that is
 * too long its beginning, or nothing: the colour says it, too. A run that only falls shows what the one before it has left, and no peak of its
 * own.
 */
function peakTexts(
  label: string,
  { bytes, isFromBefore }: NonNullable<Line['peak']>,
  at: string,
  trans: Trans
): { readonly named: readonly string[]; readonly cut: readonly string[] } {
  const size = formatBytes(bytes);
  const short = (name: string) => trans.__('%1: %2', name, size);
  // By characters: half of a pair of UTF-16 is none.
  const letters = Array.from(label);
  return {
    named: [
      ...(isFromBefore
        ? [trans.__('%1: began with %2, its highest', label, size)]
        : [
            trans.__('%1: peak %2 at %3', label, size, at),
            trans.__('%1: peak %2', label, size)
          ]),
      short(label)
    ],
    cut: [
      ...CUT_NAMES.filter(most => most < letters.length).map(most =>
        short(`${letters.slice(0, most - 1).join('')}…`)
      ),
      size
    ]
  };
}

/** What lines and peaks stand in, in pixels. */
type LineAxes = Area & {
  readonly left: number;
  readonly right: number;
  /** The bytes at the upper end. */
  readonly top: number;
};

/** "before: peak 12.3 GiB at +21.8 s", at each run's highest sample, where it covers nothing. */
function peakNotes(
  lines: readonly Line[],
  corners: readonly Pick<Line, 't' | 'bytes'>[],
  align: Align,
  trans: Trans,
  axes: LineAxes
): object[] {
  const placeOf = (t: number, bytes: number): Place => [
    ((t - axes.left) / (axes.right - axes.left)) * axes.width,
    (bytes / axes.top) * axes.height
  ];
  const peaks = lines
    .flatMap(({ run, peak, label }, index) =>
      run === null || peak === null ? [] : [{ peak, label, index }]
    )
    .slice(0, 4)
    .sort((a, b) => b.peak.bytes - a.peak.bytes);
  if (peaks.length === 0) {
    return [];
  }
  const wanted = peaks.map(({ peak, label, index }) => {
    const at = formatOf(align)(peak.t, 0.1);
    const { named, cut } = peakTexts(label, peak, at, trans);
    const text = (words: string, mayReach: boolean) => ({
      text: words,
      pixels: pixelsOf(words),
      mayReach
    });
    return {
      peak: placeOf(peak.t, peak.bytes),
      line: index,
      texts: [
        ...named.map(words => text(words, false)),
        ...[...named.slice(1), ...cut].map(words => text(words, true))
      ]
    };
  });
  const drawn = corners.map(({ t, bytes }) =>
    t.map((at, sample) => {
      const value = bytes[sample] ?? null;
      return value === null ? null : placeOf(at, value);
    })
  );
  return labelPlaces(wanted, drawn, axes).flatMap((place, number) => {
    const { peak, index } = peaks[number]!;
    const colour = colourOfLine(lines[index]!);
    return place === null
      ? []
      : [
          {
            x: peak.t,
            y: peak.bytes,
            text: plotText(place.text),
            showarrow: true,
            arrowhead: 6,
            arrowsize: 0.8,
            arrowcolor: colour,
            ax: place.across,
            xanchor: place.side,
            ay: -place.up,
            bgcolor: '--jp-layout-color1',
            bordercolor: colour,
            borderpad: 2,
            font: { size: 11, color: '--jp-ui-font-color1' }
          }
        ];
  });
}

type Part = {
  readonly label: string;
  readonly colour: string;
  readonly pattern?: string;
  readonly t: readonly number[];
  readonly bytes: readonly (number | null)[];
  /** Where it has too many samples to draw each. */
  readonly bins?: LineBins | undefined;
};

/** What a part has from each of its times on: of bins the mean, since the extremes of several parts are of different moments. */
function stepsOf({
  t,
  bytes,
  bins
}: Part): (readonly [t: number, bytes: number | null])[] {
  return bins === undefined
    ? t.map((at, index) => [at, bytes[index] ?? null])
    : [
        ...bins.from.map((at, index) => [at, bins.mean[index]!] as const),
        ...t.flatMap((at, index) =>
          bytes[index] === null ? [[at, null] as const] : []
        )
      ].sort(([one], [other]) => one - other);
}

/** All parts at the same times: at one that a part does not have, it is as it was. Plotly would take it for zero. */
function stacked(parts: readonly Part[]): {
  readonly t: readonly number[];
  readonly bytes: readonly (readonly number[])[];
} {
  const steps = parts.map(stepsOf);
  const t = [...new Set(steps.flatMap(all => all.map(([at]) => at)))].sort(
    (a, b) => a - b
  );
  const bytes = steps.map(all => {
    let next = 0;
    return t.map(at => {
      while (next < all.length && all[next]![0] <= at) {
        next += 1;
      }
      return all[next - 1]?.[1] ?? 0;
    });
  });
  return { t, bytes };
}

/** Managed, unmanaged and spilled memory of the cluster, one upon the other. */
export function breakdownFigure(
  parts: readonly Part[],
  options: {
    readonly width: number;
    /** What is looked at; all of it if left out. */
    readonly range?: Range | undefined;
  }
): MemoryFigure {
  const { t, bytes } = stacked(parts);
  const highest = t.reduce(
    (most, _, index) =>
      Math.max(
        most,
        bytes.reduce((sum, part) => sum + part[index]!, 0)
      ),
    0
  );
  const left = t[0] ?? 0;
  const to = Math.max(t.at(-1) ?? 0, 1);
  const range = options.range ?? [left, withRoom(left, to)];
  return {
    data: parts.map((part, index) => ({
      type: 'scatter',
      mode: 'lines',
      stackgroup: 'memory',
      name: part.label,
      x: t,
      y: bytes[index]!,
      hoverinfo: 'none',
      line: { width: 0.5, color: part.colour, shape: 'hv' },
      fillcolor: part.colour,
      ...(part.pattern === undefined
        ? {}
        : { fillpattern: patternOf(part.pattern, part.colour) })
    })),
    layout: {
      ...PLAIN,
      hovermode: false,
      dragmode: false,
      margin: { l: 60, r: 16, t: 6, b: 22 },
      xaxis: {
        ...timeAxis(
          options.range?.[0] ?? left,
          options.range?.[1] ?? to,
          formatTick,
          options.width - 76,
          16
        ),
        range
      },
      yaxis: byteAxis(
        Math.max(highest * 1.05, 1),
        byteTicks(Math.max(highest, 1), 2)
      )
    }
  };
}

/** What a run holds more than another is above zero, what it holds less below it. */
export const DIFFERENCE_LOOKS = {
  more: { colour: '--sw-slower', pattern: '/' },
  less: { colour: '--sw-faster', pattern: '' }
} as const;

export function differenceFigure(
  { t, bytes }: Pick<Difference, 't' | 'bytes'>,
  options: {
    readonly width: number;
    /** What is looked at; all of it if left out. */
    readonly range?: Range | undefined;
  }
): MemoryFigure {
  const known = bytes.filter(value => value !== null);
  const low = known.reduce((least, value) => Math.min(least, value), 0);
  const high = known.reduce((most, value) => Math.max(most, value), 0);
  const to = Math.max(t.at(-1) ?? 0, 1);
  const range = options.range ?? [0, to * (1 + ROOM)];
  const steps = byteTicks(Math.max(high, -low, 1), 2);
  const ticks = [...steps.map(step => -step).filter(Boolean), ...steps]
    .filter(value => value >= low * 1.05 && value <= high * 1.05)
    .sort((one, other) => one - other);
  return {
    data: (['more', 'less'] as const).map(name => {
      const { colour, pattern } = DIFFERENCE_LOOKS[name];
      const within = name === 'more' ? Math.max : Math.min;
      return {
        type: 'scatter',
        mode: 'lines',
        name,
        x: t,
        y: bytes.map(value => (value === null ? null : within(value, 0))),
        connectgaps: false,
        hoverinfo: 'none',
        line: { width: 1, color: colour },
        fill: 'tozeroy',
        fillcolor: colour,
        ...(pattern && { fillpattern: patternOf(pattern, colour) })
      };
    }),
    layout: {
      ...PLAIN,
      hovermode: false,
      dragmode: false,
      margin: { l: 60, r: 16, t: 6, b: 22 },
      xaxis: {
        ...timeAxis(
          options.range?.[0] ?? 0,
          options.range?.[1] ?? to,
          formatOffsetTick,
          options.width - 76,
          16
        ),
        range
      },
      yaxis: {
        ...byteAxis(1, ticks),
        range: low === high ? [-1, 1] : [low * 1.05, high * 1.05],
        ticktext: ticks.map(value =>
          value === 0 ? '0' : formatDifference(value, tickText)
        )
      }
    }
  };
}

function patternOf(shape: string, colour: string): object {
  return {
    shape,
    size: 6,
    solidity: 0.3,
    fgcolor: '--sw-pattern-line',
    bgcolor: colour
  };
}
