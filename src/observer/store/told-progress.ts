import { NONE_U32 } from '../../records/enumerations';
import type { Row } from '../../records/block';
import { TABLES } from '../../records/tables';

/** How many tasks of one function and span are how far. */
type ProgressRow = Row<'progress'>;

/** What the source tells of how far tasks are; by the numbers of the log, for a span's slot may become another's. */
export class ToldProgress {
  private readonly _rows = new Map<number, ProgressRow>();
  private _at: number | null = null;
  private _running = 0;

  constructor(private readonly _most: number = TABLES.progress.bound.rows) {}

  /** @returns whether there was room. */
  set(row: ProgressRow): boolean {
    if (row.within === NONE_U32) {
      this._rows.clear();
      this._at = null;
      this._running = 0;
      return true;
    }
    this._at = row.t;
    const key = row.within * 0x100000000 + row.function;
    const before = this._rows.get(key);
    if (before === undefined && this._rows.size >= this._most) {
      return false;
    }
    this._running += row.running - (before?.running ?? 0);
    this._rows.set(key, row);
    return true;
  }

  /** When it was told last; null: it is not, or not any more. */
  get at(): number | null {
    return this._at;
  }

  /** How many tasks run, when it was told last: also those that have just begun, of which workers do not tell. */
  get running(): number {
    return this._running;
  }

  rows(): IterableIterator<ProgressRow> {
    return this._rows.values();
  }
}
