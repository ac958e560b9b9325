import { recordedError } from '../../../node/observe/recorded-error';
import { english } from '../../../testing/translators';
import { errorHead as headOf } from '../error-head';

const errorHead = (text: string) => headOf(text, english);

const SITE = '/env/lib/python3.12/site-packages/solvers';
const USERS = `  File "Cell 3", line 5, in fit
    return solvers.solve(x)
           ^^^^^^^^^^^^^^^^
`;
const LIBRARYS = `  File "${SITE}/core.py", line 88, in solve
    raise ValueError(f"no solution for {x}")
`;
const CAUSE = `Traceback (most recent call last):
${USERS}${LIBRARYS}ValueError: no solution for 3
`;

describe('what went wrong', () => {
  it('is type and message, and the user’s line that led there, not the library’s', () => {
    const called = `  File "${SITE}/apply.py", line 2, in apply
    return f(x)
`;
    expect(
      errorHead(
        `Traceback (most recent call last):\n${called}${USERS}${LIBRARYS}ValueError: no solution for 3\n\n  nor for less\n`
      )
    ).toEqual({
      message: 'ValueError: no solution for 3\n\n  nor for less',
      where: 'Cell 3:5, in fit\n  return solvers.solve(x)'
    });
  });

  it('calls a notebook’s cell so, as the Profile does', () => {
    expect(
      errorHead(`Traceback (most recent call last):
  File "/tmp/ipykernel_4711/1234567.py", line 2, in load
    raise ValueError("no")
ValueError: no
`).where
    ).toBe('cell, line 2, in load\n  raise ValueError("no")');
  });

  it('has a line of the library where no other is told', () => {
    expect(
      errorHead(`Traceback (most recent call last):\n${LIBRARYS}ValueError: no`)
        .where
    ).toBe(`core.py:88, in solve\n  raise ValueError(f"no solution for {x}")`);
  });

  it('is that of the error which was raised, not of its cause', () => {
    expect(
      errorHead(`${CAUSE}
The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "steps.py", line 12, in step
    raise RuntimeError("step 2") from error
RuntimeError: step 2
`)
    ).toEqual({
      message: 'RuntimeError: step 2',
      where: 'steps.py:12, in step\n  raise RuntimeError("step 2") from error'
    });
  });

  it('is a group’s, without its members', () => {
    expect(
      errorHead(`  + Exception Group Traceback (most recent call last):
  |   File "steps.py", line 14, in all_of
  |     raise ExceptionGroup("two", errors)
  | ExceptionGroup: two (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: 1
    +---------------- 2 ----------------
    | KeyError: 'a'
    +------------------------------------
`)
    ).toEqual({
      message: 'ExceptionGroup: two (2 sub-exceptions)',
      where: 'steps.py:14, in all_of\n  raise ExceptionGroup("two", errors)'
    });
  });

  it('is not that of a traceback, nor cut by a table, within its message', () => {
    const frame = `Traceback (most recent call last):\n  File "job.py", line 3, in run\n`;
    const childs = `RuntimeError: the tool failed:\n${CAUSE.trimEnd()}`;
    expect(errorHead(frame + childs)).toEqual({
      message: childs,
      where: 'job.py:3, in run'
    });
    const table =
      'ValueError: columns differ\n  +---+---+\n  | a | b |\n  +---+---+';
    expect(errorHead(frame + table).message).toBe(table);
  });

  it('has no line of what came with Python, on any system', () => {
    for (const file of [
      'C:\\Python311\\Lib\\json\\decoder.py',
      '/usr/lib/python3.12/json/decoder.py',
      '<__array_function__ internals>',
      '<frozen importlib._bootstrap>'
    ]) {
      expect(
        errorHead(
          `Traceback (most recent call last):\n  File "job.py", line 3, in run\n  File "${file}", line 9, in decode\nValueError: no`
        ).where
      ).toBe('job.py:3, in run');
    }
  });

  it('is found in what Node programs record', () => {
    const thrown = new RangeError('too far', { cause: new Error('no file') });
    const { message, where } = errorHead(recordedError(thrown));
    expect(message).toBe('RangeError: too far');
    expect(where).toMatch(/^at .*error-head\.spec/);
  });

  it('is all that is told where that is one line, or no traceback', () => {
    for (const text of ['ValueError: no', "{ code: 'ENOENT' }", '  odd']) {
      expect(errorHead(text)).toEqual({ message: text.trim(), where: '' });
    }
  });
});
