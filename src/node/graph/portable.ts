/**
 * Functions that can be sent to another thread or process. A closure cannot be: what travels is either the place of an exported function
 * or the function's own text, which then must stand on its own.
 */
import { createRequire } from 'node:module';
import { isAbsolute } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { types } from 'node:util';
import {
  type FreeVariable,
  freeVariables,
  workerGlobals
} from './free-variables';
import type { TaskFunction } from './nodes';
import {
  exportedFunction,
  type ModulePlace,
  type PortableForm
} from './portable-form';

/** Marks functions made by {@link module}; registered, so that two copies of this package know each other's. */
const PLACE = Symbol.for('spanwise.modulePlace');

type Placed = TaskFunction & {
  readonly [PLACE]?: ModulePlace;
};

/**
 * A function cannot be sent to a worker. Thrown before anything runs; the message names the task and says what to do.
 *
 * @group Errors
 * @example
 * ```ts
 * import { getThreads, NotPortableError, task } from 'spanwise';
 *
 * const factor = 3;
 * try {
 *   await getThreads({ a: task((x: number) => factor * x, 7) }, 'a');
 * } catch (error) {
 *   if (error instanceof NotPortableError) {
 *     console.log(error.freeVariables); // → [ 'factor' ]
 *   }
 * }
 * // What it needs, it can be given:
 * const graph = { a: task((by: number, x: number) => by * x, factor, 7) };
 * console.log(await getThreads(graph, 'a')); // → 21
 * ```
 */
export class NotPortableError extends TypeError {
  /** The class's name. */
  override readonly name = 'NotPortableError';
  /** What the function takes from around it; empty if something else is wrong. */
  readonly freeVariables: readonly string[];

  constructor(message: string, names: readonly string[] = []) {
    super(message);
    this.freeVariables = names;
  }
}

/**
 * The portable form of a function that a module exports: workers import it there, with everything that the module has around it.
 *
 * The answer can also be called here, by `getSync` too: its first call loads the module. For a module that Node can only load asynchronously
 * (one that awaits at its top level, or is neither a file nor Node's own) it returns a promise, which `getSync` refuses and says why.
 *
 * @param url - where the module is: a URL, `node:…`, or an absolute path. Other names mean different files at different places, so they are
 * refused: write `import.meta.resolve('package')`.
 * @param exportName - the exported function; `'default'` if left out
 * @param options - `movesResult`: typed arrays in results leave the worker without a copy. Only for functions that keep no reference to
 * what they return; a worker cannot see that of a module. (Functions sent as text have nowhere to keep it.) False by default.
 * @throws NotPortableError for a name that means different files at different places.
 *
 * @group Schedulers
 * @example
 * ```ts
 * import { getThreads, module, task } from 'spanwise';
 *
 * const graph = { digest: task(module('node:crypto', 'hash'), 'sha256', 'abc') };
 * console.log(await getThreads(graph, 'digest')); // → ba7816bf…
 * ```
 * @example A function that needs what stands around it: the worker imports this very file, so the run must not begin there again.
 * ```ts
 * import { getThreads, module, task } from 'spanwise';
 *
 * const factor = 3;
 * export const scale = (x: number) => factor * x;
 *
 * // From Node 22.18 on. Before, for threads: isMainThread of node:worker_threads.
 * if (import.meta.main) {
 *   const graph = { a: task(module(import.meta.url, 'scale'), 7) };
 *   console.log(await getThreads(graph, 'a')); // → 21
 * }
 * ```
 */
export function module<F extends TaskFunction = TaskFunction<unknown[]>>(
  url: string | URL,
  exportName = 'default',
  { movesResult = false }: { readonly movesResult?: boolean } = {}
): NoInfer<F> {
  const href = moduleUrl(url);
  let loaded: ((...args: unknown[]) => unknown) | undefined;
  const call = (...args: unknown[]): unknown => {
    if (loaded !== undefined) {
      return loaded(...args);
    }
    const run = (names: Record<string, unknown>) => {
      loaded = exportedFunction(names, href, exportName);
      return loaded(...args);
    };
    const found = loadModule(href, exportName);
    if (!(found instanceof Later)) {
      return run(found);
    }
    const result = found.names.then(run);
    reasons.set(result, `${href} cannot be loaded at once: ${found.why}`);
    return result;
  };
  Object.defineProperty(call, 'name', { value: exportName });
  Object.defineProperty(call, PLACE, {
    value: { url: href, exportName, movesResult }
  });
  return call as unknown as NoInfer<F>;
}

