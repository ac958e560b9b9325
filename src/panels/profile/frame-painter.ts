/** Draws the frames of an icicle: on the canvas of the page, and by the same rules into a picture. */
import { shownText } from '../../base/shown-text';
import type { Trans } from '../../base/trans';
import { elided } from '../../charts/elided-text';
import type { IInk } from '../../charts/ink';
import type { Kind } from '../../charts/palette';
import {
  frameFill,
  functionColour,
  type Palette,
  textOn
} from '../../charts/theme';
import type { FrameShape } from './figure';
import { type Found, type FrameTree, labelOf, placeOf } from './rows';

const LABEL_FROM = 34;
/** Low rows have a low foot, so that it stays clear of the words above it. */
const footOf = (height: number) => (height < 24 ? 2 : 4);

type FrameScene = {
  readonly tree: FrameTree;
  readonly shapes: readonly FrameShape[];
  /** Of a row, in pixels. */
  readonly height: number;
  readonly selected: number | null;
  readonly found: Found | null;
  readonly palette: Palette;
  readonly trans: Trans;
};

/** @param kindFill - what fills a kind of time in a box `width` pixels wide. */
export function paintFrames(
  ink: IInk,
  scene: FrameScene,
  kindFill: (kind: Kind, width: number) => IInk['fillStyle']
): void {
  ink.font = `11px ${scene.palette.uiFont}`;
  ink.textBaseline = 'middle';
  for (const frame of scene.shapes) {
    paintFrame(ink, scene, frame, kindFill);
  }
}

function paintFrame(
  ink: IInk,
  scene: FrameScene,
  frame: FrameShape,
  kindFill: (kind: Kind, width: number) => IInk['fillStyle']
): void {
  const { tree, selected, found, height, palette } = scene;
  const { slot, file } = tree.result.nodes;
  const { node, x, width, row, isCaller } = frame;
  const y = row * height;
  const isRoot = (file[node] ?? '') === '' && (slot[node] ?? -1) < 0;
  // The code of a module that is being imported has no part in what the module does later.
  const colour =
    tree.importing[node] === 1
      ? palette.kinds.import
      : functionColour(palette, { slot: slot[node] ?? -1, round: 0 });
  const fill = isRoot ? palette.headerFill : frameFill(palette, colour);
  const isDim = found !== null && !found.nodes.has(node);
  ink.globalAlpha = isDim || isCaller ? 0.6 : 1;
  ink.fillStyle = fill;
  ink.fillRect(x, y, Math.max(0.5, width - 1), height - 1);
  if (!isRoot && width > 4) {
    ink.fillStyle = colour;
    ink.fillRect(x, y, 3, height - 1);
  }
  // The foot: what part of the frame was not on a core.
  const footHeight = footOf(height);
  const foot = y + height - 1 - footHeight;
  let right = x + width - 1;
  for (const [kind, share] of [
    ['blocked', frame.blocked],
    ['gil', frame.gil],
    ['core', frame.waiting]
  ] as const) {
    const length = Math.max(0, (width - 1) * share);
    right -= length;
    ink.fillStyle = kindFill(kind, length);
    ink.fillRect(right, foot, length, footHeight);
  }
  ink.globalAlpha = 1;
  if (width >= LABEL_FROM) {
    ink.fillStyle = textOn(fill);
    ink.fillText(
      labelIn(ink, scene, node, width - 10),
      x + 6,
      y + (height - footHeight) / 2 + 1
    );
  }
  if (found?.nodes.has(node) || node === selected) {
    ink.strokeStyle = node === selected ? palette.brand : palette.text;
    ink.lineWidth = node === selected ? 2.5 : 1.5;
    ink.strokeRect(x + 1, y + 1, Math.max(1, width - 3), height - 3);
  }
}

/** As much as there is room for: with the frame's place, with its share, the name alone, some of the name. */
function labelIn(
  ink: IInk,
  { tree, trans }: FrameScene,
  node: number,
  room: number
): string {
  const place = shownText(placeOf(tree, node, trans));
  const long = shownText(labelOf(tree, node, trans));
  const withPlace =
    place === '' ? long : long.replace(/ ([^ ]*)$/, ` (${place}) $1`);
  const name = shownText(tree.result.nodes.name[node] ?? '');
  const fits = (text: string) => ink.measureText(text).width <= room;
  return [withPlace, long, name].find(fits) ?? elided(ink, name, room);
}
