import { idOf, laneIndices } from '../../../testing/ids';
import { drawnTile } from '../../../testing/drawn-lanes';
import { boxAt, boxOfRun } from '../box-search';
import { cellSeconds, tileSeconds } from '../tile-plan';

const tile = drawnTile(['aaa.bbbb', '..cc'], { level: 10, index: 3 });
const cell = cellSeconds(10);
const origin = 3 * tileSeconds(10);
const nameOf = (found: ReturnType<typeof boxAt>) =>
  found === null ? null : tile.functions[tile.function[found.row] ?? 0];

describe('finding boxes in tiles', () => {
  it('finds the box under the pointer in its own lane', () => {
    expect(nameOf(boxAt(tile, idOf(0), origin + 1.5 * cell, false, 0))).toBe(
      'a'
    );
    expect(nameOf(boxAt(tile, idOf(0), origin + 5 * cell, false, 0))).toBe('b');
    expect(boxAt(tile, idOf(0), origin + 3.5 * cell, false, 0)).toBeNull();
    expect(boxAt(tile, idOf(1), origin + 1 * cell, false, 0)).toBeNull();
  });

  it('takes the nearer one of two that are within the slack', () => {
    expect(
      nameOf(boxAt(tile, idOf(0), origin + 4.1 * cell, false, 2 * cell))
    ).toBe('b');
  });

  it('finds the strip only where the strip is', () => {
    const strip = {
      ...drawnTile(['aaaa', 'Bb']),
      strip: Uint8Array.of(0, 1, 0)
    };
    const at = { ...strip, laneIndex: laneIndices(Uint16Array.of(0, 0, 1)) };
    expect(boxAt(at, idOf(0), 0.5 * cell, true, 0)?.row).toBe(1);
    expect(boxAt(at, idOf(0), 0.5 * cell, false, 0)?.row).toBe(0);
  });

  it('joins the pieces of a run that several tiles hold', () => {
    const next = {
      ...drawnTile(['..bbb'], { level: 10, index: 4 }),
      run: Uint32Array.of(1)
    };
    const box = boxOfRun([tile, next], 1);
    expect(box?.from).toBeCloseTo(origin + 4 * cell, 9);
    expect(box?.to).toBeCloseTo(4 * tileSeconds(10) + 5 * cell, 9);
    expect(boxOfRun([tile], 77)).toBeNull();
  });
});