/**
 * Knows the portable forms of functions, each looked at once. A table belongs to a pool: texts that are equal have one form there.
 */
export class PortableForms {
  private readonly _forms = new WeakMap<TaskFunction, PortableForm>();
  private readonly _globals = workerGlobals();

  /** @throws NotPortableError, saying what is missing and what to do. */
  formOf(fn: TaskFunction): PortableForm {
    let form = this._forms.get(fn);
    if (form === undefined) {
      form = portableForm(fn, this._globals);
      this._forms.set(fn, form);
    }
    return form;
  }
}

/** The text that is sent in place of a function, by which functions are the same; null for one of a module. */
export function textToSend(fn: Placed): string | null {
  return fn[PLACE] === undefined ? Function.prototype.toString.call(fn) : null;
}

function portableForm(fn: Placed, globals: ReadonlySet<string>): PortableForm {
  const placed = fn[PLACE];
  if (placed !== undefined) {
    return { kind: 'module', ...placed };
  }
  const name = fn.name || 'anonymous';
  const text = Function.prototype.toString.call(fn);
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) {
    throw new NotPortableError(
      `\`${name}\` is a bound or built-in function, which has no text that could be sent. Write a function around it, such as (...args) => Math.max(...args).`
    );
  }
  if (/^[gs]et\s+[^\s(]/.test(text)) {
    throw new NotPortableError(
      `\`${name}\` is a getter or a setter, which belongs to its object. Write a function that is given the object.`
    );
  }
  // A method's text, `norm(x) { … }`, is an expression only inside an object; its name may be a symbol.
  const [expression, free] = firstThatParses(
    [text, `(o => o[Reflect.ownKeys(o)[0]])({ ${text} })`],
    name,
    globals
  );
  if (expression !== text && /\bsuper\b/.test(text)) {
    free.unshift({ name: 'super', line: text });
  }
  if (free.length > 0) {
    throw new NotPortableError(
      freeVariableMessage(fn, name, free),
      free.map(variable => variable.name)
    );
  }
  return {
    kind: 'text',
    expression,
    name,
    movesResult: !mayKeepResults(text)
  };
}

