/** What went wrong, and where: of the text of an error, which is a traceback as Python prints it or what an observed Node program recorded. */
type ErrorHead = {
  /** Type and message. */
  readonly message: string;
  /** The innermost line of the user’s own code, else the innermost of all; '': the text names none. */
  readonly where: string;
};

/** Of several errors of which one caused the next, the last is the one that was raised. */
const BEGIN =
  /^(?:(?:Exception Group )?Traceback \(most recent call last\):|That was the cause of:)$/;
/** What Python draws beside the exceptions of a group. */
const GROUP_EDGE = /^ {2}[|+] /;
const GROUP_MEMBERS = /^ {2}\+-/;
const PYTHON_FRAME = /^ {2}File "/;
const NODE_FRAME = /^ +at /;
const INSTALLED =
  /[\\/](?:site-packages|dist-packages|node_modules|lib[\\/]python[\d.]+)[\\/]|"<frozen |node:internal/;

export function errorHead(text: string): ErrorHead {
  const lines = text
    .trimEnd()
    .split('\n')
    .map(line => line.replace(GROUP_EDGE, ''));
  const block = lines.slice(lines.findLastIndex(line => BEGIN.test(line)) + 1);
  const at = block.findIndex(line => /^\S/.test(line));
  if (at < 0) {
    return { message: text.trim(), where: '' };
  }
  const members = block.findIndex(line => GROUP_MEMBERS.test(line));
  return {
    message: block.slice(at, members < 0 ? undefined : members).join('\n'),
    where: innermost(block.slice(0, at))
  };
}

/** Python prints the innermost frame last, with its line of code below it; Node prints it first. */
function innermost(lines: readonly string[]): string {
  const frames = lines.flatMap((line, i) => {
    if (NODE_FRAME.test(line)) {
      return [line.trim()];
    }
    const code = lines[i + 1];
    return PYTHON_FRAME.test(line)
      ? [
          code !== undefined && /^ {4}/.test(code)
            ? `${line.trim()}\n  ${code.trim()}`
            : line.trim()
        ]
      : [];
  });
  if (lines.some(line => PYTHON_FRAME.test(line))) {
    frames.reverse();
  }
  return frames.find(frame => !INSTALLED.test(frame)) ?? frames[0] ?? '';
}
