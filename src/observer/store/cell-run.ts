/** What the code of a cell's span says of the cell: a stack of one frame, whose file is `In [7]`. */

export type CellRun = {
  /** The number that Jupyter showed beside the cell; 0: it is not known. */
  readonly execution: number;
  /** The id that the notebook gives the cell; '': it is not known. */
  readonly cell: string;
};

export const NO_CELL: CellRun = { execution: 0, cell: '' };

/** Of a cell's id, by the notebook format. */
const MOST_LETTERS = 64;

/** @param code - JSON, of any program. */
export function readCellRun(code: string): CellRun {
  let stack: unknown;
  try {
    stack = JSON.parse(code);
  } catch {
    return NO_CELL;
  }
  const frame: unknown = Array.isArray(stack) ? stack[0] : null;
  if (typeof frame !== 'object' || frame === null) {
    return NO_CELL;
  }
  const { filename, cell } = frame as Readonly<Record<string, unknown>>;
  const [, count] =
    (typeof filename === 'string' && /^In \[(\d{1,9})\]$/u.exec(filename)) ||
    [];
  return {
    execution: count === undefined ? 0 : Number(count),
    cell: typeof cell === 'string' && cell.length <= MOST_LETTERS ? cell : ''
  };
}