/** Where a text can reach something that outlives the call: a global, a module other than Node's own. */
const LASTING_PLACE =
  /\b(?:globalThis|global|getBuiltinModule|import(?!\s*\(\s*(['"`])node:[\w/]+\1\s*\)))\b/;

/**
 * Whether a function given as text may still have a result after it has returned it: in a global, in a module, or in a property of its own
 * (`function table() { return (table.kept ??= make()); }`). Text that only looks like it (in a comment) costs a copy, no more.
 */
function mayKeepResults(text: string): boolean {
  if (LASTING_PLACE.test(text)) {
    return true;
  }
  const own = /^(?:async\s+)?function\s*\*?\s*([\p{L}_$][\p{L}\p{N}_$]*)/u.exec(
    text
  );
  if (own === null) {
    return false;
  }
  const rest = text.slice(own[0].length);
  const name = own[1]!.replace(/\$/g, '\\$');
  // A function that only calls itself keeps nothing.
  return new RegExp(
    `(?<![\\p{L}\\p{N}_$.])${name}(?![\\p{L}\\p{N}_$]|\\s*\\()`,
    'u'
  ).test(rest);
}

function firstThatParses(
  expressions: readonly string[],
  name: string,
  globals: ReadonlySet<string>
): [expression: string, free: FreeVariable[]] {
  let problem: unknown;
  for (const expression of expressions) {
    try {
      return [expression, freeVariables(expression, globals)];
    } catch (error) {
      if (!(error instanceof SyntaxError)) {
        throw error;
      }
      problem ??= error;
    }
  }
  throw new NotPortableError(
    `The text of \`${name}\` cannot be compiled on its own (${(problem as Error).message}). Put it into a file and send module(new URL('./file.js', import.meta.url), 'name').`
  );
}

/** Modules of Node whose functions people send to workers. */
const OF_NODE = [
  'node:fs/promises',
  'node:fs',
  'node:path',
  'node:zlib',
  'node:crypto',
  'node:os',
  'node:util',
  'node:url',
  'node:timers/promises',
  'node:dns/promises',
  'node:child_process',
  'node:querystring'
];

/** The call of `module` that gives one of Node's functions, if it is one. */
function moduleOfNode(fn: TaskFunction): string | undefined {
  // From Node 22.3 on; its types say always.
  const builtIn = process.getBuiltinModule as
    | typeof process.getBuiltinModule
    | undefined;
  for (const id of OF_NODE) {
    for (const [name, exported] of Object.entries(builtIn?.(id) ?? {})) {
      if (exported === fn) {
        return `module('${id}', '${name}')`;
      }
    }
  }
  return undefined;
}

function freeVariableMessage(
  fn: TaskFunction,
  name: string,
  free: readonly FreeVariable[]
): string {
  const names = free.map(variable => `\`${variable.name}\``);
  const listed =
    names.length === 1
      ? names[0]
      : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  const line = free[0]!.line;
  const ofNode = moduleOfNode(fn);
  if (ofNode !== undefined) {
    return `\`${name}\` is one of Node's own functions, whose text uses ${listed} from outside: send ${ofNode}.`;
  }
  const remedy =
    free[0]!.name === 'require'
      ? 'Load it inside with `await import(…)`'
      : free[0]!.name.startsWith('import(')
        ? 'Give the task import.meta.resolve(…) of it as an argument, and import that'
        : ['this', 'super', 'arguments'].includes(free[0]!.name)
          ? 'Give the function parameters for what it takes from there'
          : `Pass ${names.length === 1 ? 'it' : 'them'} as ${names.length === 1 ? 'an argument' : 'arguments'} of the task`;
  return (
    `\`${name}\` uses ${listed} from outside its own text` +
    ` (${line.length > 80 ? `${line.slice(0, 79)}…` : line}), which does not exist in a worker. ` +
    `${remedy}, or put the function into a file and send module(new URL('./file.js', import.meta.url), 'name').`
  );
}

function moduleUrl(url: string | URL): string {
  const text = String(url);
  if (isAbsolute(text)) {
    return pathToFileURL(text).href;
  }
  if (!/^(file|data|node):/.test(text)) {
    throw new NotPortableError(
      `module('${text}'): a worker cannot know where that is. Pass new URL('${text}', import.meta.url) for a file, import.meta.resolve('${text}') for a package.`
    );
  }
  return text;
}

/** Why a module could not be loaded at once, by the promises that were given instead. */
const reasons = new WeakMap<object, string>();

/** Why a function of {@link module} gave this promise, if its module is the reason: for a scheduler that cannot wait. */
export function reasonOfPromise(promise: object): string | undefined {
  return reasons.get(promise);
}

type Names = Record<string, unknown>;

/** A module that must be waited for, and why. */
class Later {
  constructor(
    readonly names: Promise<Names>,
    readonly why: string
  ) {}
}

/**
 * At once where Node can (so that synchronous schedulers may call it), else by a promise.
 *
 * @throws NotPortableError for a module that is still being loaded and began the run: it would wait for itself.
 */
function loadModule(url: string, exportName: string): Names | Later {
  let why = 'Node loads modules of such URLs later';
  try {
    const names = url.startsWith('node:')
      ? builtInModule(url)
      : url.startsWith('file:')
        ? (createRequire(url)(fileURLToPath(url)) as Names)
        : undefined;
    if (names !== undefined) {
      // The default of a CommonJS module is all that it exports, as where workers import it, even if it exports a `default` of its own.
      return exportName === 'default' && !types.isModuleNamespaceObject(names)
        ? { default: names }
        : (Object(names) as Names);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_REQUIRE_CYCLE_MODULE') {
      throw new NotPortableError(
        `${url} is still being loaded, since its top level began this run: this thread cannot call its functions yet. ` +
          'Put the functions of tasks into a file of their own.'
      );
    }
    if (code === 'ERR_REQUIRE_ASYNC_MODULE') {
      why = 'it, or a module that it imports, awaits at its top level';
    } else if (code === 'ERR_REQUIRE_ESM') {
      why = 'only from Node 22.12 on ES modules are loaded at once';
    } else {
      throw error;
    }
  }
  return new Later(import(url) as Promise<Names>, why);
}

/** From Node 22.3 on; its types say always. */
function builtInModule(url: string): Names | undefined {
  const builtIn = process.getBuiltinModule as
    | ((id: string) => Names | undefined)
    | undefined;
  return builtIn?.(url);
}
