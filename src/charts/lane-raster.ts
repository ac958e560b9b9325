/**
 * Turns the boxes of one tile into pixels. No canvas here: a lane looks the
 * same on most of its scan lines, so each lane is painted into one line and
 * copied down, some ten times faster than a fillRect per box (32,000 boxes on
 * 24 lanes: 3 ms against 30).
 *
 *   boxes of a lane     ▐███▌▐██▌     ▐███████▌      one line for the work,
 *                         ▐▒▒▒▌                      one for the strip
 *
 *   scan lines   0      transparent                  air
 *                1…     work                         upper 74 %
 *                       work, holes above the strip  one line, so that they part
 *                …h-2   work under strip             lower 26 %
 *                h-1    transparent
 *
 * Pixels are device pixels. x is counted on a grid that is anchored at time 0,
 * so that a box that crosses tiles has no seam and panning moves whole pixels.
 */

/** The columns of a tile that are drawn; one row a box, `from`/`to` in cells. */
export type BoxColumns = {
  readonly laneIndex: Uint16Array;
  readonly from: Float32Array;
  readonly to: Float32Array;
  readonly function: Uint16Array;
  readonly kind: Uint8Array;
  readonly strip: Uint8Array;
  readonly cover: Uint8Array;
  /** 0: a part, which lies over (or, with strip, behind) the box of its run. */
  readonly tasks: Uint32Array;
};

/** How a box is filled: RGBA as ImageData has it, little-endian (0xAABBGGRR). */
export type BoxFill = {
  readonly colour: number;
  readonly pattern: keyof typeof PATTERN_OF;
  /** Light lines along the top: the function's second or third dozen. */
  readonly topLines: number;
};

export type RasterOptions = {
  /**
   * Left border of the tile and width of a cell in device pixels since time 0; `endPixels` is the very number that the next tile has as its
   * origin: a sum may round to another pixel.
   */
  readonly originPixels: number;
  readonly endPixels: number;
  readonly pixelsPerCell: number;
  readonly firstLane: number;
  readonly lanes: number;
  /** Heights in device pixels. */
  readonly laneHeight: number;
  readonly stripHeight: number;
  readonly pixelRatio: number;
  readonly patternLine: number;
  /** The fill of each row, which depends on its kind and function. */
  fillOf(kind: number, functionIndex: number): BoxFill;
};

type LaneRaster = {
  /** Global pixel of the first column. */
  readonly x: number;
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array<ArrayBuffer>;
};

const PATTERN_OF = {
  plain: 0,
  slash: 1,
  horizontal: 2,
  grid: 3,
  /** Lines within an outline of the box's own colour. */
  outline: 4,
  /** A line through the middle. */
  struck: 5
} as const;
const FAILED_KIND = 4;
const SECEDED_KIND = 6;
/** From this width on (CSS pixels) a box shows its pattern. */
export const PATTERN_FROM = 5;
/** From this width on (CSS pixels) a failed box has room for its ✕. */
export const MARK_FROM = 9;
/** From this width on (CSS pixels) a box leaves a pixel of air at its right. */
export const GAP_FROM = 3;

export function rasteriseTile(
  boxes: BoxColumns,
  options: RasterOptions
): LaneRaster {
  const { originPixels, endPixels, lanes, laneHeight } = options;
  const x = Math.floor(originPixels);
  const width = Math.max(1, Math.floor(endPixels) - x);
  const height = lanes * laneHeight;
  const pixels = new Uint32Array(width * height);
  const order = rowsByLane(boxes, options);
  const line = new LaneLines(width, x, options);
  for (let lane = 0; lane < lanes; lane += 1) {
    const rows = order[lane];
    if (rows === undefined) {
      continue;
    }
    line.clear();
    for (const row of rows) {
      line.paint(boxes, row);
    }
    line.copyTo(pixels, lane * laneHeight * width);
  }
  return { x, width, height, pixels };
}

/** Whether it is a part, which is drawn over the box of its run. */
export function liesOver(
  boxes: Pick<BoxColumns, 'tasks' | 'strip' | 'kind'>,
  row: number
): boolean {
  return (
    boxes.tasks[row] === 0 &&
    boxes.strip[row] !== 1 &&
    // (whose run is in another lane)
    boxes.kind[row] !== SECEDED_KIND
  );
}

/** Whether a row stands for several failed runs that have no box of their own, and is only drawn as a mark (failed-marks.ts). */
export function isOfFailedRuns(
  boxes: Pick<BoxColumns, 'tasks' | 'cover'>,
  row: number
): boolean {
  return (boxes.tasks[row] as number) > 1 && boxes.cover[row] === 255;
}

