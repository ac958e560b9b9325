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
    [{ cache: new WeakMap() }, 'result.cache is of class WeakMap']
  ])('%p', (value, what) => {
    expect(describeUnsendable(value, 'result', canSend)).toBe(what);
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
