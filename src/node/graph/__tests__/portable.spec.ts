import * as fc from 'fast-check';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freeVariables, workerGlobals } from '../free-variables';
import type { TaskFunction } from '../nodes';
import { module, NotPortableError, PortableForms } from '../portable';

const globals = workerGlobals();
const namesIn = (text: string) =>
  freeVariables(text, globals).map(variable => variable.name);
const formOf = (fn: unknown) => new PortableForms().formOf(fn as TaskFunction);

describe('free variables of a function text', () => {
  it.each([
    ['(x, y) => x + y', []],
    ['x => x * factor', ['factor']],
    ['function f(n) { return n < 2 ? 1 : n * f(n - 1); }', []],
    ['({ a: { b = c }, ...rest }) => [b, rest]', ['c']],
    ['(x = y) => { var y; return x; }', ['y']],
    ['x => { try { go(x); } catch (error) { return error; } }', ['go']],
    ['x => { for (const i of x) { sum += i; } let sum = 0; }', []],
    ['xs => xs.map(x => x.factor + factor.x)', ['factor']],
    ['x => ({ x, y: 1, [z]: 2 })', ['z']],
    ['x => Math.max(x, Number.MAX_VALUE, structuredClone(x))', []],
    ['x => Buffer.from(x).length + process.pid', []],
    ['x => typeof window === "undefined" ? x : typeof (other)', []],
    ['x => require("fs")', ['require']],
    ['async x => (await import("node:os")).cpus()', []],
    ['async x => (await import(x + "./rows.js")).all', []],
    ['async x => (await import("./rows.js")).all', ["import('./rows.js')"]],
    ["() => import ( '../rows.js' )", ["import('../rows.js')"]],
    ['x => { label: for (;;) { break label; } }', []],
    [
      'x => { class A extends Base { #p = x; m() { return this.#p; } } }',
      ['Base']
    ],
    ['x => this.scale * x', ['this']],
    ['x => () => this.scale', ['this']],
    ['function () { return this === undefined; }', []],
    ['x => { function inner() { return this; } return inner; }', []],
    ['x => class { a = this; static { this.b = 1; } }', []],
    ['() => arguments[0]', ['arguments']],
    ['function () { return arguments[0]; }', []],
    ['x => { undeclared = x; }', ['undeclared']],
    ['x => __name(() => x, "inner")', []]
  ])('%s', (text, names) => {
    expect(namesIn(text)).toEqual(names);
  });

  it('are named each once, with the line they stand in', () => {
    expect(
      freeVariables(
        'x => {\n  const y = x * scale;\n  return y + scale;\n}',
        globals
      )
    ).toEqual([{ name: 'scale', line: 'const y = x * scale;' }]);
  });

  it('are exactly the names that are not bound, for any names', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
    fc.assert(
      fc.property(
        fc.uniqueArray(name),
        fc.uniqueArray(name),
        fc.uniqueArray(name),
        (params, locals, used) => {
          const text = `(${params.join(', ')}) => { { ${locals
            .map(local => `const ${local} = 1;`)
            .join(' ')} [${used.join(', ')}]; } }`;
          const free = used.filter(
            one => !params.includes(one) && !locals.includes(one)
          );
          expect(namesIn(text).sort()).toEqual([...free].sort());
        }
      )
    );
  });
});

