/** Numbers that all clients of a cluster share: of spans and of memory runs. In the scheduler's process. */
import { NumberSet } from '../../base/number-set';
import { NONE_U32 } from '../../records/enumerations';
import type { SpanId } from '../../records/ids';

/** Gives out numbers that no other client has: the wanted one if it is free, else the largest that is. */
export class SharedNumbers {
  private readonly _taken = new Set<number>();
  private _next: number;

  /** @param last - the largest number. */
  constructor(last: number) {
    this._next = last;
  }

  /** @returns −1: none is free. */
  take(wanted: number): number {
    let number = wanted;
    if (this._taken.has(number)) {
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

/** From here on a span's number is one that the scheduler has given; clients count below. In Python too: `LAST_SPAN`. */
export const FIRST_GIVEN = 2 ** 31;
/** So many default spans of a notebook or program have numbers of their own. */
const OWN_DEFAULTS = 4096;

/**
 * The log's numbers of spans. A client has those that it counts itself: each counts from a place of its own, so that they meet only in a cluster of
 * more than 2,048 clients, or after a million spans.
 *
 *     client 0:  1 2 3 …      client 1:  1,048,577 …      default spans, and in place of taken numbers:  2³¹ …
 */
export class SpanNumbers {
  private readonly _taken = new NumberSet();
  private _next = FIRST_GIVEN;
  /** Default spans: whose each is, and how many a notebook or program has, and its last. */
  private readonly _clientOfDefault = new Map<SpanId, number>();
  private readonly _defaultsOf = new Map<
    string,
    { readonly count: number; readonly last: SpanId }
  >();

  constructor(private readonly _ownDefaults = OWN_DEFAULTS) {}

  /** @returns the wanted number, or another if some client has it. */
  take(wanted: SpanId): SpanId {
    return wanted < FIRST_GIVEN && this._taken.add(wanted)
      ? wanted
      : this._give();
  }

  /** A number for a default span of a client; later ones of its notebook or program join the last that has one of its own. */
  takeDefault(whose: string, client: number): SpanId {
    const before = this._defaultsOf.get(whose);
    if (before !== undefined && before.count >= this._ownDefaults) {
      return before.last;
    }
    const last = this._give();
    this._defaultsOf.set(whose, { count: (before?.count ?? 0) + 1, last });
    this._clientOfDefault.set(last, client);
    return last;
  }

  /** Whose default span it is; undefined: it is none, or the log's. */
  clientOfDefault(span: SpanId): number | undefined {
    return this._clientOfDefault.get(span);
  }

  private _give(): SpanId {
    const given = this._next;
    this._next = given + 1 < NONE_U32 ? given + 1 : FIRST_GIVEN;
    return given as SpanId;
  }
}
