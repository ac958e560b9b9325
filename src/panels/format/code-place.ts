/** How a place in code is called: its file may be a notebook's cell, or none. */
import type { Trans } from '../../base/trans';

/**
 * Code of a cell lies in no file. ipykernel makes its file name of the process and a hash of the cell's text, IPython outside a kernel of
 * the cell's number.
 */
const KERNEL_CELL = /[\\/]ipykernel_\d+[\\/](\d+)\.py$/;
const PROMPT_CELL = /^<ipython-input-(\d+)-/;

/**
 * Of the frame `(worker)`, and of those that are called as activities (`(disk-read)`), in which a thread is between the steps of a task;
 * `spanwise/measure/stacks.py` writes it.
 */
const OWN_FILE = '<spanwise>';

/** "model.py"; "cell" for what a notebook's cell defines. */
function shortFile(file: string, trans: Trans): string {
  const prompt = PROMPT_CELL.exec(file);
  if (file === OWN_FILE) {
    return trans.__('between the steps of a task');
  }
  return prompt !== null
    ? trans.__('cell [%1]', prompt[1])
    : KERNEL_CELL.test(file)
      ? trans.__('cell')
      : (file.split(/[\\/]/).at(-1) ?? file);
}

/** The whole path; for a cell, the text that tells it from other cells of the notebook. */
export function longFile(file: string, trans: Trans): string {
  const cell = KERNEL_CELL.exec(file);
  if (file === OWN_FILE) {
    return trans.__(
      'what the worker’s thread does between the steps of a task, such as taking its inputs and keeping its result; no code of yours'
    );
  }
  return cell !== null
    ? trans.__('cell of a notebook (%1)', cell[1])
    : PROMPT_CELL.test(file)
      ? shortFile(file, trans)
      : file;
}

/** "model.py:41"; of a cell whose number is not known "cell, line 2", since "cell:2" would be taken for its number; line 0: not known. */
export function placeInCode(file: string, line: number, trans: Trans): string {
  if (line > 0 && KERNEL_CELL.test(file)) {
    return trans.__('cell, line %1', line);
  }
  const name = shortFile(file, trans);
  return line > 0 ? `${name}:${line}` : name;
}
