/**
 * What a page holds, as JSON: written by Python (`spanwise/observed/page_file.py` and who uses it), read by the program in the page. All texts are
 * users' or from users' code and are shown as text.
 */
import type { ProfileResult } from '../wire/panel-link';

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

/** Figures are numbers, with the text that is shown for them; null: not known. */
export type TableSection = SectionHead & {
  readonly kind: 'table';
  readonly columns: readonly {
    readonly name: string;
    readonly numeric?: boolean;
  }[];
  readonly rows: readonly (readonly {
    readonly text: string;
    readonly value: string | number | null;
  }[])[];
  /** How deep in a tree each row is. */
  readonly depths?: readonly number[];
};

/** Runs of tasks, each on its lane: times are seconds since the picture's begin. */
export type TaskStreamSection = SectionHead & {
  readonly kind: 'task-stream';
  /** How long the picture is. */
  readonly seconds: number;
  readonly actions: readonly string[];
  readonly lanes: readonly string[];
  /** slot: its colour, 0…11; -1: that of all others. */
  readonly functions: readonly {
    readonly name: string;
    readonly slot: number;
  }[];
  readonly records: {
    readonly key: readonly string[];
    /** Into `lanes`. */
    readonly lane: readonly number[];
    readonly status: readonly string[];
  };
  /** What a record is made of: indices into `records`, `functions` and `actions` (-1: another). */
  readonly boxes: {
    readonly record: readonly number[];
    readonly start: readonly number[];
    readonly duration: readonly number[];
    readonly function: readonly number[];
    readonly action: readonly number[];
  };
};

/** Figures over time, and a table of them. Times are seconds since the picture's begin. */
export type CurvesSection = SectionHead & {
  readonly kind: 'curves';
  /** How long the picture is. */
  readonly seconds: number;
  /** What the lines are of. */
  readonly lines: readonly string[];
  readonly charts: readonly {
    readonly title: string;
    /** Values are shown in this unit, divided by so much. */
    readonly unit: string;
    readonly per: number;
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
