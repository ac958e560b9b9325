/**
 * Finds the names that a function's text takes from around it. A worker gets the text alone, so it would lack them.
 */
import * as vm from 'node:vm';
import { parse, type Token } from 'acorn';
import { analyze, type Scope, type ScopeManager } from 'eslint-scope';
import { compilerFrame } from './portable-form';

/** A name that the text does not define, with the line of the text where it first stands, trimmed. */
export type FreeVariable = { readonly name: string; readonly line: string };

/**
 * Node's own globals, as a worker thread and a child process have them. The language's come from the engine that runs this, so that new
 * ones are known without a list.
 */
const NODE_GLOBALS = [
  'AbortController',
  'AbortSignal',
  'Blob',
  'BroadcastChannel',
  'Buffer',
  'ByteLengthQueuingStrategy',
  'CompressionStream',
  'CountQueuingStrategy',
  'Crypto',
  'CryptoKey',
  'CustomEvent',
  'DOMException',
  'DecompressionStream',
  'Event',
  'EventTarget',
  'File',
  'FormData',
  'Headers',
  'MessageChannel',
  'MessageEvent',
  'MessagePort',
  'Navigator',
  'Performance',
  'PerformanceEntry',
  'PerformanceMark',
  'PerformanceMeasure',
  'PerformanceObserver',
  'ReadableStream',
  'ReadableStreamDefaultReader',
  'Request',
  'Response',
  'SubtleCrypto',
  'TextDecoder',
  'TextDecoderStream',
  'TextEncoder',
  'TextEncoderStream',
  'TransformStream',
  'URL',
  'URLSearchParams',
  'WebAssembly',
  'WebSocket',
  'WritableStream',
  'WritableStreamDefaultWriter',
  'atob',
  'btoa',
  'clearImmediate',
  'clearInterval',
  'clearTimeout',
  'console',
  'crypto',
  'fetch',
  'global',
  'navigator',
  'performance',
  'process',
  'queueMicrotask',
  'setImmediate',
  'setInterval',
  'setTimeout',
  'structuredClone',
  // Compilers that keep the names of inner functions (esbuild, tsx) call this; workers define it.
  '__name'
];

/** Every name that exists in a worker without being defined by the text. */
export function workerGlobals(): ReadonlySet<string> {
  const ofLanguage = vm.runInNewContext(
    'Object.getOwnPropertyNames(globalThis)'
  ) as string[];
  return new Set([...ofLanguage, ...NODE_GLOBALS]);
}

/**
 * @param expression - the text of a function, as an expression
 * @param globals - names that need no definition
 * @returns names used but not defined in it, each once; `this` and `arguments` too where an arrow function takes them from around it, and
 * `import(…)` of a path that is relative to the file around it.
 * @throws SyntaxError if it is no expression in strict mode.
 */
export function freeVariables(
  expression: string,
  globals: ReadonlySet<string>
): FreeVariable[] {
  const text = compilerFrame(expression);
  const tokens: Token[] = [];
  const tree = parse(text, {
    ecmaVersion: 'latest',
    ranges: true,
    onToken: tokens
  });
  const scopes = analyze(tree as Parameters<typeof analyze>[0], {
    ecmaVersion: 2022,
    sourceType: 'script'
  });
  const found = new Map<string, string>();
  const note = (name: string, at: number) => {
    if (!found.has(name)) {
      // The line in the expression: the frame around it is ours.
      found.set(name, lineAt(expression, at - text.indexOf(expression)));
    }
  };
  for (const { identifier } of scopes.globalScope?.through ?? []) {
    const [at] = identifier.range ?? [0];
    const { name } = identifier as { name: string };
    // `typeof name` is how code asks whether a name exists; it never fails.
    if (!globals.has(name) && !/typeof[\s(]*$/.test(text.slice(0, at))) {
      note(name, at);
    }
  }
  noteBorrowed(scopes, note);
  noteImports(text, tokens, note);
  return [...found].map(([name, line]) => ({ name, line }));
}

/** `import('./rows.js')` means a file beside the one it is written in; a worker would look beside its own program. */
function noteImports(
  text: string,
  tokens: readonly Token[],
  note: (name: string, at: number) => void
): void {
  tokens.forEach((token, at) => {
    const [bracket, path] = tokens.slice(at + 1, at + 3);
    if (
      token.type.keyword === 'import' &&
      bracket?.type.label === '(' &&
      path?.type.label === 'string'
    ) {
      const quoted = text.slice(path.start, path.end);
      if (/^.\.{1,2}\//.test(quoted)) {
        note(`import('${quoted.slice(1, -1)}')`, token.start);
      }
    }
  });
}

/** Arrow functions have no `this` and no `arguments` of their own; outside every ordinary function they would take the frame's. */
function noteBorrowed(
  scopes: ScopeManager,
  note: (name: string, at: number) => void
): void {
  const frame = scopes.globalScope?.childScopes[0];
  const used = frame?.set.get('arguments')?.references[0];
  if (used !== undefined) {
    note('arguments', used.identifier.range?.[0] ?? 0);
  }
  for (const scope of scopes.scopes) {
    if (scope.thisFound && isArrowChain(scope, frame)) {
      note('this', scope.block.range?.[0] ?? 0);
    }
  }
}

function isArrowChain(scope: Scope, frame: Scope | undefined): boolean {
  let at: Scope | null = scope;
  while (at !== null && at !== frame) {
    if (at.type === 'function' && at.block.type !== 'ArrowFunctionExpression') {
      return false;
    }
    if (
      at.type === 'class-field-initializer' ||
      at.type === 'class-static-block'
    ) {
      return false;
    }
    at = at.upper;
  }
  return at !== null && scope !== frame;
}

function lineAt(text: string, at: number): string {
  const from = text.lastIndexOf('\n', at - 1) + 1;
  const end = text.indexOf('\n', at);
  return text.slice(from, end === -1 ? undefined : end).trim();
}
