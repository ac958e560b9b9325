/** What the table twin of a panel holds. */
import type { Bytes, Seconds } from '../../base/brand';
import { formatBytes } from './bytes';
import { formatDuration } from './duration';
import { formatShare } from './share';

/** A figure of the table twin: the text shown, and what sorting and export use. */
export type TableCell = {
  readonly text: string;
  readonly value: string | number | null;
  /** Of `value`, as files name it: "seconds". */
  readonly unit?: string;
  /** So many characters at its end are seen though the rest is cut: by these it is told from others. */
  readonly tail?: number;
};

type TableColumn = {
  readonly name: string;
  /** Figures are right-aligned. */
  readonly numeric?: boolean;
  /** Of its figures, where no row says so. */
  readonly unit?: string;
  /** It is called as a user has called something. */
  readonly isGiven?: boolean;
};

/** A panel's figures as text, row by row; a row has one cell per column. */
export type TableData = {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly (readonly TableCell[])[];
  /** Said under the table, e.g. "The first 500 of 12,640 task runs." */
  readonly note?: string;
};

export const cellOf = {
  text: (value: string): TableCell => ({ text: value, value }),
  bytes: (value: Bytes | null): TableCell => ({
    text: formatBytes(value),
    value,
    unit: 'bytes'
  }),
  seconds: (value: Seconds | null): TableCell => ({
    text: formatDuration(value),
    value,
    unit: 'seconds'
  }),
  share: (value: number | null): TableCell => ({
    text: formatShare(value),
    value,
    unit: 'fraction'
  })
};
