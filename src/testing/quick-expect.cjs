/**
 * jest's `expect`, without what it does for each call before it compares anything: some 400 functions and an error with its stack, which
 * took a quarter of the time of specs that compare in loops.
 *
 * A comparison that holds beyond doubt is counted and done. Whatever else is asked, and each failure, is jest's own.
 */
const { isDeepStrictEqual } = require('node:util');

const slow = globalThis.expect;

/** Of one kind, so that `<` means the same for all of them. */
const areNumbers = (one, other) =>
  typeof one === 'number' && typeof other === 'number';

/** Where true is returned, jest's matcher of this name passes. */
const HOLDS = {
  toBe: Object.is,
  // Stricter: types, prototypes, members that are undefined.
  toEqual: (received, expected) =>
    Object.is(received, expected) || isDeepStrictEqual(received, expected),
  toBeLessThan: (received, expected) =>
    areNumbers(received, expected) && received < expected,
  toBeLessThanOrEqual: (received, expected) =>
    areNumbers(received, expected) && received <= expected,
  toBeGreaterThan: (received, expected) =>
    areNumbers(received, expected) && received > expected,
  toBeGreaterThanOrEqual: (received, expected) =>
    areNumbers(received, expected) && received >= expected,
  // With 2 digits where none are named; two infinite numbers are jest's.
  toBeCloseTo: (received, expected, digits) =>
    areNumbers(received, expected) &&
    Math.abs(received - expected) < 10 ** -(digits ?? 2) / 2,
  // (jest finds no NaN)
  toContain: (received, expected) =>
    (Array.isArray(received) && received.indexOf(expected) >= 0) ||
    (received instanceof Set &&
      !Number.isNaN(expected) &&
      received.has(expected))
};

class Expectation {
  constructor(received) {
    // Not enumerable: it is not one of the matchers.
    Object.defineProperty(this, '_received', { value: received });
  }
}

function hideThisFile(error) {
  if (error instanceof Error && typeof error.stack === 'string') {
    error.stack = error.stack
      .split('\n')
      .filter(line => !line.includes(__filename))
      .join('\n');
  }
  throw error;
}

function quick(name, holds) {
  return function (...expected) {
    if (
      expected.length > 0 &&
      expected.length < holds.length &&
      holds(this._received, ...expected)
    ) {
      const { assertionCalls } = slow.getState();
      slow.setState({ assertionCalls: assertionCalls + 1 });
      return;
    }
    try {
      return slow(this._received)[name](...expected);
    } catch (error) {
      hideThisFile(error);
    }
  };
}

/** Matchers of promises: their errors have the stack of `expect(…)`. */
function later(matchers) {
  return Object.fromEntries(
    Object.entries(matchers).map(([name, matcher]) => [
      name,
      typeof matcher === 'function'
        ? (...expected) => matcher(...expected).catch(hideThisFile)
        : later(matcher)
    ])
  );
}

for (const name of Object.keys(slow(null))) {
  const isLater = name === 'resolves' || name === 'rejects';
  Object.defineProperty(
    Expectation.prototype,
    name,
    name in HOLDS
      ? { value: quick(name, HOLDS[name]) }
      : {
          get() {
            const own = slow(this._received)[name];
            return isLater ? later(own) : own;
          }
        }
  );
}

function expect(...received) {
  return received.length === 1
    ? new Expectation(received[0])
    : slow(...received);
}
Object.defineProperties(expect, Object.getOwnPropertyDescriptors(slow));
/** For its own spec. */
expect.ofJest = slow;
globalThis.expect = expect;
