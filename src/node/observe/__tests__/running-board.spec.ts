import { idOf } from '../../../testing/ids';
import type { SpanId } from '../../../records/ids';
import { RunningBoard } from '../running-board';
import { RunningRows } from '../running-rows';

describe('the board of what runs', () => {
  const task = (node: number, started: number) => ({
    node,
    functionId: 1,
    span: idOf<SpanId>(2),
    started
  });

  it('is read where its memory is', () => {
    const board = new RunningBoard();
    const read = new RunningBoard(board.memory);
    board.set(idOf(3), task(0, 1.5));
    expect(read.read(idOf(3))).toEqual(task(0, 1.5));
    board.clear(idOf(3));
    expect(read.read(idOf(3))).toBeNull();
    // Beyond its lanes nothing is shown, and nothing breaks.
    board.set(idOf(1e6), task(1, 1));
  });

  it('gives rows of what takes long, and of its end', () => {
    const board = new RunningBoard();
    const rows = new RunningRows(board);
    const look = (now: number) => {
      const found: unknown[] = [];
      rows.look(now, (lane, what) => found.push([lane, what?.node ?? null]));
      return found;
    };
    board.set(idOf(0), task(7, 1));
    board.set(idOf(1), task(8, 1.05));
    expect(look(1.05)).toEqual([]);
    expect(look(1.12)).toEqual([[0, 7]]);
    expect(look(1.14)).toEqual([]);
    board.set(idOf(0), task(9, 1.13));
    board.clear(idOf(1));
    expect(look(1.14)).toEqual([[0, null]]);
    expect(look(1.3)).toEqual([[0, 9]]);
    board.clear(idOf(0));
    expect(look(1.3)).toEqual([[0, null]]);
  });
});
