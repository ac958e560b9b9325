/** Numbers that all clients of a cluster share: of spans and of memory runs. In the scheduler's process. */
import { DEFAULT_SPAN, type SpanId } from '../../records/ids';

/** Gives out numbers that no other client has: the wanted one if it is free, else the largest that is. */
export class SharedNumbers {
  private readonly _taken = new Set<number>();
  private _next: number;

  /** @param last - the largest number. */
  constructor(last: number) {
    this._next = last;
  }

  /**
   * @param wanted - null: any.
   * @returns −1: none is free.
   */
  take(wanted: number | null): number {
    let number = wanted;
    if (number === null || this._taken.has(number)) {
      while (this._next >= 0 && this._taken.has(this._next)) {
        this._next--;
      }
      number = this._next;
    }
    if (number >= 0) {
      this._taken.add(number);
    }
    return number;
  }
}

/** So many spans of a log have numbers of their own, whatever they are called. */
const OWN_SPANS = 32_768;
/** So many default spans of a notebook or program. */
const OWN_DEFAULTS = 4096;

/**
 * The log's numbers of spans. When half of them are given out, a span joins the first one of the same notebook or program that has its path; only
 * if there is none it gets a number of its own. So a cluster that lives for months keeps numbers for what is new.
 */
export class SpanNumbers {
  private readonly _firstOfPath = new Map<string, number>();
  private readonly _numbers: SharedNumbers;
  private _given = 0;
  /** Default spans: whose each is, and how many a notebook or program has. */
  private readonly _clientOfDefault = new Map<SpanId, number>();
  private readonly _defaultsOf = new Map<string, number>();

  constructor(
    last: number,
    private readonly _own = OWN_SPANS,
    private readonly _ownDefaults = OWN_DEFAULTS
  ) {
    this._numbers = new SharedNumbers(last);
  }

  /**
   * @param wanted - null: any.
   * @param whose - notebook or program.
   * @returns −1: none is free.
   */
  take(
    wanted: number | null,
    whose: string,
    parent: SpanId,
    tag: string
  ): number {
    const path = JSON.stringify([whose, parent, tag]);
    const first = this._firstOfPath.get(path);
    if (first !== undefined && this._given >= this._own) {
      return first;
    }
    const number = this._numbers.take(wanted);
    if (number <= DEFAULT_SPAN) {
      return -1;
    }
    this._given++;
    if (first === undefined) {
      this._firstOfPath.set(path, number);
    }
    return number;
  }

  /**
   * A number for a default span of a client; later ones of its notebook or program join the last that has one of its own.
   *
   * @returns −1: none is free.
   */
  takeDefault(whose: string, client: number): number {
    const path = JSON.stringify([whose]);
    const last = this._firstOfPath.get(path);
    const count = this._defaultsOf.get(whose) ?? 0;
    const mayHaveOwn = count < this._ownDefaults && this._given < this._own;
    if (last !== undefined && !mayHaveOwn) {
      return last;
    }
    const number = this._numbers.take(null);
    if (number <= DEFAULT_SPAN) {
      return last ?? -1;
    }
    this._given++;
    this._defaultsOf.set(whose, count + 1);
    this._firstOfPath.set(path, number);
    this._clientOfDefault.set(number as SpanId, client);
    return number;
  }

  /** Whose default span it is; undefined: it is none, or the log's. */
  clientOfDefault(span: SpanId): number | undefined {
    return this._clientOfDefault.get(span);
  }
}
