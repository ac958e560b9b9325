/**
 * Looks through values before they are sent, at both ends. It finds objects that would arrive without the methods of their class, and
 * objects that several tasks of a pack are given: they would share one copy.
 *
 * ```
 *   task 0   { rows: [a, b] }        b belongs to two tasks: the worker makes copies
 *   task 1   { rows: [b, c] }        c is of a class with methods: task 1 fails before anything is sent
 * ```
 */
import { types } from 'node:util';

/** Objects of a result, or of a task's arguments, that are looked at: copying one takes several times as long as looking at it. */
const MOST_OBJECTS = 10_000;
/** The same for members of lists, mostly numbers; a sparse list may say that it has thousands of millions. */
const MOST_MEMBERS = 10_000_000;

/** An object that would lose something on the way. */
export type Loss = {
  readonly object: object;
  /** Of the methods, getters and setters that would be missing. */
  readonly names: readonly string[];
};

/** Knows what objects of a class lose on the way; each class is tried once. */
export class ClassLosses {
  private readonly _ofPrototype = new WeakMap<object, readonly string[]>();

  /** @param _arrival - what a value is when it has arrived. @throws if it cannot be sent */
  constructor(private readonly _arrival: (value: unknown) => unknown) {}

  /** The first object in a value that would lose something; null also for what cannot be sent, which is told when it is sent. */
  find(value: unknown): Loss | null {
    return new SentValues(this).look(value, 0);
  }

  of(object: object, prototype: object): Loss | null {
    let names = this._ofPrototype.get(prototype);
    if (names === undefined) {
      names = this._lost(object, prototype);
      this._ofPrototype.set(prototype, names);
    }
    return names.length === 0 ? null : { object, names };
  }

  private _lost(object: object, prototype: object): readonly string[] {
    if (object instanceof Buffer) {
      // Documented: it arrives as the Uint8Array that it is.
      return [];
    }
    const arrived = this._arrival(object) as Record<PropertyKey, unknown>;
    const names: string[] = [];
    for (
      let at: object | null = prototype;
      at !== null;
      at = Object.getPrototypeOf(at) as object | null
    ) {
      for (const name of Reflect.ownKeys(at)) {
        const { value, get, set } = Object.getOwnPropertyDescriptor(at, name)!;
        const isGone =
          typeof value === 'function'
            ? !(name in arrived) ||
              (!isNative(value as object) && arrived[name] !== value)
            : (get !== undefined || set !== undefined) && !(name in arrived);
        if (isGone && name !== 'constructor') {
          names.push(String(name));
        }
      }
    }
    return names;
  }
}

/** The values of one message. */
export class SentValues {
  /** By object, the first task that had it. Views stand for their memory. */
  private readonly _taskOf = new Map<object, number>();
  private _isShared = false;
  /** The task that is looked at. */
  private _task = -1;
  private _objectsLeft = 0;
  private _membersLeft = 0;

  constructor(private readonly _losses: ClassLosses) {}

  /** Whether two tasks have, or may have, one object. */
  get isShared(): boolean {
    return this._isShared;
  }

  /** Whether there are so many objects that the message is to take no further task. */
  get isFull(): boolean {
    return this._taskOf.size >= MOST_OBJECTS;
  }

  /** Looks at a value of a task. @returns the first object that would lose something. */
  look(value: unknown, task: number): Loss | null {
    if (typeof value !== 'object' || value === null) {
      return null;
    }
    if (task !== this._task) {
      this._begin(task);
    }
    try {
      return this._lookAt(value, task);
    } catch {
      // A getter or a proxy throws, or something cannot be copied: the sender's error says where.
      return null;
    }
  }

  /** All objects of a task are looked at, whatever else is sent with it: whether it fails must not depend on that. */
  private _begin(task: number): void {
    this._task = task;
    this._objectsLeft = MOST_OBJECTS;
    this._membersLeft = MOST_MEMBERS;
    if (this.isFull) {
      // No further objects are compared with those of earlier tasks, so some are taken to be shared.
      this._taskOf.clear();
      this._isShared = true;
    }
  }

  private _lookAt(root: object, task: number): Loss | null {
    const pending = [root];
    const add = (part: unknown): void => {
      if (typeof part === 'object' && part !== null) {
        pending.push(part);
      }
    };
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      const isView = ArrayBuffer.isView(at);
      const owned = ArrayBuffer.isView(at) ? at.buffer : at;
      const known = this._taskOf.get(owned);
      if (known === undefined) {
        if (this._objectsLeft === 0) {
          this._isShared = true;
          return null;
        }
        this._objectsLeft -= 1;
        this._taskOf.set(owned, task);
      } else if (known !== task && !types.isSharedArrayBuffer(owned)) {
        this._isShared = true;
      }
      if (known !== undefined && !isView) {
        continue;
      }
      const prototype = Object.getPrototypeOf(at) as object | null;
      if (
        prototype !== Object.prototype &&
        prototype !== Array.prototype &&
        prototype !== null
      ) {
        const loss = this._losses.of(at, prototype);
        if (loss !== null) {
          return loss;
        }
      }
      if (isView || types.isNativeError(at)) {
        // Copying an error keeps only the properties that every error has.
        continue;
      }
      if (types.isMap(at)) {
        at.forEach((part: unknown, key: unknown) => {
          add(key);
          add(part);
        });
      } else if (types.isSet(at)) {
        at.forEach(add);
      } else if (Array.isArray(at)) {
        this._membersLeft -= at.length;
        if (this._membersLeft < 0) {
          this._isShared = true;
          return null;
        }
        for (let place = 0; place < at.length; place++) {
          add(at[place]);
        }
      } else {
        for (const name of Object.keys(at)) {
          add((at as Record<string, unknown>)[name]);
        }
      }
    }
    return null;
  }
}

function isNative(fn: object): boolean {
  return /\{\s*\[native code\]\s*\}\s*$/.test(
    Function.prototype.toString.call(fn)
  );
}
