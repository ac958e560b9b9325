/**
 * Boxes of a tile from a drawing: one line per lane, one letter per cell, a
 * run is a stretch of one letter, capitals are transfers, `x` failed.
 *
 *   drawnTile(['aaa.bb', 'cccccc'])   lane 0: a 0–3, b 4–6; lane 1: c 0–6
 */
import { laneIndices } from './ids';
import type { TileData } from '../feed/feed-types';

export function drawnTile(
  lines: readonly string[],
  place: { readonly level?: number; readonly index?: number } = {}
): TileData {
  const rows: {
    laneIndex: number;
    from: number;
    to: number;
    letter: string;
  }[] = [];
  lines.forEach((line, laneIndex) => {
    for (const match of line.matchAll(/([A-Za-z])\1*/g)) {
      const from = match.index;
      rows.push({
        laneIndex,
        from,
        to: from + match[0].length,
        letter: match[0][0] ?? ''
      });
    }
  });
  const functions = [...new Set(rows.map(row => row.letter.toLowerCase()))];
  const isTransfer = (letter: string) => letter !== letter.toLowerCase();
  return {
    level: place.level ?? 10,
    index: place.index ?? 0,
    settled: true,
    logSeq: 1,
    functions,
    laneIndex: laneIndices(rows.map(row => row.laneIndex)),
    from: Float32Array.from(rows, row => row.from),
    to: Float32Array.from(rows, row => row.to),
    function: Uint16Array.from(rows, row =>
      functions.indexOf(row.letter.toLowerCase())
    ),
    kind: Uint8Array.from(rows, row =>
      row.letter === 'x' ? 4 : isTransfer(row.letter) ? 1 : 0
    ),
    strip: new Uint8Array(rows.length),
    cover: new Uint8Array(rows.length).fill(255),
    run: Uint32Array.from(rows, (_, index) => index),
    tasks: new Uint32Array(rows.length).fill(1)
  };
}
