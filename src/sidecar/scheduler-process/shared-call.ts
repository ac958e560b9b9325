/**
 * What clients and workers ask of the things that they share by name, and what these answer. In the scheduler process, which opens no value.
 */
import type { Fields } from '../../wire/schema';

type Share = Fields<'client', 'up', 'share'>;
export type SharedKind = Share['kind'];
type SharedOutcome = Fields<'client', 'down', 'shared'>['outcome'];

export type SharedCall = Omit<Share, 'seconds'> & {
  /** The time at which its wait ends; Infinity: never. */
  readonly until: number;
  readonly value: Uint8Array;
};

export type SharedAnswer = {
  readonly outcome: SharedOutcome;
  /** Why not, as a sentence. */
  readonly why?: string;
  /** A number that was asked for: of leases, items, or the version of a value. */
  readonly count?: number;
  readonly names?: readonly string[];
  readonly values?: readonly Uint8Array[];
};

export const DONE: SharedAnswer = { outcome: 'done' };

/** All things of one kind. */
export interface ISharedKind<Owner> {
  /**
   * Does what is asked if that can be done now.
   *
   * @returns null: not now, and nothing has changed.
   */
  attempt(call: SharedCall, owner: Owner, at: number): SharedAnswer | null;
}

export type SharedLimits = {
  /** Names of each kind. */
  readonly names: number;
  /** Of one value, and of all that are kept or wait to be put. */
  readonly valueBytes: number;
  readonly bytes: number;
  readonly waitsOfName: number;
  readonly waits: number;
  readonly leases: number;
};

export const SHARED_LIMITS: SharedLimits = {
  names: 10_000,
  valueBytes: 10 * 2 ** 20,
  bytes: 64 * 2 ** 20,
  waitsOfName: 10_000,
  waits: 100_000,
  leases: 100_000
};

/** What a value takes besides its bytes and its name, about. */
const OVERHEAD_BYTES = 200;

/** Is told which values are kept, or wait to be put. */
export interface IRoomWatch {
  took(value: Uint8Array): void;
  gave(value: Uint8Array): void;
}

/** The room for values, or for what waits without one. */
export class SharedRoom {
  private _bytes = 0;

  /** @param _what - what is kept in it, in the plural. */
  constructor(
    readonly limits: SharedLimits,
    private readonly _what = 'values that are shared',
    private readonly _watch?: IRoomWatch
  ) {}

  get bytes(): number {
    return this._bytes;
  }

  /** Takes room for a value, in place of one that goes. @returns why there is none; null if there is. */
  exchange(
    name: string,
    value: Uint8Array,
    old: Uint8Array | null
  ): SharedAnswer | null {
    const { valueBytes, bytes } = this.limits;
    if (value.length > valueBytes) {
      return full(
        `A value that is shared has at most ${english(valueBytes)} bytes, this one has ${english(value.length)}.`
      );
    }
    const change =
      bytesOf(name, value) - (old === null ? 0 : bytesOf(name, old));
    if (this._bytes + change > bytes) {
      return full(
        `The scheduler keeps at most ${english(bytes)} bytes of ${this._what}, and has ${english(this._bytes)}.`
      );
    }
    this._bytes += change;
    this._watch?.took(value);
    if (old !== null) {
      this._watch?.gave(old);
    }
    return null;
  }

  /** Takes room that was given a moment ago, even if there is no more. */
  takeAgain(name: string, value: Uint8Array): void {
    this._bytes += bytesOf(name, value);
    this._watch?.took(value);
  }

  give(name: string, value: Uint8Array): void {
    this._bytes -= bytesOf(name, value);
    this._watch?.gave(value);
  }
}

export function full(why: string): SharedAnswer {
  return { outcome: 'full', why };
}

export function english(number: number): string {
  return number.toLocaleString('en');
}

function bytesOf(name: string, value: Uint8Array): number {
  return value.length + 2 * name.length + OVERHEAD_BYTES;
}
