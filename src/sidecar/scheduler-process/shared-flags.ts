/** Flags by name, `Event` in Python. In the scheduler process. One that is not set is not kept. */
import {
  DONE,
  english,
  full,
  type ISharedKind,
  type SharedAnswer,
  type SharedCall,
  type SharedLimits
} from './shared-call';

export class SharedFlags implements ISharedKind<unknown> {
  private readonly _set = new Set<string>();

  constructor(private readonly _limits: SharedLimits) {}

  get size(): number {
    return this._set.size;
  }

  attempt({ what, name }: SharedCall): SharedAnswer | null {
    switch (what) {
      case 'set':
        if (!this._set.has(name) && this._set.size >= this._limits.names) {
          return full(
            `${english(this._set.size)} events are set, and the scheduler keeps no more: clear() those that are not needed.`
          );
        }
        this._set.add(name);
        return DONE;
      case 'clear':
        this._set.delete(name);
        return DONE;
      case 'count':
        return { outcome: 'done', count: this._set.has(name) ? 1 : 0 };
      case 'wait':
        return this._set.has(name) ? DONE : null;
      default:
        return { outcome: 'refused', why: `No event does "${what}".` };
    }
  }
}
