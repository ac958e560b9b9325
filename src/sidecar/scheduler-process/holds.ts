/**
 * Tasks that the scheduler itself wants: those whose futures lie in values that are shared by name, are on their way to somebody who has
 * asked for such a value, or are to run to their end whoever wants them. In the scheduler process.
 *
 * ```
 *   set x = [future] ─► took ─► wanted          delete x ─► gave ─► not wanted any more, unless somebody has adopted it
 *   get x            ─► grant 7 ─► wanted       adopt, letGo 7 ─► the one who asked wants it himself
 *                                               giveUp, hold 7 ─► nobody took it; what was taken from a queue came back before
 * ```
 */
import {
  LARGEST_U16,
  NONE_U32,
  ReportStatus
} from '../../records/enumerations';
import { arrayOf, type ArrayOf } from '../../base/typed-arrays';
import type {
  ClientTaskId,
  DenseTaskId,
  DenseTaskIds,
  OuterTaskId
} from '../../records/ids';
import type { Report } from '../../scheduler';
import type { TaskRows } from './task-rows';

/** The number by which the core knows who wants these; no client gets it. */
export const HOLDER = LARGEST_U16;
/** Futures in all values, each as often as it is there. */
const MOST_HELD = 1_000_000;
/** Answers with futures that one who has asked has not said to have taken; the oldest of more are let go. */
const MOST_GRANTS = 10_000;

type Futures = {
  readonly rows: number;
  readonly client: Uint16Array;
  readonly id: ArrayOf<Uint32Array, ClientTaskId>;
};
/** What is on its way to one owner, by the requests that it answers. */
type Grant = {
  readonly owner: object;
  readonly parts: {
    readonly request: number;
    readonly values: Uint8Array[];
  }[];
};
type Want = 'clientWants' | 'clientReleases';

export class Holds {
  private readonly _futures = new WeakMap<Uint8Array, readonly OuterTaskId[]>();
  /** How often each task is held. */
  private readonly _counts = new Map<OuterTaskId, number>();
  private readonly _held = new Set<OuterTaskId>();
  private readonly _changed = new Set<OuterTaskId>();
  private readonly _untilDone = new Set<OuterTaskId>();
  private readonly _grants = new Map<number, Grant>();
  private _lastGrant = 0;
  private _total = 0;

  /**
   * @param _tell - tells the core what {@link HOLDER} wants, or does not want any more.
   * @param _gather - does something in this turn of the scheduler.
   */
  constructor(
    private readonly _rows: TaskRows,
    private readonly _tell: (type: Want, taskIds: DenseTaskIds) => void,
    private readonly _gather: (act: () => void) => void
  ) {}

  /** How many tasks are held. */
  get size(): number {
    return this._counts.size;
  }

  /** Notes that futures are in a value. @returns why they cannot be; empty: they can. */
  attach(value: Uint8Array, { rows: count, client, id }: Futures): string {
    if (this._total + count > MOST_HELD) {
      return `The scheduler keeps at most ${MOST_HELD.toLocaleString('en')} futures under names: unpublish or delete some.`;
    }
    const found: OuterTaskId[] = [];
    for (let i = 0; i < count; i++) {
      const task = this._rows.resolve(client[i]!, id[i]!);
      if (task < 0) {
        return 'A future of it was released or cancelled: its task is not known any more. Submit it again.';
      }
      found.push(this._rows.ids.outer(task));
    }
    this._futures.set(value, found);
    return '';
  }

  /** A value is kept, or waits to be. */
  took(value: Uint8Array): void {
    this._add(this._futures.get(value), 1);
  }

  /** It is not any more. */
  gave(value: Uint8Array): void {
    this._add(this._futures.get(value), -1);
  }

  /**
   * Holds what is in values on their way to somebody.
   *
   * @param request - what they answer.
   * @param earlier - a grant of the same owner that is to hold them too: one that asks for many items gets as many answers as there were puts.
   * @returns the number that lets it go; 0: nothing is in them.
   */
  grant(
    owner: object,
    values: readonly Uint8Array[],
    request: number,
    earlier = 0
  ): number {
    const held = values.filter(value => this._futures.has(value));
    if (held.length === 0) {
      return 0;
    }
    held.forEach(value => this.took(value));
    const part = { request, values: held };
    const known = this._grants.get(earlier);
    if (known?.owner === owner) {
      known.parts.push(part);
      return earlier;
    }
    this._lastGrant = (this._lastGrant % NONE_U32) + 1;
    this._grants.set(this._lastGrant, { owner, parts: [part] });
    if (this._grants.size > MOST_GRANTS) {
      this.letGo([this._grants.keys().next().value!]);
    }
    return this._lastGrant;
  }

