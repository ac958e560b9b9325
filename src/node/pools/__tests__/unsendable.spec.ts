import { describeUnsendable } from '../unsendable';

function canSend(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

describe('what in a value cannot be sent', () => {
  class Row {
    readonly onClick = () => 1;
  }
  it.each([
    [() => 1, 'result is a function'],
    [{ a: [1, { go: Math.max }] }, 'result.a[1].go is a function (max)'],
    [[Symbol('x')], 'result[0] is a symbol (x)'],
    [
      new Map([['k', { f: parseInt }]]),
      'result.get(k).f is a function (parseInt)'
    ],
    [new Set([Promise.resolve()]), 'result.values() is a promise'],
    [{ rows: [new Row()] }, 'result.rows[0].onClick is a function (onClick)'],
    [{ cache: new WeakMap() }, 'result.cache is of class WeakMap'],
    [{ row: new Proxy({ a: 1 }, {}) }, 'result.row is a proxy'],
    [(function* () {})(), 'result is a generator'],
    [[(async function* () {})()], 'result[0] is a generator']
  ])('%p', (value, what) => {
    expect(describeUnsendable(value, 'result', canSend)).toBe(what);
  });

  it('is no list or plain object for what is deep in it, or because it is too deep itself', () => {
    let deep: unknown = [() => 1];
    for (let depth = 0; depth < 20; depth++) {
      deep = depth % 2 === 0 ? [deep] : { of: deep };
    }
    expect(describeUnsendable({ deep }, 'result', canSend)).toMatch(
      /^result\.deep(\.of\[0\])+(\.of)? holds a value of a kind that has no copy, or is nested too deep$/
    );
  });

  it('is found in a value that contains itself', () => {
    const value: Record<string, unknown> = { a: 1 };
    value['self'] = value;
    value['last'] = eval;
    expect(describeUnsendable(value, 'result', canSend)).toBe(
      'result.last is a function (eval)'
    );
  });
});