/** The rows of each lane in the order of drawing: as given, then failed ones that are too thin for a mark once more, so that none is lost under its neighbour or its own parts. */
function rowsByLane(
  boxes: BoxColumns,
  options: RasterOptions
): (number[] | undefined)[] {
  const rows: (number[] | undefined)[] = new Array(options.lanes);
  const add = (row: number) => {
    const lane = (boxes.laneIndex[row] as number) - options.firstLane;
    if (lane >= 0 && lane < options.lanes) {
      (rows[lane] ??= []).push(row);
    }
  };
  const thin = (MARK_FROM * options.pixelRatio) / options.pixelsPerCell;
  const thinFailed: number[] = [];
  for (let row = 0; row < boxes.laneIndex.length; row += 1) {
    if (isOfFailedRuns(boxes, row)) {
      continue;
    }
    add(row);
    if (
      boxes.kind[row] === FAILED_KIND &&
      (boxes.to[row] as number) - (boxes.from[row] as number) < thin
    ) {
      thinFailed.push(row);
    }
  }
  thinFailed.forEach(add);
  return rows;
}

/** The scan lines of one lane; used again for each lane of a tile. */
class LaneLines {
  private readonly _work: Uint32Array;
  private readonly _strip: Uint32Array;
  private readonly _workPattern: Uint8Array;
  private readonly _stripPattern: Uint8Array;
  private readonly _topLines: Uint8Array;
  private readonly _scan: Uint32Array;
  /** Where the runs that are painted end; they are of one lane. */
  private _runsEnd = -Infinity;
  private _hasWorkPattern = false;
  private _hasTopLines = false;
  private _hasStrip = false;

  constructor(
    private readonly _width: number,
    private readonly _x: number,
    private readonly _options: RasterOptions
  ) {
    this._work = new Uint32Array(_width);
    this._strip = new Uint32Array(_width);
    this._workPattern = new Uint8Array(_width);
    this._stripPattern = new Uint8Array(_width);
    this._topLines = new Uint8Array(_width);
    this._scan = new Uint32Array(_width);
  }

  clear(): void {
    this._runsEnd = -Infinity;
    this._work.fill(0);
    this._workPattern.fill(0);
    this._topLines.fill(0);
    this._hasWorkPattern = false;
    this._hasTopLines = false;
    if (this._hasStrip) {
      this._strip.fill(0);
      this._stripPattern.fill(0);
      this._hasStrip = false;
    }
  }

  paint(boxes: BoxColumns, row: number): void {
    const { originPixels, pixelsPerCell, pixelRatio } = this._options;
    const left =
      Math.round(originPixels + (boxes.from[row] as number) * pixelsPerCell) -
      this._x;
    const right =
      Math.round(originPixels + (boxes.to[row] as number) * pixelsPerCell) -
      this._x;
    const size = right - left;
    const isFailed = boxes.kind[row] === FAILED_KIND;
    // A part leaves no gap: under it is the box of its run, which would shine through.
    const isPart = liesOver(boxes, row);
    const gap =
      !isPart && size >= GAP_FROM * pixelRatio ? Math.round(pixelRatio) : 0;
    const smallest = isFailed ? 2 : 1;
    const from = Math.max(0, left);
    const to = Math.min(this._width, Math.max(left + smallest, right - gap));
    if (to <= from) {
      return;
    }
    const fill = this._options.fillOf(
      boxes.kind[row] as number,
      boxes.function[row] as number
    );
    const cover = boxes.cover[row] as number;
    const pattern =
      size >= PATTERN_FROM * pixelRatio ? PATTERN_OF[fill.pattern] : 0;
    const isStrip = boxes.strip[row] === 1;
    const line = isStrip ? this._strip : this._work;
    if (cover === 255) {
      if (!isPart && !isStrip && !isFailed) {
        if (left < this._runsEnd) {
          this._clearEdges(left, to, right, gap);
        }
        this._runsEnd = Math.max(this._runsEnd, right);
      }
      if (isFailed) {
        // The air at its right is over its parts, too.
        line.fill(0, from, Math.max(to, right));
      }
      line.fill(fill.colour, from, to);
    } else {
      blend(line, from, to, fill.colour, cover);
    }
    if (isStrip) {
      this._hasStrip = true;
      this._stripPattern.fill(pattern, from, to);
      return;
    }
    const edge = pattern === PATTERN_OF.outline ? Math.round(pixelRatio) : 0;
    this._workPattern.fill(0, from, to);
    this._workPattern.fill(pattern, from + edge, Math.max(from, to - edge));
    this._topLines.fill(fill.topLines, from, to);
    this._hasWorkPattern ||= pattern !== 0;
    this._hasTopLines ||= fill.topLines > 0;
  }

  /** Times that are a little wrong have runs of one thread overlap: there is air between these, too. */
  private _clearEdges(
    left: number,
    to: number,
    right: number,
    gap: number
  ): void {
    const before = Math.max(0, left - gap);
    this._work.fill(0, before, Math.max(before, left));
    this._workPattern.fill(0, before, Math.max(before, left));
    this._work.fill(0, to, Math.max(to, right));
    this._workPattern.fill(0, to, Math.max(to, right));
  }

