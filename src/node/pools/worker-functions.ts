/** Runs in the worker: the functions it was told, each compiled or imported once. */
import * as vm from 'node:vm';
import {
  compilerFrame,
  exportedFunction,
  type PortableForm
} from '../graph/portable-form';
import type { FunctionDefinition } from './messages';

export type LoadedFunction = {
  readonly call: (...args: unknown[]) => unknown;
  /** Whether results may be moved out of the worker: the function cannot hold on to them. */
  readonly movesResults: boolean;
};

export class WorkerFunctions {
  private readonly _forms: (PortableForm | undefined)[] = [];
  /** By id; a hole until the first call. Hot: read once per task. */
  readonly loaded: (LoadedFunction | undefined)[] = [];

  define(definitions: readonly FunctionDefinition[]): void {
    for (const { id, form } of definitions) {
      this._forms[id] = form;
    }
  }

  /** @throws what compiling or importing throws: the error of the task that calls the function. */
  async load(id: number): Promise<LoadedFunction> {
    const known = this.loaded[id];
    if (known !== undefined) {
      return known;
    }
    const form = this._forms[id];
    if (form === undefined) {
      throw new Error(`Function ${id} was never defined in this worker.`);
    }
    const loaded =
      form.kind === 'text'
        ? { call: compile(form.expression, form.name), movesResults: true }
        : {
            call: exportedFunction(
              (await import(form.url)) as Record<string, unknown>,
              form.url,
              form.exportName
            ),
            movesResults: form.movesResult
          };
    this.loaded[id] = loaded;
    return loaded;
  }
}

function compile(
  expression: string,
  name: string
): (...args: unknown[]) => unknown {
  const script = new vm.Script(compilerFrame(expression), {
    // What a stack shows as the file; the frame's first line is not part of the function.
    filename: `spanwise:${name}`,
    lineOffset: -1,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
  });
  const frame = script.runInThisContext() as (
    keepName: <T>(fn: T) => T
  ) => (...args: unknown[]) => unknown;
  return frame(fn => fn);
}
