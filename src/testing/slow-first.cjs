/**
 * The order in which jest takes the specs: those that take longest first, so that its processes end
 * together; then by size. (On a fresh machine jest knows sizes alone, and `reference` is small.)
 */
const { statSync } = require('node:fs');

/** Seconds of specs with two busy cores. */
const slowSpecs = {
  'sidecar/scheduler-process/__tests__/own-profile': Infinity,
  'node/__tests__/npm-package': 28,
  // Of them most for the package, where it is not built yet.
  'node/__tests__/reference': 28,
  'node/pools/__tests__/whole-programs': 22,
  'node/observe/__tests__/programs': 18,
  'order/__tests__/reach': 15,
  'sidecar/observer-process/__tests__/many-requests': 15,
  'scheduler/__tests__/drawn-runs': 15,
  'order/__tests__/static-order': 14,
  'node/observe/__tests__/observe': 12,
  'node/diagnostics/__tests__/resource-profiler': 10,
  'panels/__tests__/translated': 10,
  'observer/__tests__/recorded-runs': 10,
  'node/pools/__tests__/workers': 9,
  'sidecar/observer-process/__tests__/observer': 8,
  'node/pools/__tests__/failures': 8,
  'panels/__tests__/panel': 8,
  'sidecar/scheduler-process/__tests__/cluster': 8,
  'scheduler/__tests__/properties': 8,
  'observer/__tests__/every-column': 7,
  'observer/__tests__/task-stream': 7,
  'observer/__tests__/tile-model': 7,
  'link/__tests__/observer-link': 6
};

/**
 * Before all: a profile of V8 begins with all code that its process has compiled. After some seventy specs `any-frames`, which
 * begins four to six, takes three times as much of a core.
 */
const profiling = ['own-profile', 'any-frames'].map(
  name => `sidecar/scheduler-process/__tests__/${name}`
);

function secondsOf({ path }) {
  const [name] = path.split('/src/').at(-1).split('.spec.');
  return profiling.includes(name) ? Infinity : (slowSpecs[name] ?? 0);
}

module.exports = class {
  static slowSpecs = slowSpecs;

  sort(tests) {
    const sizes = new Map(tests.map(test => [test, statSync(test.path).size]));
    return [...tests].sort(
      (one, other) =>
        secondsOf(other) - secondsOf(one) || sizes.get(other) - sizes.get(one)
    );
  }

  /** For `--onlyFailures`, of which nothing is kept. */
  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
};
