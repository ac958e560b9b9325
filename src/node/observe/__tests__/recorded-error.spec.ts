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

  it('ends, though causes go round', () => {
    const error = new Error('round');
    error.cause = error;
    expect(recordedError(error).split('That was').length).toBe(8);
  });
});
