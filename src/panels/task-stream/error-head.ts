import type { Trans } from '../../base/trans';
import { placeInCode } from '../format';

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
const PYTHON_FRAME = /^ {2}File "(.*)", line (\d+)(?:, in (.*))?$/;
const NODE_FRAME = /^ +at /;
const INSTALLED =
  /[\\/](?:site-packages|dist-packages|node_modules|lib[\\/]python[\d.]+)[\\/]|"<frozen |node:internal/;

export function errorHead(text: string, trans: Trans): ErrorHead {
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
