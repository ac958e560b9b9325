import type { Trans } from '../../base/trans';
import { placeInCode } from '../format';

/** What went wrong, and where: of the text of an error, which is a traceback as Python prints it or what an observed Node program recorded. */
export type ErrorHead = {
  /** Type and message. */
  readonly message: string;
  /** The innermost line of the user’s own code, else the innermost of all; '': the text names none. */
  readonly where: string;
};

const BEGIN =
  /^(?: {2}\+ Exception Group )?Traceback \(most recent call last\):$/;
/** Of several errors of which one led to the next, the last is the one that was raised. A message may itself have a traceback, of another program. */
const PYTHON_CHAIN =
  /^(?:The above exception was the direct cause of the following exception|During handling of the above exception, another exception occurred):$/;
const NODE_CHAIN = 'That was the cause of:';
/** What Python draws beside the exceptions of a group. */
const GROUP_EDGE = /^ {2}[|+] /;
const GROUP_MEMBERS = /^ {2}\+-/;
const PYTHON_FRAME = /^ {2}File "(.*)", line (\d+)(?:, in (.*))?$/;
const NODE_FRAME = /^ +at /;
const INSTALLED =
  /[\\/](?:site-packages|dist-packages|node_modules|lib[\\/]python[\d.]+|Python\d+[\\/]Lib)[\\/]|"<frozen | internals>"|node:internal/;

export function errorHead(text: string, trans: Trans): ErrorHead {
  const lines = text.trimEnd().split('\n');
  const begin = lines.findLastIndex(
    (line, i) =>
      line === NODE_CHAIN ||
      (BEGIN.test(line) && (i === 0 || PYTHON_CHAIN.test(lines[i - 2] ?? '')))
  );
  let block = lines.slice(begin + 1);
  if (begin >= 0 && GROUP_EDGE.test(lines[begin]!)) {
    const members = block.findIndex(line => GROUP_MEMBERS.test(line));
    block = block
      .slice(0, members < 0 ? undefined : members)
      .map(line => line.replace(GROUP_EDGE, ''));
  }
  const at = block.findIndex(line => /^\S/.test(line));
  return at < 0
    ? { message: text.trim(), where: '' }
    : {
        message: block.slice(at).join('\n'),
        where: innermost(block.slice(0, at), trans)
      };
}

/** Python prints the innermost frame last, with its line of code below it; Node prints it first. */
function innermost(lines: readonly string[], trans: Trans): string {
  const isPythons = lines.some(line => PYTHON_FRAME.test(line));
  const isFrame = isPythons ? PYTHON_FRAME : NODE_FRAME;
  const places = lines.flatMap((line, i) => (isFrame.test(line) ? [i] : []));
  if (isPythons) {
    places.reverse();
  }
  const at = places.find(i => !INSTALLED.test(lines[i]!)) ?? places[0];
  if (at === undefined) {
    return '';
  }
  const frame = PYTHON_FRAME.exec(lines[at]!);
  if (frame === null) {
    return lines[at]!.trim();
  }
  const [, file = '', line, name] = frame;
  const place = placeInCode(file, Number(line), trans);
  const code = lines[at + 1] ?? '';
  return [
    name === undefined ? place : trans.__('%1, in %2', place, name),
    ...(/^ {4}/.test(code) ? [`  ${code.trim()}`] : [])
  ].join('\n');
}