describe('§1.8: what can be sent to a worker', () => {
  it('is a function that stands on its own, as its text', () => {
    const fn = (x: number) => x + 1;
    expect(formOf(fn)).toMatchObject({ kind: 'text', name: 'fn' });
  });

  it('is a method, too', () => {
    const holder = {
      norm(x: number) {
        return Math.abs(x);
      }
    };
    const form = formOf(holder.norm);
    expect(form.kind === 'text' && form.expression).toContain('({ norm(x)');
  });

  it('is no closure: the error names the variable, shows the line and says what to do', () => {
    const factor = 3;
    const scale = (x: number) => x * factor;
    let error: unknown;
    try {
      formOf(scale);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(NotPortableError);
    expect((error as NotPortableError).freeVariables).toEqual(['factor']);
    expect((error as Error).message).toBe(
      "`scale` uses `factor` from outside its own text ((x) => x * factor), which does not exist in a worker. Pass it as an argument of the task, or put the function into a file and send module(new URL('./file.js', import.meta.url), 'name')."
    );
  });

  it('names several variables', () => {
    const a = 1;
    const b = 2;
    expect(() => formOf(() => a + b)).toThrow(
      /uses `a` and `b` .* Pass them as arguments/
    );
  });

  it('is no bound or built-in function: they have no text', () => {
    expect(() => formOf(Math.max)).toThrow(/`max` is a bound or built-in/);
    expect(() => formOf((() => 1).bind(null))).toThrow(/no text/);
  });

  it('is a method with a symbol for a name', () => {
    const { [Symbol.iterator]: method } = {
      [Symbol.iterator]() {
        return 1;
      }
    };
    const form = formOf(method);
    const evaluate = globalThis.eval;
    const fn = evaluate(
      (form as { expression: string }).expression
    ) as () => number;
    expect(fn()).toBe(1);
  });

  it('is no getter: it belongs to its object', () => {
    const counter = {
      get next() {
        return 1;
      }
    };
    const { get } = Object.getOwnPropertyDescriptor(counter, 'next')!;
    expect(() => formOf(get)).toThrow('is a getter or a setter');
  });

  it('imports no file beside the one it is written in', () => {
    const load = new Function('return import("./rows.js")');
    expect(() => formOf(load)).toThrow(
      "uses `import('./rows.js')` from outside its own text"
    );
    expect(() => formOf(load)).toThrow('import.meta.resolve');
  });

  it('is no method that needs its class', () => {
    class Base {
      scale(x: number) {
        return x;
      }
    }
    class Derived extends Base {
      #by = 2;
      override scale(x: number) {
        return super.scale(x) * 2;
      }
      byOwn(x: number) {
        return x * this.#by;
      }
    }
    expect(() => formOf(Derived.prototype.scale)).toThrow(
      /`scale` uses `super`/
    );
    expect(() => formOf(Derived.prototype.byOwn)).toThrow(
      /text of `byOwn` cannot be compiled on its own/
    );
  });
});

describe('module()', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'spanwise-module-'));
    writeFileSync(
      join(folder, 'functions.cjs'),
      'const seven = 7; exports.addSeven = x => x + seven; exports.notOne = 3;'
    );
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is sent as its place', () => {
    const fn = module(new URL('file:///somewhere/blocks.js'), 'norm');
    expect(formOf(fn)).toEqual({
      kind: 'module',
      url: 'file:///somewhere/blocks.js',
      exportName: 'norm',
      movesResult: false
    });
    expect(fn.name).toBe('norm');
  });

  it('can be called here: at once where the module loads at once', () => {
    const url = pathToFileURL(join(folder, 'functions.cjs'));
    expect(module<(x: number) => number>(url, 'addSeven')(1)).toBe(8);
  });

  it('takes an absolute path', () => {
    const path = join(folder, 'functions.cjs');
    expect(module<(x: number) => number>(path, 'addSeven')(2)).toBe(9);
  });

  it('says what the module exports when the name is wrong', () => {
    const path = join(folder, 'functions.cjs');
    expect(() => module<() => number>(path, 'notOne')()).toThrow(
      /exports no function 'notOne' \(it exports .*addSeven, notOne/
    );
  });

  it('refuses names that mean something else at another place', () => {
    expect(() => module('./blocks.js', 'norm')).toThrow(
      "module('./blocks.js'): a worker cannot know where that is. Pass new URL('./blocks.js', import.meta.url) for a file, import.meta.resolve('./blocks.js') for a package."
    );
  });
});
