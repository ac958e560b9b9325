import type { LaneIndex } from '../../records/ids';
import { NONE_U16 } from '../../records/enumerations';
import { grownColumn, nextCapacity } from '../../base/growable-columns';
import type { TileColumns } from '../../wire/panel-link';
import { SEVERAL_FUNCTIONS } from './cell-plane';

/** In the function column: no single function (cells of one kind, several functions). */
const NO_FUNCTION = NONE_U16;
/** How many cells a box may reach beyond the tile's borders: there float32 still resolves 1/16 of a cell. */
const REACH = 2 ** 19;

/** The boxes of a tile under construction. Functions get numbers of the tile's own, in order of appearance. */
export class BoxList {
  private _laneIndex = new Uint16Array(256) as TileColumns['laneIndex'];
  private _from = new Float32Array(256);
  private _to = new Float32Array(256);
  private _function = new Uint16Array(256);
  private _kind = new Uint8Array(256);
  private _strip = new Uint8Array(256);
  private _cover = new Uint8Array(256);
  private _run = new Uint32Array(256);
  private _tasks = new Uint32Array(256);
  private _length = 0;
  private readonly _functions = new Map<number, number>();

  get length(): number {
    return this._length;
  }

  add(
    laneIndex: LaneIndex,
    from: number,
    to: number,
    fn: number,
    kind: number,
    strip: number,
    cover: number,
    run: number,
    tasks: number
  ): void {
    const i = this._length++;
    if (i === this._laneIndex.length) {
      this._grow();
    }
    this._laneIndex[i] = laneIndex;
    this._from[i] = Math.max(from, -REACH);
    this._to[i] = Math.min(to, REACH);
    this._function[i] = this._number(fn);
    this._kind[i] = kind;
    this._strip[i] = strip;
    this._cover[i] = cover;
    this._run[i] = run;
    this._tasks[i] = tasks;
  }

  columns(): TileColumns {
    const n = this._length;
    return {
      laneIndex: this._laneIndex.slice(0, n),
      from: this._from.slice(0, n),
      to: this._to.slice(0, n),
      function: this._function.slice(0, n),
      kind: this._kind.slice(0, n),
      strip: this._strip.slice(0, n),
      cover: this._cover.slice(0, n),
      run: this._run.slice(0, n),
      tasks: this._tasks.slice(0, n)
    };
  }

  functionNames(name: (id: number) => string): string[] {
    return [...this._functions.keys()].map(name);
  }

  private _number(fn: number): number {
    if (fn === SEVERAL_FUNCTIONS) {
      return NO_FUNCTION;
    }
    let number = this._functions.get(fn);
    if (number === undefined) {
      if (this._functions.size >= NO_FUNCTION) {
        return NO_FUNCTION;
      }
      number = this._functions.size;
      this._functions.set(fn, number);
    }
    return number;
  }

  private _grow(): void {
    const capacity = nextCapacity(this._laneIndex.length, this._length);
    this._laneIndex = grownColumn(this._laneIndex, capacity);
    this._from = grownColumn(this._from, capacity);
    this._to = grownColumn(this._to, capacity);
    this._function = grownColumn(this._function, capacity);
    this._kind = grownColumn(this._kind, capacity);
    this._strip = grownColumn(this._strip, capacity);
    this._cover = grownColumn(this._cover, capacity);
    this._run = grownColumn(this._run, capacity);
    this._tasks = grownColumn(this._tasks, capacity);
  }
}
