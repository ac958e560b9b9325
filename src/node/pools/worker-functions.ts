/** Runs in the worker: the functions it was told, each compiled or imported once. */
import { compilerFrame, exportedFunction } from '../graph/portable-form';
import type { FunctionDefinition, SentFunction } from './messages';
import { callWithin, importInWorker } from './module-import';

export type LoadedFunction = {
  readonly call: (...args: unknown[]) => unknown;
  /** Whether results may be moved out of the worker: the function cannot hold on to them. */
  readonly movesResults: boolean;
};

export class WorkerFunctions {
  private readonly _sent: (SentFunction | undefined)[] = [];
  /** By id; a hole until the first call. Hot: read once per task. */
  readonly loaded: (LoadedFunction | undefined)[] = [];

  /** To be called when all packs sent before have run: an id may have been another function's. */
  define(definitions: readonly FunctionDefinition[]): void {
    for (const definition of definitions) {
      this._sent[definition.id] = definition;
      this.loaded[definition.id] = undefined;
    }
  }

  /** @throws what compiling or importing throws: the error of the task that calls the function. */
  async load(id: number): Promise<LoadedFunction> {
    const known = this.loaded[id];
    if (known !== undefined) {
      return known;
    }
    const sent = this._sent[id];
    if (sent === undefined) {
      throw new Error(`Function ${id} was never defined in this worker.`);
    }
    return (this.loaded[id] = await loadedFunction(sent));
  }
}

/** @throws what compiling or importing throws. */
export async function loadedFunction({
  form,
  within
}: SentFunction): Promise<LoadedFunction> {
  const call =
    form.kind === 'text'
      ? compile(form.expression, form.name)
      : exportedFunction(
          await importInWorker(form.url, within),
          form.url,
          form.exportName
        );
  return {
    call:
      within.length === 0
        ? call
        : (...args) => callWithin(within, () => call(...args)),
    movesResults: form.movesResult
  };
}

function compile(
  expression: string,
  name: string
): (...args: unknown[]) => unknown {
  // What stacks show as the file.
  const source = `//# sourceURL=spanwise:${name.replace(/\s/g, '_')}`;
  // Indirect, so that the text sees globals and nothing of this file. The text is the caller's own program.
  const evaluate = globalThis.eval;
  const frame = evaluate(`${compilerFrame(expression)}\n${source}`) as (
    keepName: <T>(fn: T) => T
  ) => (...args: unknown[]) => unknown;
  const fn = frame(inner => inner);
  // An arrow function had its name from the variable it was assigned to; stacks shall show it.
  Object.defineProperty(fn, 'name', { value: name, configurable: true });
  return fn;
}
