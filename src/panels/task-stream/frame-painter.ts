/** Draws the frame around the lanes: time axis, span bands, whole-run strip. Runs in the browser. */
import { elided, type TextMeasure } from '../../charts/elided-text';
import { type Palette, PatternFills } from '../../charts/theme';
import type { BandShape, StripShape, Tick } from './figure';

export const BAND_HEIGHT = 16;
/** Pixels between two labels of the axis: less reads as one text. */
const LABEL_GAP = 8;

export function paintAxis(
  context: CanvasRenderingContext2D,
  ticks: readonly Tick[],
  size: { readonly width: number; readonly height: number },
  palette: Palette
): void {
  context.clearRect(0, 0, size.width, size.height);
  context.font = `11px ${palette.uiFont}`;
  context.textBaseline = 'middle';
  context.fillStyle = palette.secondaryText;
  for (const { text, x } of placedLabels(context, ticks, size.width)) {
    context.fillText(text, x, size.height / 2 + 1);
  }
}

/** Where labels begin that stand at their ticks and not over each other; ticks without room have none. */
export function placedLabels(
  context: TextMeasure,
  ticks: readonly Tick[],
  size: number
): { readonly text: string; readonly x: number }[] {
  const labels = ticks.map(tick => {
    const width = context.measureText(tick.text).width;
    const left = tick.x - width / 2;
    // A tick at the border keeps its whole label in view, if it can.
    const x = Math.min(size - width - 2, Math.max(2, left));
    return { text: tick.text, width, x, moved: Math.abs(x - left) };
  });
  const placed: typeof labels = [];
  // Those that stand at their tick come first: a label that was moved gives way to its neighbour.
  labels.sort((a, b) => Math.sign(a.moved) - Math.sign(b.moved));
  for (const label of labels) {
    const isFree = placed.every(
      other =>
        label.x >= other.x + other.width + LABEL_GAP ||
        other.x >= label.x + label.width + LABEL_GAP
    );
    if (label.moved < label.width / 2 && isFree) {
      placed.push(label);
    }
  }
  return placed;
}

export function paintBands(
  context: CanvasRenderingContext2D,
  bands: readonly BandShape[],
  size: { readonly width: number; readonly height: number },
  palette: Palette
): void {
  context.clearRect(0, 0, size.width, size.height);
  context.font = `11px ${palette.uiFont}`;
  context.textBaseline = 'middle';
  for (const band of bands) {
    const colours = palette.bands[band.tint % palette.bands.length];
    const y = band.level * BAND_HEIGHT;
    context.fillStyle = colours?.fill ?? palette.headerFill;
    context.fillRect(band.x, y, band.width - 1, BAND_HEIGHT - 2);
    context.fillStyle = colours?.line ?? palette.line;
    context.fillRect(band.x, y, band.width - 1, 2);
    const room = band.x + band.width - band.textX - 3;
    const text = elided(context, band.text, room);
    if (text !== '') {
      context.fillStyle = palette.text;
      context.fillText(text, band.textX, y + 9);
    }
  }
}

export function paintStrip(
  context: CanvasRenderingContext2D,
  shapes: readonly StripShape[],
  size: { readonly width: number; readonly height: number },
  palette: Palette
): void {
  context.clearRect(0, 0, size.width, size.height);
  const top = 4;
  const height = size.height - top;
  // Red alone reads as failure: the hatch is that of transfers in the lanes. It runs through bars that are thinner than itself.
  const patterns = new PatternFills(context, palette);
  for (const shape of shapes) {
    if (shape.role === 'failed-mark') {
      paintCross(context, shape.x, top + 3, palette.text);
      continue;
    }
    context.fillStyle =
      shape.role === 'kind-disk'
        ? patterns.kind('disk', size.width)
        : shape.role === 'kind-transfer'
          ? patterns.kind('transfer', size.width)
          : stripColour(palette);
    context.fillRect(
      shape.x,
      top + shape.top * height,
      shape.width,
      shape.height * height
    );
  }
}

/** Of threads that compute, whatever. */
export function stripColour({ shade }: Palette): string {
  return shade === 'light' ? '#9aa5b1' : '#7d8792';
}

function paintCross(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  colour: string
): void {
  context.strokeStyle = colour;
  context.lineWidth = 1.6;
  context.beginPath();
  context.moveTo(x - 3, y - 3);
  context.lineTo(x + 3, y + 3);
  context.moveTo(x + 3, y - 3);
  context.lineTo(x - 3, y + 3);
  context.stroke();
}