  /** Copies the lane's scan lines to `offset` and below. */
  copyTo(pixels: Uint32Array, offset: number): void {
    const { laneHeight, stripHeight } = this._options;
    const air = Math.max(1, Math.round(this._options.pixelRatio));
    const bottom = laneHeight - air;
    // However low a lane is, a line of work stays.
    const stripTop = Math.max(air + 1, bottom - stripHeight);
    const hole = stripTop - air > air ? air : 0;
    for (let y = air; y < bottom; y += 1) {
      const isPlain =
        !this._hasWorkPattern &&
        !this._hasTopLines &&
        !(this._hasStrip && y >= stripTop - hole);
      pixels.set(
        isPlain ? this._work : this._scanLine(y - air, y, stripTop, hole),
        offset + y * this._width
      );
    }
  }

  /** One scan line with patterns, top lines and the strip. */
  private _scanLine(
    row: number,
    y: number,
    stripTop: number,
    holeHeight: number
  ): Uint32Array {
    const { patternLine, pixelRatio } = this._options;
    const scan = this._scan;
    scan.set(this._work);
    if (this._hasWorkPattern) {
      this._drawPattern(scan, this._workPattern, y);
    }
    const air = y - row;
    // Where they are all that there is room for, the box has its colour alone.
    if (this._hasTopLines && stripTop - holeHeight - air > 2 * pixelRatio) {
      // 2 px of line, 2 px of box, 2 px of line.
      const band = Math.floor(row / (2 * pixelRatio));
      const needed = band === 0 ? 1 : band === 2 ? 2 : 99;
      for (let x = 0; x < scan.length; x += 1) {
        if ((this._topLines[x] as number) >= needed) {
          scan[x] = over(patternLine, scan[x] as number);
        }
      }
    }
    if (this._hasStrip && y >= stripTop - holeHeight) {
      const isHole = y < stripTop;
      for (let x = 0; x < scan.length; x += 1) {
        if (this._strip[x] !== 0) {
          scan[x] = isHole ? 0 : (this._strip[x] as number);
        }
      }
      if (!isHole) {
        this._drawPattern(scan, this._stripPattern, y);
      }
    }
    return scan;
  }

  private _drawPattern(
    scan: Uint32Array,
    pattern: Uint8Array,
    y: number
  ): void {
    const { patternLine, pixelRatio, laneHeight } = this._options;
    const edge = 2 * Math.max(1, Math.round(pixelRatio));
    const isInOutline = y >= edge && y < laneHeight - edge;
    const period = Math.round(6 * pixelRatio);
    const thick = Math.max(1, Math.round(2 * pixelRatio));
    const thin = Math.round(pixelRatio);
    const isHorizontalLine = y % Math.round(4 * pixelRatio) < thin;
    const mesh = Math.round(5 * pixelRatio);
    const isGridLine = y % mesh < thin;
    const air = Math.max(1, Math.round(pixelRatio));
    const struck = struckRows(air, laneHeight - 2 * air, pixelRatio);
    const isStruck = y >= struck.y && y < struck.y + struck.height;
    for (let x = 0; x < scan.length; x += 1) {
      const kind = pattern[x];
      if (
        kind !== 0 &&
        (kind === PATTERN_OF.slash
          ? (x + this._x + y) % period < thick
          : kind === PATTERN_OF.grid
            ? isGridLine || (x + this._x) % mesh < thin
            : kind === PATTERN_OF.outline
              ? isInOutline && (x + this._x + laneHeight - y) % period < thick
              : kind === PATTERN_OF.struck
                ? isStruck
                : isHorizontalLine)
      ) {
        scan[x] = over(patternLine, scan[x] as number);
      }
    }
  }
}

/** The rows of the line that strikes a box through, which begins at `y`; in device pixels. */
export function struckRows(
  y: number,
  height: number,
  pixelRatio: number
): { readonly y: number; readonly height: number } {
  const thick = Math.max(1, Math.round(2 * pixelRatio));
  return { y: y + Math.floor((height - thick) / 2), height: thick };
}

/** `red`, `green`, `blue` 0…255 and `alpha` 0…1 as one pixel. */
export function pixelOf(
  red: number,
  green: number,
  blue: number,
  alpha = 1
): number {
  return (
    ((Math.round(alpha * 255) << 24) | (blue << 16) | (green << 8) | red) >>> 0
  );
}

/**
 * An aggregate of n tasks that cover a share of their cell: on nothing it is
 * paler, but never too pale to be seen; on something (parts over their runs)
 * it tints what is there by its share.
 */
function blend(
  line: Uint32Array,
  from: number,
  to: number,
  colour: number,
  cover: number
): void {
  const opaque = colour & 0xffffff;
  const alone = (opaque | (Math.max(90, cover) << 24)) >>> 0;
  const tint = (opaque | (cover << 24)) >>> 0;
  for (let x = from; x < to; x += 1) {
    const ground = line[x] as number;
    line[x] = ground === 0 ? alone : over(tint, ground);
  }
}

/** `top` with its alpha over `ground`, which keeps its own. */
function over(top: number, ground: number): number {
  const share = (top >>> 24) / 255;
  const mixed = (shift: number) =>
    Math.round(
      ((top >>> shift) & 255) * share + ((ground >>> shift) & 255) * (1 - share)
    ) << shift;
  return ((ground & 0xff000000) | mixed(16) | mixed(8) | mixed(0)) >>> 0;
}