  /** Whoever says so: a worker's answer is adopted by a client in its task. */
  letGo(grants: readonly number[]): void {
    for (const number of grants) {
      const grant = this._grants.get(number);
      this._grants.delete(number);
      for (const { values } of grant?.parts ?? []) {
        values.forEach(value => this.gave(value));
      }
    }
  }

  /** An owner says that nobody took what was granted to it with the answer to a request. */
  giveUp(number: number, owner: object, request: number): void {
    const grant = this._grants.get(number);
    if (grant?.owner !== owner) {
      return;
    }
    // The last one first: so they come back.
    const at = grant.parts.findLastIndex(part => part.request === request);
    const [part] = at < 0 ? [] : grant.parts.splice(at, 1);
    part?.values.forEach(value => this.gave(value));
    if (grant.parts.length === 0) {
      this._grants.delete(number);
    }
  }

  /**
   * A value comes back from somebody on whose way it was held, to be kept again.
   *
   * @returns the value as it was given, with its futures; the content itself, if none were in it.
   */
  takeBack(number: number, content: Uint8Array, owner: object): Uint8Array {
    const grant = this._grants.get(number);
    const parts = grant?.owner === owner ? grant.parts : [];
    // The last one first: so they come back.
    for (let i = parts.length - 1; i >= 0; i--) {
      const { values } = parts[i]!;
      const at = values.findLastIndex(value => isEqual(value, content));
      if (at >= 0) {
        const [value] = values.splice(at, 1);
        this.gave(value!);
        return value!;
      }
    }
    return content;
  }

  /** Somebody has gone: what was on its way to it is not any more. */
  left(owner: object): void {
    for (const [number, grant] of [...this._grants]) {
      if (grant.owner === owner) {
        this.letGo([number]);
      }
    }
  }

  /** These run to their end, whoever wants them. */
  keepUntilDone(tasks: readonly DenseTaskId[]): void {
    const outers = tasks
      .map(task => this._rows.ids.outer(task))
      .filter(outer => !this._untilDone.has(outer));
    outers.forEach(outer => this._untilDone.add(outer));
    this._add(outers, 1);
  }

  /** These are not to run to their end any more. */
  cancelled(tasks: readonly DenseTaskId[]): void {
    this._forgetUntilDone(tasks.map(task => this._rows.ids.outer(task)));
  }

  private _forgetUntilDone(outers: readonly OuterTaskId[]): void {
    this._add(
      outers.filter(outer => this._untilDone.delete(outer)),
      -1
    );
  }

  /** What has become of tasks that are held. */
  reported({ taskIds, status }: Report): void {
    const done = [...taskIds].filter((_, i) => status[i] !== ReportStatus.Lost);
    this._forgetUntilDone(done.map(task => this._rows.ids.outer(task)));
  }

  private _add(outers: readonly OuterTaskId[] | undefined, by: 1 | -1): void {
    if (outers === undefined || outers.length === 0) {
      return;
    }
    for (const outer of outers) {
      const count = (this._counts.get(outer) ?? 0) + by;
      if (count > 0) {
        this._counts.set(outer, count);
      } else {
        this._counts.delete(outer);
      }
      this._changed.add(outer);
    }
    this._total += by * outers.length;
    if (by > 0) {
      // At once, before whoever has them lets go. These alone: others may have been given for a moment.
      this._settle(outers);
    } else {
      // Later: a value may be given for a moment, and taken again.
      this._gather(() => this._settle());
    }
  }

  private _settle(outers: Iterable<OuterTaskId> = [...this._changed]): void {
    const wanted: DenseTaskId[] = [];
    const released: DenseTaskId[] = [];
    for (const outer of outers) {
      this._changed.delete(outer);
      const task = this._rows.ids.resolve(outer);
      if (this._counts.has(outer)) {
        if (!this._held.has(outer)) {
          this._held.add(outer);
          wanted.push(task);
        }
      } else if (this._held.delete(outer)) {
        released.push(task);
      }
    }
    this._say('clientWants', wanted);
    this._say('clientReleases', released);
  }

  private _say(type: Want, tasks: DenseTaskId[]): void {
    const known = tasks.filter(task => task >= 0);
    if (known.length > 0) {
      this._tell(type, arrayOf(Int32Array, known));
    }
  }
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && Buffer.compare(one, other) === 0;
}
