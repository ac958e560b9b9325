import { packFailure, unpackFailure } from '../remote-error';

function canSend(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

/** As after the way from a worker to the caller. */
function travelled(thrown: unknown): Error {
  const packed = structuredClone(packFailure(thrown, canSend));
  return unpackFailure(packed, ['block', 2], 'thread 3') as Error;
}

describe('§1.7: errors of a worker', () => {
  class OutOfPaper extends Error {
    constructor(
      message: string,
      readonly code: string,
      readonly tray: number
    ) {
      super(message);
    }
  }

  it('keep class name, message, code and further properties', () => {
    const error = travelled(new OutOfPaper('tray is empty', 'EPAPER', 2));
    expect(error).toMatchObject({
      name: 'OutOfPaper',
      message: 'tray is empty',
      code: 'EPAPER',
      tray: 2
    });
  });

  it('keep a name that was set', () => {
    const error = new Error('gone');
    error.name = 'PrinterError';
    expect(travelled(error).name).toBe('PrinterError');
  });

  it('show the stack of the worker and the task', () => {
    const error = travelled(new RangeError('too far'));
    expect(error.stack).toMatch(/^RangeError: too far\n {4}at /);
    expect(error.stack).toContain('remote-error.spec');
    expect(error.stack).toMatch(/\n {4}at task \('block', 2\) \(thread 3\)$/);
  });

  it('are of the same built-in class', () => {
    expect(travelled(new TypeError('x'))).toBeInstanceOf(TypeError);
    expect(travelled(new URIError('x'))).toBeInstanceOf(URIError);
  });

  it('keep causes, and the errors of an AggregateError', () => {
    const cause = new OutOfPaper('empty', 'EPAPER', 1);
    const error = travelled(
      new AggregateError([new TypeError('a'), 'b'], 'both', { cause })
    ) as AggregateError;
    expect(error.errors).toMatchObject([{ name: 'TypeError' }, {}]);
    expect(error.errors[1]).toBe('b');
    expect(error.cause).toMatchObject({ name: 'OutOfPaper', code: 'EPAPER' });
  });

  it('end with causes that go round in a circle', () => {
    const error = new Error('loop');
    error.cause = error;
    expect(travelled(error)).toMatchObject({
      message: 'loop',
      cause: { message: 'loop' }
    });
  });

  it('leave out only what cannot be sent', () => {
    const error = Object.assign(new Error('odd'), { handler: () => 1, n: 1 });
    const got = travelled(error);
    expect(got).toMatchObject({ message: 'odd', n: 1 });
    expect(got).not.toHaveProperty('handler');
  });

  it('are stood in for by their text if they cannot be sent at all', () => {
    expect(travelled(() => 'paper')).toMatchObject({
      name: 'Error',
      message: expect.stringMatching(/=> .paper./) as string
    });
  });

  it('may be values that are no errors', () => {
    expect(travelled('just a text')).toBe('just a text');
    expect(travelled(undefined)).toBe(undefined);
  });
});
