import { PortableForms, textToSend } from '../graph/portable';
import type { PortableForm } from '../graph/portable-form';
import type { TaskFunction } from '../graph/nodes';
import type { FunctionDefinition, SentFunction } from './messages';
import { sentFunction } from './sent-function';

/** How much a new measurement counts against those before it. */
const NEW_SHARE = 0.25;

/** Characters of all functions that a pool knows; what workers make of them takes a few times as much in each. */
const MOST_CHARACTERS = 4 << 20;
/** The characters that a function counts besides its text. */
const OVERHEAD_CHARACTERS = 200;

/** A function in the table. */
type Entry = {
  readonly id: number;
  /** Counts on from function to function, also where an id is given again. */
  readonly serial: number;
  /** The identity of a function: its text, or its place in a module. */
  readonly name: string;
  readonly characters: number;
  /** The message that called it last. */
  usedIn: number;
  /** null when it was forgotten. */
  definition: FunctionDefinition | null;
};

/**
 * The functions that a pool has sent, or will send, to its workers; equal texts are one function. When they become too much, those not used
 * for the longest time are forgotten, and their ids given to others; when they are called again, they are entered again.
 *
 * ```
 *   id        0      1      2            too much: f and g are forgotten       0      1      2
 *   serial    0 f    1 g    2 h          ───────────────────────────────►      3 k    4 f    2 h
 * ```
 */
export class FunctionTable {
  private readonly _forms = new PortableForms();
  private readonly _entryOf = new WeakMap<TaskFunction, Entry>();
  private readonly _entryOfName = new Map<string, Entry>();
  /** Those that are known, by serial. */
  private _entries: Entry[] = [];
  private readonly _freeIds: number[] = [];
  private _nextSerial = 0;
  private _characters = 0;
  /** Milliseconds per call, by id; undefined until it was measured. */
  private readonly _meanMs: (number | undefined)[] = [];
  private _message = 0;
  private _lastFn: TaskFunction | null = null;
  private _lastId = -1;

  /** @param _mostCharacters - of all known functions; those that one message calls are known in any case. */
  constructor(private readonly _mostCharacters = MOST_CHARACTERS) {}

  /** How many functions are known. */
  get size(): number {
    return this._entries.length;
  }

  /** Serial numbers of functions are below. */
  get nextSerial(): number {
    return this._nextSerial;
  }

  /** From now on {@link idOf} is asked for the next message. */
  beginMessage(): void {
    this._message += 1;
    this._lastFn = null;
    if (this._characters > this._mostCharacters) {
      this._forgetOldest();
    }
  }

  /**
   * The id by which the message that is being made calls a function; in the next one it may have another.
   *
   * @throws NotPortableError if the function cannot be sent, or may not be from here.
   */
  idOf = (fn: TaskFunction): number => {
    // Graphs tend to call one function many times in a row.
    if (fn === this._lastFn) {
      return this._lastId;
    }
    const entry = this._entry(fn);
    entry.usedIn = this._message;
    this._lastFn = fn;
    this._lastId = entry.id;
    return entry.id;
  };

  /** @throws NotPortableError as {@link idOf}. */
  check = (fn: TaskFunction): void => {
    if (fn !== this._lastFn) {
      this._entry(fn);
    }
  };

  /** The definitions of the known functions with serial numbers from `start` on. */
  definitionsFrom(start: number): readonly FunctionDefinition[] {
    if (start === this._nextSerial) {
      return [];
    }
    let first = this._entries.length;
    while (first > 0 && this._entries[first - 1]!.serial >= start) {
      first--;
    }
    return this._entries.slice(first).map(({ definition }) => definition!);
  }

  meanMs(id: number): number | undefined {
    return this._meanMs[id];
  }

  /** A late report about a forgotten function counts for the function that has its id now: it only decides how many tasks go ahead. */
  measured(id: number, count: number, ms: number): void {
    const before = this._meanMs[id];
    const mean = ms / count;
    this._meanMs[id] =
      before === undefined ? mean : before + NEW_SHARE * (mean - before);
  }

  private _entry(fn: TaskFunction): Entry {
    const known = this._entryOf.get(fn);
    return known === undefined || known.definition === null
      ? this._enter(fn)
      : known;
  }

  private _enter(fn: TaskFunction): Entry {
    // A function that is created for each task has a known text: parsing it again takes ten times as long as finding it.
    const text = textToSend(fn);
    let entry = text === null ? undefined : this._entryOfName.get(text);
    if (entry === undefined) {
      const form = this._forms.formOf(fn);
      const sent = sentFunction(form);
      const name = text ?? placeText(form);
      entry = this._entryOfName.get(name) ?? this._add(name, sent);
    }
    this._entryOf.set(fn, entry);
    return entry;
  }

  private _add(name: string, sent: SentFunction): Entry {
    const characters = name.length + OVERHEAD_CHARACTERS;
    if (this._characters + characters > this._mostCharacters) {
      this._forgetOldest();
    }
    const id = this._freeIds.pop() ?? this._entries.length;
    const entry: Entry = {
      id,
      serial: this._nextSerial++,
      name,
      characters,
      usedIn: -1,
      definition: { id, ...sent }
    };
    this._characters += characters;
    this._meanMs[id] = undefined;
    this._entries.push(entry);
    this._entryOfName.set(name, entry);
    return entry;
  }

  /** Forgets down to half of the limit, but no function that the current message calls. */
  private _forgetOldest(): void {
    const oldestFirst = this._entries
      .filter(({ usedIn }) => usedIn !== this._message)
      .sort((a, b) => a.usedIn - b.usedIn || a.serial - b.serial);
    for (const entry of oldestFirst) {
      if (this._characters <= this._mostCharacters / 2) {
        break;
      }
      this._characters -= entry.characters;
      this._entryOfName.delete(entry.name);
      this._freeIds.push(entry.id);
      entry.definition = null;
    }
    this._entries = this._entries.filter(
      ({ definition }) => definition !== null
    );
    this._lastFn = null;
  }
}

/** Equal for places that are the same function; no function's text looks like it. */
function placeText(form: PortableForm): string {
  return form.kind === 'module'
    ? `module ${form.url} ${form.exportName} ${form.movesResult}`
    : form.expression;
}
