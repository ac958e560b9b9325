import { recordedError } from '../recorded-error';

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

  it('takes no time for a text of spaces, a long one, or a million fields', () => {
    const started = performance.now();
    const spaces = new Error(`x${' '.repeat(200_000)}y`);
    expect(recordedError(spaces)).toContain('Error: x');
    expect(recordedError(new Error('h'.repeat(5e7))).length).toBeLessThan(5e4);
    const large = Object.fromEntries(
      Array.from({ length: 100_000 }, (_, at) => [`field ${at}`, at])
    );
    expect(recordedError(large)).toBe(
      '[object Object] of more than 200 fields'
    );
    // The spaces alone took 20 s.
    expect(performance.now() - started).toBeLessThan(3000);
  });

  it('ends, though causes go round', () => {
    const error = new Error('round');
    error.cause = error;
    expect(recordedError(error).split('That was').length).toBe(8);
  });
});
