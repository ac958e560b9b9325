/**
 * What a page holds, as JSON: written by Python (`spanwise/observed/page_file.py` and who uses it), read by the program in the page. All texts are
 * users' or from users' code and are shown as text.
 */
import type { ProfileResult, RecordsResult } from '../wire/panel-link';

export type PageContent = {
  readonly title: string;
  /** Shown below the title, each with its name before it. */
  readonly facts: readonly (readonly [name: string, text: string])[];
  readonly sections: readonly Section[];
};

type Section =
  | ProfileSection
  | TaskStreamSection
  | CurvesSection
  | TableSection
  | TextSection;

type SectionHead = {
  readonly title: string;
  /** Why there is nothing to show, as half a sentence; empty or left out: there is something. */
  readonly missing?: string;
  /** A sentence below the title. */
  readonly note?: string;
};

/** A view's answer with all nodes. */
export type ProfileSection = SectionHead & {
  readonly kind: 'profile';
  readonly result: ProfileResult;
};

/** null: not known. */
export type Cell = {
  readonly value: string | number | null;
  /** What it is, by which the page finds the panels' word or unit for it; left out: a text that is shown as it is. */
  readonly as?: Shown;
};

export type Shown =
  | 'seconds'
  | 'bytes'
  | 'bytes/s'
  | 'percent'
  | 'count'
  /** Of a unit of the user's. */
  | 'amount'
  /** Of fine metrics: a place, what was done within tasks and beside them, and why a thread was idle. */
  | 'context'
  | 'context of transfer'
  | 'activity'
  /** Of sums that a Dask cluster tells. */
  | 'activity told'
  | 'activity of amount'
  | 'moved'
  | 'cause'
  /** All parts of a kind, added up. */
  | 'parts'
  /** Of memory. */
  | 'measure'
  | 'worker';

export type TableSection = SectionHead & {
  readonly kind: 'table';
  readonly columns: readonly {
    readonly name: string;
    readonly numeric?: boolean;
  }[];
  readonly rows: readonly (readonly Cell[])[];
  /** How deep in a tree each row is. */
  readonly depths?: readonly number[];
};

/** Runs of tasks, each on its lane: times are seconds since the picture's begin. */
export type TaskStreamSection = SectionHead & {
  readonly kind: 'task-stream';
  /** How long the picture is. */
  readonly seconds: number;
  /** How many records there are, if only those that took longest are drawn, and how many seconds the others took. */
  readonly left?: { readonly of: number; readonly seconds: number };
  readonly actions: readonly string[];
  /** Threads are counted from 0. */
  readonly lanes: readonly Pick<
    RecordsResult['lanes'][number],
    'worker' | 'thread' | 'beside'
  >[];
  /** slot: its colour, 0…11; -1: that of all others; round: its dozen. */
  readonly functions: readonly {
    readonly name: string;
    readonly slot: number;
    readonly round: number;
  }[];
  readonly records: {
    readonly key: readonly string[];
    /** Into `lanes` and `functions`. */
    readonly lane: readonly number[];
    readonly function: readonly number[];
    /** Words of `RunStatus`. */
    readonly status: readonly string[];
  };
  /** What a record is made of: indices into `records`, `functions` and `actions` (-1: another). */
  readonly boxes: {
    readonly record: readonly number[];
    readonly start: readonly number[];
    readonly duration: readonly number[];
    readonly function: readonly number[];
    readonly action: readonly number[];
    /** 1: it held the thread; 0: it went on behind other work. */
    readonly held: readonly number[];
  };
};

/** Figures over time, and a table of them. Times are seconds since the picture's begin. */
export type CurvesSection = SectionHead & {
  readonly kind: 'curves';
  /** How long the picture is. */
  readonly seconds: number;
  /** What the lines are of. */
  readonly lines: readonly Cell[];
  readonly charts: readonly {
    readonly title: string;
    /** What its values are. */
    readonly as: Shown;
    readonly lines: readonly {
      /** Into `lines`. */
      readonly line: number;
      readonly t: readonly number[];
      readonly value: readonly (number | null)[];
      /** The seconds before `t` that each point stands for; left out: it is of that moment. */
      readonly span?: readonly number[];
    }[];
  }[];
  readonly columns: TableSection['columns'];
  readonly rows: TableSection['rows'];
};

/** Code, or lines of a log. */
export type TextSection = SectionHead & {
  readonly kind: 'text';
  readonly text: string;
};
