/**
 * Values by name: variables, metadata, datasets. In the scheduler process, which does not open them.
 *
 * Each has a version, so that who changes a part of a value can see whether somebody else has changed it meanwhile:
 *
 * ```
 *   get        → version 3
 *   set if 3   → done, version 4         set if 3 → conflict: it has been set in between
 *   set if 0   → done if there was none
 * ```
 */
import {
  DONE,
  english,
  full,
  type ISharedKind,
  type SharedAnswer,
  type SharedCall,
  type SharedRoom
} from './shared-call';

type Kept = { readonly value: Uint8Array; readonly version: number };

export class SharedValues implements ISharedKind<unknown> {
  private readonly _kept = new Map<string, Kept>();
  /** Never used twice: a value that was deleted and set again is another one. */
  private _versions = 0;

  /** @param _what - what they are called, in the plural. */
  constructor(
    private readonly _room: SharedRoom,
    private readonly _what: string
  ) {}

  get size(): number {
    return this._kept.size;
  }

  attempt(call: SharedCall): SharedAnswer | null {
    const { what, name } = call;
    const kept = this._kept.get(name);
    switch (what) {
      case 'set':
        return this._put(call, kept);
      case 'get':
        return kept === undefined
          ? null
          : { outcome: 'done', count: kept.version, values: [kept.value] };
      case 'delete':
        if (kept === undefined) {
          return { outcome: 'absent' };
        }
        this._room.give(name, kept.value);
        this._kept.delete(name);
        return DONE;
      case 'list':
        return {
          outcome: 'done',
          names: [...this._kept.keys()],
          values: [...this._kept.values()].map(({ value }) => value)
        };
      case 'names':
        return { outcome: 'done', names: [...this._kept.keys()] };
      default:
        return {
          outcome: 'refused',
          why: `Nothing does "${what}" with ${this._what}.`
        };
    }
  }

  private _put(
    { name, value, version }: SharedCall,
    kept: Kept | undefined
  ): SharedAnswer {
    if (version !== null && version !== (kept?.version ?? 0)) {
      return { outcome: 'conflict' };
    }
    if (kept === undefined && this._kept.size >= this._room.limits.names) {
      return full(
        `There are ${english(this._kept.size)} ${this._what}, and the scheduler keeps no more.`
      );
    }
    const why = this._room.exchange(name, value, kept?.value ?? null);
    if (why !== null) {
      return why;
    }
    this._kept.set(name, { value, version: ++this._versions });
    return { outcome: 'done', count: this._versions };
  }
}
