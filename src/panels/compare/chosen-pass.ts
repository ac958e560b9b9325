/**
 * Passes of one run that can be compared: of its cells, which are known by their ids when they are edited, and of spans that were opened more
 * than once.
 *
 *     rows   # load [3] · # fit [4] · # fit, faster [6] (the same cell)        proposed: # fit [4] with # fit, faster [6]
 */
import type { JSONValue } from '@lumino/coreutils';
import type { Trans } from '../../base/trans';
import { formatClock } from '../format';
import { type PassName, passesOf } from '../passes';
import type {
  Filter,
  SpanPath,
  SpanRow,
  SpansResult,
  SpanTerm
} from '../../wire/panel-link';

/** A pass as it can be chosen, and named when its run tells of it no more. */
export type ChosenPass = PassName & {
  readonly cluster: string;
  readonly id: string;
  readonly path: SpanPath;
  /** The cell's tag, or the tags that the program gave. */
  readonly title: string;
};

/** Of one cell or span. */
type PassGroup = {
  readonly isCell: boolean;
  /** The newest first. */
  readonly passes: readonly (ChosenPass & {
    /** Tasks of it ran, or do. */
    readonly hasRun: boolean;
    /** It asked for results that were there. */
    readonly hasFound: boolean;
    /** Of a span the pass of the cell that it was opened in, by its row; null: it is a cell, or was opened in none. */
    readonly within: number | null;
  })[];
};

/** Passes to choose from: of each cell or span, and in all. */
const MOST_OF_ONE = 5;
const MOST_LISTED = 30;

/** By an answer, which is of one run: it is looked at again and again. */
const known = new WeakMap<SpansResult, readonly PassGroup[]>();

function groupsOf(
  cluster: string,
  spans: SpansResult | null
): readonly PassGroup[] {
  if (spans === null) {
    return [];
  }
  const groups = known.get(spans) ?? groupsIn(cluster, spans);
  known.set(spans, groups);
  return groups;
}

function groupsIn(cluster: string, spans: SpansResult): readonly PassGroup[] {
  const byNumber = new Map(spans.rows.map(row => [row.span, row]));
  const groups = new Map<string, SpanRow[]>();
  for (const row of spans.rows) {
    if (row.origin !== 'cell' && row.origin !== 'user') {
      continue;
    }
    const key = JSON.stringify([
      row.origin,
      row.client,
      row.cell ?? tagsOf(row, byNumber)
    ]);
    const same = groups.get(key);
    if (same === undefined) {
      groups.set(key, [row]);
    } else {
      same.push(row);
    }
  }
  return [...groups.values()].map(rows => ({
    isCell: rows[0]!.origin === 'cell',
    passes: passesOf(rows).apart.map(pass => ({
      cluster,
      id: pass.id,
      path: pass.rows[0]!.path,
      title: tagsOf(pass.rows[0]!, byNumber).join(' › '),
      opened: pass.opened,
      execution: pass.execution,
      place: pass.place,
      hasRun: pass.rows.some(
        row => row.executions > 0 || row.tasks > 0 || row.running > 0
      ),
      hasFound: pass.rows.some(row => (row.reused ?? 0) > 0),
      within: cellAbove(pass.rows[0]!, byNumber)
    }))
  }));
}

function cellAbove(
  row: SpanRow,
  byNumber: ReadonlyMap<number, SpanRow>
): number | null {
  let at = row.parent === null ? undefined : byNumber.get(row.parent);
  while (at !== undefined && at.origin !== 'cell') {
    at = at.parent === null ? undefined : byNumber.get(at.parent);
  }
  return at?.span ?? null;
}

/** Of a cell its own; of a span those that its program gave. */
function tagsOf(
  row: SpanRow,
  byNumber: ReadonlyMap<number, SpanRow>
): readonly string[] {
  const tags = [row.tag];
  let at = row.parent === null ? undefined : byNumber.get(row.parent);
  while (row.origin === 'user' && at?.origin === 'user') {
    tags.unshift(at.tag);
    at = at.parent === null ? undefined : byNumber.get(at.parent);
  }
  return tags;
}

/** The newest first; what ran once is listed if it is a cell. */
export function passesToChoose(
  cluster: string,
  spans: SpansResult | null
): readonly ChosenPass[] {
  return groupsOf(cluster, spans)
    .filter(({ isCell, passes }) => isCell || passes.length > 1)
    .flatMap(({ passes }) =>
      passes
        .filter(({ hasRun, hasFound }) => hasRun || hasFound)
        .slice(0, MOST_OF_ONE)
    )
    .sort((a, b) => b.opened - a.opened)
    .slice(0, MOST_LISTED);
}

/**
 * The newest pass that has one before it in which tasks ran, and that one: of cells, or of spans where no cell ran twice. Of a notebook these are in
 * two cells: one that opens a span again and again does so in all of its passes. Where the newer one ran none because all results were there, its user
 * has to hear that; with an older one of this kind nothing can be compared.
 *
 * @param picked - the pass that panels are filtered by: if there is another of the same cell to compare it with, it is one of the two.
 */
