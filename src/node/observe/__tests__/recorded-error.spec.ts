import { recordedError } from '../recorded-error';

const realSplit = String.prototype.split as (...how: unknown[]) => string[];
const realExec = RegExp.prototype.exec;

describe('a recorded error', () => {
  it('says in its last line what went wrong, and what was behind it before', () => {
    const text = recordedError(
      new RangeError('too\n far', { cause: new Error('no file') })
    );
    const lines = text.split('\n');
    expect(lines.at(-1)).toBe('RangeError: too far');
    expect(lines[0]).toMatch(/^ +at /);
    expect(text.indexOf('Error: no file')).toBeLessThan(
      text.indexOf('That was the cause of:')
    );
  });

  it('is any value, also one that cannot be printed', () => {
    expect(recordedError('no')).toBe("'no'");
    expect(recordedError(undefined)).toBe('undefined');
    const hostile = new Error('x');
    Object.defineProperty(hostile, 'message', {
      get: () => {
        throw new Error('never');
      }
    });
    expect(recordedError(hostile)).toBe('An error that cannot be printed.');
  });

  it('looks at a part of a text of spaces, of a long one, and at few of very many fields', () => {
    // How long the longest text is that is searched: a pattern may take quadratic time.
    let longest = 0;
    const split = jest.spyOn(String.prototype, 'split');
    split.mockImplementation(function (this: string, ...how: unknown[]) {
      longest = Math.max(longest, this.length);
      return Reflect.apply(realSplit, this, how);
    });
    const exec = jest.spyOn(RegExp.prototype, 'exec');
    exec.mockImplementation(function (this: RegExp, text: string) {
      longest = Math.max(longest, text.length);
      return Reflect.apply(realExec, this, [text]);
    });
    const spaces = new Error(`x${' '.repeat(200_000)}y`);
    expect(recordedError(spaces)).toContain('Error: x');
    expect(recordedError(new Error('h'.repeat(5e7))).length).toBeLessThan(5e4);
    const large = Object.fromEntries(
      Array.from({ length: 100_000 }, (_, at) => [`field ${at}`, at])
    );
    expect(recordedError(large)).toBe(
      '[object Object] of more than 200 fields'
    );
    split.mockRestore();
    exec.mockRestore();
    // 200,000 spaces took 20 s.
    expect(longest).toBeGreaterThan(1000);
    expect(longest).toBeLessThan(21_000);
  });

  it('ends, though causes go round', () => {
    const error = new Error('round');
    error.cause = error;
    expect(recordedError(error).split('That was').length).toBe(8);
  });
});
