/**
 * Runs jest's specs for Stryker without jest: each file is compiled once, and for each planted defect the modules are made again, in the same
 * process. So a defect costs some ten milliseconds and the tests that reach it, where jest takes a second or more.
 *
 * Which specs: what mutation/jest.config.cjs says. They get describe, it, hooks, expect and jest.spyOn; mocked modules and snapshots are not
 * there.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import vm from 'node:vm';
import { INSTRUMENTER_CONSTANTS } from '@stryker-mutator/api/core';
import {
  determineHitLimitReached,
  DryRunStatus,
  TestStatus,
  toMutantRunResult
} from '@stryker-mutator/api/test-runner';

const ENDINGS = ['', '.ts', '.tsx', '.js', '.cjs', '.json', '/index.ts'];
const PARAMETERS =
  'require, module, exports, __filename, __dirname, describe, it, test, beforeEach, afterEach, beforeAll, afterAll, expect, jest';

class SpecsRunner {
  static inject = [];
  /** Path → its script, compiled. */
  _scripts = new Map();
  /** Path of a spec → seconds that its tests took, to begin with the quick ones. */
  _seconds = new Map();

  init() {
    const root = process.cwd();
    this._root = root;
    this._require = createRequire(join(root, 'package.json'));
    const config = this._require(join(root, 'mutation/jest.config.cjs'));
    for (const file of config.setupFiles) {
      this._require(file.replace('<rootDir>', root));
    }
    this._transform = this._require(join(root, 'jest-transform.cjs'));
    this._expect = this._require('expect').expect;
    const { ModuleMocker } = this._require('jest-mock');
    this._jest = new ModuleMocker(globalThis);
    this._each = this._require('jest-each').bind;
    const wanted = config.testRegex.map(each => new RegExp(each));
    const ignored = config.testPathIgnorePatterns.map(each => new RegExp(each));
    this._specs = readdirSync(join(root, 'src'), { recursive: true })
      .map(path => join(root, 'src', path))
      .filter(
        path =>
          wanted.some(each => each.test(path)) &&
          !ignored.some(each => each.test(path.slice(root.length)))
      )
      .sort();
    globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {};
    this._context = globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE];
  }

  capabilities() {
    return { reloadEnvironment: true };
  }

  async dryRun({ coverageAnalysis }) {
    const context = this._context;
    context.mutantCoverage = { static: {}, perTest: {} };
    const tests = [];
    for (const spec of this._specs) {
      const began = performance.now();
      tests.push(...(await this._run(spec, undefined, false)));
      this._seconds.set(spec, (performance.now() - began) / 1000);
    }
    context.currentTestId = undefined;
    return {
      status: DryRunStatus.Complete,
      tests,
      ...(coverageAnalysis === 'off'
        ? {}
        : { mutantCoverage: context.mutantCoverage })
    };
  }

  async mutantRun({ activeMutant, testFilter, disableBail, hitLimit }) {
    const context = this._context;
    context.mutantCoverage = { static: {}, perTest: {} };
    context.activeMutant = activeMutant.id;
    context.hitLimit = hitLimit;
    context.hitCount = hitLimit ? 0 : undefined;
    const wanted = testFilter && new Set(testFilter);
    const specs = this._specs
      .filter(spec => wanted === undefined || this._hasTest(wanted, spec))
      .sort(
        (a, b) => (this._seconds.get(a) ?? 0) - (this._seconds.get(b) ?? 0)
      );
    const tests = [];
    try {
      for (const spec of specs) {
        tests.push(...(await this._run(spec, wanted, !disableBail)));
        const late = determineHitLimitReached(context.hitCount, hitLimit);
        if (late) {
          return toMutantRunResult(late);
        }
        if (!disableBail && tests.some(isFailed)) {
          break;
        }
      }
    } finally {
      context.activeMutant = undefined;
      context.currentTestId = undefined;
    }
    return toMutantRunResult(
      { status: DryRunStatus.Complete, tests },
      disableBail
    );
  }

  /** The results of a spec's tests, of `wanted` ones. */
  async _run(spec, wanted, bails) {
    const context = this._context;
    context.currentTestId = undefined;
    const { globals, tests } = this._newGlobals();
    const results = [];
    try {
      this._load(spec, new Map(), globals);
    } catch (error) {
      // Its tests cannot be told apart: all of them fail.
      const [id] = wanted ?? [this._id(spec, 'it loads')];
      return [{ ...failed(error), id, name: id, timeSpentMs: 0 }];
    }
    const begun = new Set();
    for (const { name, run, groups, isSkipped } of tests) {
      const id = this._id(spec, name);
      if (isSkipped || (wanted !== undefined && !wanted.has(id))) {
        continue;
      }
      const began = performance.now();
      let outcome = { status: TestStatus.Success };
      try {
        for (const group of groups.filter(each => !begun.has(each))) {
          begun.add(group);
          await inTurn(group.beforeAll);
        }
        context.currentTestId = id;
        this._expect.setState({
          assertionCalls: 0,
          expectedAssertionsNumber: null,
          isExpectingAssertions: false
        });
        await inTurn(groups.flatMap(group => group.beforeEach));
        await run();
        for (const {
          error
        } of this._expect.extractExpectedAssertionsErrors()) {
          throw error;
        }
        await inTurn(groups.toReversed().flatMap(group => group.afterEach));
      } catch (error) {
        outcome = failed(error);
      }
      this._jest.restoreAllMocks();
      context.currentTestId = undefined;
      results.push({
        ...outcome,
        id,
        name: id,
        fileName: spec,
        timeSpentMs: performance.now() - began
      });
      if (bails && outcome.status === TestStatus.Failed) {
        break;
      }
    }
    await inTurn([...begun].flatMap(group => group.afterAll));
    return results;
  }

  _id(spec, name) {
    return `${relative(this._root, spec)}: ${name}`;
  }

  _hasTest(ids, spec) {
    const begin = this._id(spec, '');
    return [...ids].some(id => id.startsWith(begin));
  }

  /** describe, it and the like, which gather the tests of one spec. */
  _newGlobals() {
    const root = newGroup('');
    const tests = [];
    let groups = [root];
    const describe = (title, fill) => {
      groups = [...groups, newGroup(title)];
      fill();
      groups = groups.slice(0, -1);
    };
    const it = (title, run) => tests.push(newTest(title, run, false));
    const newTest = (title, run, isSkipped) => ({
      name: [...groups.slice(1).map(group => group.title), title].join(' '),
      groups,
      run,
      isSkipped
    });
    it.skip = (title, run) => tests.push(newTest(title, run, true));
    it.each = this._each(it);
    describe.each = this._each(describe, false);
    const hook = kind => run => groups.at(-1)[kind].push(run);
    const globals = [
      describe,
      it,
      it,
      hook('beforeEach'),
      hook('afterEach'),
      hook('beforeAll'),
      hook('afterAll'),
      this._expect,
      this._jest
    ];
    return { globals, tests };
  }

  _load(path, modules, globals) {
    const known = modules.get(path);
    if (known !== undefined) {
      return known.exports;
    }
    const module = { exports: {} };
    modules.set(path, module);
    const folder = dirname(path);
    const required = name =>
      name.startsWith('.')
        ? this._load(fileOf(resolve(folder, name)), modules, globals)
        : this._require(name);
    this._script(path)(
      required,
      module,
      module.exports,
      path,
      folder,
      ...globals
    );
    return module.exports;
  }

  _script(path) {
    let script = this._scripts.get(path);
    if (script === undefined) {
      const source = readFileSync(path, 'utf8');
      const code = path.endsWith('.json')
        ? `module.exports = ${source}`
        : this._transform.process(source, path).code;
      script = new vm.Script(`(function (${PARAMETERS}) {${code}\n})`, {
        filename: path
      });
      this._scripts.set(path, script);
    }
    return script.runInThisContext();
  }
}

const files = new Map();

function fileOf(path) {
  let file = files.get(path);
  if (file === undefined) {
    file = ENDINGS.map(ending => path + ending).find(
      each => statSync(each, { throwIfNoEntry: false })?.isFile() === true
    );
    if (file === undefined) {
      throw new Error(`There is no file ${path}`);
    }
    files.set(path, file);
  }
  return file;
}

function newGroup(title) {
  return { title, beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] };
}

async function inTurn(hooks) {
  for (const hook of hooks) {
    await hook();
  }
}

function isFailed({ status }) {
  return status === TestStatus.Failed;
}

function failed(error) {
  return {
    status: TestStatus.Failed,
    failureMessage: String(error?.message ?? error).slice(0, 500)
  };
}

export const strykerPlugins = [
  { kind: 'TestRunner', name: 'specs', injectableClass: SpecsRunner }
];
