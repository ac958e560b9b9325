import { PortableForms, textToSend } from '../graph/portable';
import type { PortableForm } from '../graph/portable-form';
import type { TaskFunction } from '../graph/nodes';
import type { FunctionDefinition } from './messages';
import { sentFunction } from './sent-function';

/** How much a new measurement counts against those before it. */
const NEW_SHARE = 0.25;

/** The functions that a pool has sent, or will send, to its workers; equal texts are one function. */
export class FunctionTable {
  private readonly _forms = new PortableForms();
  private readonly _idOf = new WeakMap<TaskFunction, number>();
  /** By what makes functions the same: their text, or their place in a module. */
  private readonly _idOfForm = new Map<string, number>();
  private readonly _definitions: FunctionDefinition[] = [];
  /** Milliseconds per call, by id; a hole until it was measured. */
  private readonly _meanMs: (number | undefined)[] = [];
  private _lastFn: TaskFunction | null = null;
  private _lastId = -1;

  /** How many functions there are; ids are below. */
  get size(): number {
    return this._definitions.length;
  }

  /** @throws NotPortableError if the function cannot be sent, or may not be from here. */
  idOf = (fn: TaskFunction): number => {
    // Graphs tend to call one function many times in a row.
    if (fn === this._lastFn) {
      return this._lastId;
    }
    const id = this._idOf.get(fn) ?? this._enter(fn);
    this._lastFn = fn;
    this._lastId = id;
    return id;
  };

  /** The definitions with ids from `start` on. */
  definitionsFrom(start: number): readonly FunctionDefinition[] {
    return start === this._definitions.length
      ? []
      : this._definitions.slice(start);
  }

  meanMs(id: number): number | undefined {
    return this._meanMs[id];
  }

  measured(id: number, count: number, ms: number): void {
    const before = this._meanMs[id];
    const mean = ms / count;
    this._meanMs[id] =
      before === undefined ? mean : before + NEW_SHARE * (mean - before);
  }

  private _enter(fn: TaskFunction): number {
    // A function that is made anew for each task has a text that is known: to look into it once more takes ten times as long as to find it.
    const text = textToSend(fn);
    let id = text === null ? undefined : this._idOfForm.get(text);
    if (id === undefined) {
      const form = this._forms.formOf(fn);
      const sent = sentFunction(form);
      const name = text ?? placeText(form);
      id = this._idOfForm.get(name);
      if (id === undefined) {
        id = this._definitions.length;
        this._definitions.push({ id, ...sent });
        this._idOfForm.set(name, id);
      }
    }
    this._idOf.set(fn, id);
    return id;
  }
}

/** Equal for places that are the same function; no function's text looks like it. */
function placeText(form: PortableForm): string {
  return form.kind === 'module'
    ? `module ${form.url} ${form.exportName} ${form.movesResult}`
    : form.expression;
}