export function proposedPasses(
  cluster: string,
  spans: SpansResult | null,
  picked?: string
): Pair | null {
  const groups = groupsOf(cluster, spans);
  for (const group of groups) {
    const pairs = pairsOf(group);
    const pair =
      pairs.find(({ after }) => after.id === picked) ??
      // (it is the oldest: the pass after it comes last)
      pairs.findLast(({ before }) => before.id === picked);
    if (pair !== undefined) {
      return pair;
    }
  }
  const hasCells = groups.some(({ isCell }) => isCell);
  const newestOf = (areCells: boolean) =>
    groups
      .filter(({ isCell }) => isCell === areCells)
      .flatMap(group =>
        pairsOf(group)
          .filter(({ areApart }) => areCells || !hasCells || areApart)
          .slice(0, 1)
      )
      .sort((a, b) => b.after.opened - a.after.opened)[0];
  return newestOf(true) ?? newestOf(false) ?? null;
}

type Pair = {
  readonly isCell: boolean;
  /** They were opened in two passes of cells. */
  readonly areApart: boolean;
  readonly before: ChosenPass;
  readonly after: ChosenPass;
};

/** Each pass with the newest before it in which tasks ran; the newest first. */
function pairsOf({ isCell, passes }: PassGroup): readonly Pair[] {
  return passes.flatMap((after, at) => {
    const before = passes.slice(at + 1).find(({ hasRun }) => hasRun);
    return before !== undefined && (after.hasRun || after.hasFound)
      ? [{ isCell, areApart: before.within !== after.within, before, after }]
      : [];
  });
}

/** As it is called now. */
export function renewed(
  pass: ChosenPass,
  spans: SpansResult | null
): ChosenPass {
  return (
    groupsOf(pass.cluster, spans)
      .flatMap(({ passes }) => passes)
      .find(({ id }) => id === pass.id) ?? pass
  );
}

/** Rows of the pass itself; none: it is not known, or counted together with others. */
export function rowsOfPass(
  spans: SpansResult | null,
  { id }: ChosenPass
): readonly SpanRow[] {
  const rows = spans?.rows.filter(row => row.id === id) ?? [];
  return rows.some(({ others }) => (others ?? 0) > 0) ? [] : rows;
}

/** What is of the pass, in a filter. */
export function withinPass(filter: Filter, pass: ChosenPass | null): Filter {
  if (pass === null) {
    return filter;
  }
  const { id, path } = pass;
  const all = [...(filter.spans?.all ?? []), { path, id }];
  return { ...filter, spans: { ...filter.spans, all } };
}

const MATCHES = ['any', 'all', 'not'] as const;

export function namesPass({ spans }: Filter): boolean {
  return MATCHES.some(match => spans?.[match]?.some(isPass));
}

/** The filter of what is compared pass by pass: without passes of which any is enough. With other terms beside them it says more than that. */
export function withoutPasses(filter: Filter): Filter {
  const { spans, ...rest } = filter;
  const left = Object.fromEntries(
    MATCHES.map(match => [match, spans?.[match] ?? []] as const).filter(
      ([match, terms]) =>
        terms.length > 0 && !(match === 'any' && terms.every(isPass))
    )
  );
  return Object.keys(left).length > 0 ? { spans: left, ...rest } : rest;
}

function isPass(term: SpanTerm): boolean {
  return 'path' in term && term.id !== undefined;
}

/** Whether an answer to this filter is of the pass, or, with null, of no one. */
export function isWithin(filter: Filter, pass: ChosenPass | null): boolean {
  const ids = (filter.spans?.all ?? []).flatMap(term =>
    'path' in term && term.id !== undefined ? [term.id] : []
  );
  return pass === null ? ids.length === 0 : ids.includes(pass.id);
}

/** "# fit [7]", "train (2 of 3)", "train, 14:03:12". */
export function shortName(
  { title, execution, place, opened }: ChosenPass,
  startedAt: number,
  trans: Trans
): string {
  return execution !== null
    ? trans.__('%1 [%2]', title, execution)
    : place !== null
      ? trans.__('%1 (%2 of %3)', title, place.at, place.of)
      : trans.__(
          '%1, %2',
          title,
          formatClock(startedAt + opened, Date.now() / 1000)
        );
}

/** "[7] # fit · 14:03:12", "2 of 3 · train · 14:03:12": a list that is narrow shows what tells them apart. */
export function listedName(
  { title, execution, place, opened }: ChosenPass,
  startedAt: number,
  trans: Trans
): string {
  const time = formatClock(startedAt + opened, Date.now() / 1000);
  return execution !== null
    ? trans.__('[%1] %2 · %3', execution, title, time)
    : place !== null
      ? trans.__('%1 of %2 · %3 · %4', place.at, place.of, title, time)
      : trans.__('%1 · %2', time, title);
}

/** "# fit [3], # fit, faster [7]"; "# fit [3], [7]": what both are called is said once. */
export function namesOfBoth(
  names: readonly [string, string],
  passes: readonly [ChosenPass | null, ChosenPass | null],
  trans: Trans
): string {
  const [first, second] = passes;
  return first !== null &&
    second !== null &&
    first.cluster === second.cluster &&
    first.title === second.title &&
    first.execution !== null &&
    second.execution !== null
    ? trans.__('%1, [%2]', names[0], second.execution)
    : trans.__('%1, %2', ...names);
}

/** What a layout of before has; null: it is none. */
export function readPass(value: JSONValue | undefined): ChosenPass | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return null;
  }
  const { cluster, id, path, title, opened, execution } = value;
  return typeof cluster === 'string' &&
    typeof id === 'string' &&
    typeof title === 'string' &&
    typeof opened === 'number' &&
    Array.isArray(path) &&
    path.every(tag => typeof tag === 'string')
    ? {
        cluster,
        id,
        path,
        title,
        opened,
        execution: typeof execution === 'number' ? execution : null,
        // (it may have changed since)
        place: null
      }
    : null;
}
