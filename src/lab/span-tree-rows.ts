/**
 * The span tree as rows: from the flat answer of view `spans` to what is shown, with what is collapsed, searched and filtered. Pure.
 *
 * If several notebooks have computed on the cluster, each is a row above its spans; else there is no such level, but in the arrangement by
 * cell, where a notebook and its cells are spans as others are. Else what they have alone is of the default.
 *
 * What ran more than once is one row; its passes are below it, folded, the newest first.
 *
 *   rows: flow 0 · load 1 (parent flow) · fit 2 (parent flow)     by path  flow → load, fit     by tag  flow, load, fit
 *         a.ipynb 0 · # run 1 (parent a.ipynb) · load 2 (parent # run)     by cell  a.ipynb → # run → load     by path  load, default
 */
import type { TranslationBundle } from '@jupyterlab/translation';
import { pathEnds } from '../base/path-ends';
import type { SelectionModel } from '../feed/selection';
import { executionsText, taskRunsText } from '../panels/format';
import {
  type PassName,
  type Passes,
  passesOf,
  tookSeconds
} from '../panels/passes';
import type {
  SpanPath,
  SpanRow,
  SpansResult,
  SpanTerm
} from '../wire/panel-link';

/** Key of what has no parent: no path's JSON is empty. */
const ROOT = '';

/** Of what is in no span. */
const DEFAULT_TAG = 'default';

/** Passes of one path that are shown at once; those before them are folded. */
const NEWEST_PASSES = 10;

export const ARRANGES = ['path', 'tag', 'cell'] as const;
export type Arrange = (typeof ARRANGES)[number];

/** What a row below its span stands for: one pass, all of them, or some that it counts. */
type PassNode =
  | (PassName & {
      readonly kind: 'one';
      readonly id: string;
      /** How long it was open, seconds; null: it still is. */
      readonly seconds: number | null;
      /** The same, if its tasks had ended by then; null: not known. */
      readonly took: number | null;
    })
  | {
      readonly kind: 'all';
      readonly count: number;
      /** The shortest and the longest of those of which it is known, seconds. */
      readonly took: { readonly least: number; readonly most: number } | null;
    }
  | {
      readonly kind: 'earlier' | 'together';
      readonly count: number;
    };

export type SpanNode = {
  /** Unique in the tree. */
  readonly key: string;
  /** Null: no filter has just this. */
  readonly term: SpanTerm | null;
  readonly tag: string;
  /** Null: it is a span, with all its passes. */
  readonly pass: PassNode | null;
  /** How often it ran, as far as that is known. */
  readonly passes: number;
  /** What is inside is shown only when one opens it. */
  readonly isFolded: boolean;
  /** All that filters may call it, or a part of it. */
  readonly paths: readonly SpanPath[];
  /** Whose it is, as filters call it; undefined: nobody's. */
  readonly client: string | undefined;
  /** It is all that this notebook, or other program, has computed. */
  readonly isClient: boolean;
  readonly children: readonly SpanNode[];
  /** On threads, those of running tasks too. */
  readonly seconds: number;
  readonly tasks: number;
  /** How often functions ran: tasks, and parts of fused tasks, which may run under another span's name. */
  readonly executions: number;
  readonly running: number;
  /** How many of them were cancelled. */
  readonly runningCancelled: number;
  /** Needed, and neither done nor begun. */
  readonly waiting: number;
  readonly failed: number;
  /** Of how many tasks the failed runs are; undefined: an observer of before has not told. */
  readonly failedTasks: number | undefined;
  /** How many of `failed` are tasks without a failed run. */
  readonly failedUnrun: number;
  /** Of all thread time, 0…1. */
  readonly share: number;
};

/** A node that is shown, with what the tree says about it. */
export type VisibleSpan = {
  readonly node: SpanNode;
  /** From 0. */
  readonly level: number;
  readonly parentKey: string | null;
  readonly isExpanded: boolean | null;
  /** Found by the search; without a search, false. */
  readonly isFound: boolean;
};

/** A row of the tree, under the path that it has there. */
type TreeRow = SpanRow & { readonly paths: readonly SpanPath[] };

/** Whether there are cells to arrange by. */
export function hasCells(result: SpansResult): boolean {
  return result.rows.some(({ origin }) => origin === 'cell');
}

/**
 * What nobody has chosen an arrangement for: by cell where there is nothing else to arrange, for then all would be of one row, the default; also
 * once a cell has computed again, for by path nobody would see its passes.
 */
export function usualArrange(result: SpansResult | null): Arrange {
  if (result === null) {
    return 'path';
  }
  const arrange = known.get(result) ?? arrangeFor(result);
  known.set(result, arrange);
  return arrange;
}

/** By an answer: it is asked of it again and again. */
const known = new WeakMap<SpansResult, Arrange>();

function arrangeFor({ rows }: SpansResult): Arrange {
  const isOwn = ({ origin }: SpanRow) =>
    origin !== 'cell' && origin !== 'notebook' && origin !== 'default';
  const cells = rows.filter(({ origin }) => origin === 'cell');
  return cells.length > 0 && (!rows.some(isOwn) || ranAgain(cells))
    ? 'cell'
    : 'path';
}

function ranAgain(cells: readonly SpanRow[]): boolean {
  const seen = new Set<string>();
  return cells.some(row => {
    const hasRun = row.tasks > 0 || row.executions > 0 || row.running > 0;
    // (rows of an observer that knows of no passes are no passes)
    const isPass = row.id !== undefined || (row.others ?? 0) > 0;
    if (!hasRun || !isPass) {
      return false;
    }
    const key = JSON.stringify([row.client, row.path]);
    const isAgain = seen.has(key) || (row.others ?? 0) > 0;
    seen.add(key);
    return isAgain;
  });
}

export function spanTree(
  result: SpansResult,
  arrange: Arrange
): readonly SpanNode[] {
  const isByCell = arrange === 'cell' && hasCells(result);
  // The tasks outside every span have a row of their own, once there are any.
  const rows = (
    isByCell ? result.rows.map(asItIs) : withoutRoots(result.rows)
  ).filter(
    row =>
      row.origin !== 'default' ||
      row.tasks > 0 ||
      row.executions > 0 ||
      row.running > 0 ||
      (row.waiting ?? 0) > 0
  );
  const clientOf = (row: TreeRow) =>
    row.client === null ? undefined : result.clients[row.client];
  const clients = [...new Set(rows.map(clientOf))];
  const names = pathEnds(clients.filter(client => client !== undefined));
  const isOneOfSeveral = names.size > 1;
  const nodes = (of: readonly TreeRow[], client: string | undefined) =>
    (arrange === 'tag' ? byTag : byPath)(of, result, {
      client,
      isOneOfSeveral
    });
  if (!isOneOfSeveral) {
    return nodes(
      rows,
      clients.find(client => client !== undefined)
    );
  }
  return clients.flatMap(client => {
    const own = rows.filter(row => clientOf(row) === client);
    if (client === undefined) {
      return nodes(own, undefined);
    }
    return {
      ...figures(
        own.filter(({ parent }) => parent === null),
        result
      ),
      key: `client ${client}`,
      term: { path: [], client },
      tag: names.get(client)!,
      ...ONCE,
      paths: [[]],
      client,
      isClient: true,
      children: withoutNotebook(nodes(own, client), own)
    };
  });
}

const ONCE = { pass: null, passes: 1, isFolded: false } as const;

function asItIs(row: SpanRow): TreeRow {
  return { ...row, paths: [row.path] };
}

/**
 * Spans as their programs call them. What was written in a notebook or cell, and in no span, is of the default: its figures are those of the
 * notebook's or cell's row without those of the rows within it.
 */
function withoutRoots(rows: readonly SpanRow[]): TreeRow[] {
  const isRoot = new Set(
    rows
      .filter(({ origin }) => origin === 'notebook' || origin === 'cell')
      .map(({ span }) => span)
  );
  if (isRoot.size === 0) {
    return rows.map(asItIs);
  }
  const within = new Map<number, SpanRow[]>();
  const lengthAbove = new Map<number, number>();
  for (const { span, parent, path } of rows) {
    const above = parent === null ? 0 : (lengthAbove.get(parent) ?? 0);
    lengthAbove.set(span, isRoot.has(span) ? path.length : above);
  }
  for (const row of rows) {
    if (row.parent !== null && isRoot.has(row.parent)) {
      const siblings = within.get(row.parent);
      if (siblings === undefined) {
        within.set(row.parent, [row]);
      } else {
        siblings.push(row);
      }
    }
  }
  return rows.map(row => {
    if (isRoot.has(row.span)) {
      const path = [DEFAULT_TAG];
      const own = ownFigures(row, within.get(row.span) ?? []);
      const of = { origin: 'default', parent: null, tag: DEFAULT_TAG } as const;
      return { ...row, ...own, ...of, path, paths: [path, row.path] };
    }
    const path = row.path.slice(lengthAbove.get(row.span));
    const parent =
      row.parent !== null && isRoot.has(row.parent) ? null : row.parent;
    return { ...row, parent, path, paths: [path, row.path] };
  });
}

function ownFigures(row: SpanRow, within: readonly SpanRow[]) {
  const own = (of: (each: SpanRow) => number) =>
    within.reduce((left, each) => left - of(each), of(row));
  return {
    tasks: own(each => each.tasks),
    executions: own(each => each.executions),
    running: own(each => each.running),
    runningCancelled: own(each => each.runningCancelled ?? 0),
    waiting: own(each => each.waiting ?? 0),
    failed: own(each => each.failed),
    ...(row.failedTasks !== undefined && {
      failedTasks: own(each => each.failedTasks ?? 0)
    }),
    failedUnrun: own(each => each.failedUnrun ?? 0),
    threadSeconds: Math.max(
      0,
      own(each => each.threadSeconds)
    ),
    runningSeconds: Math.max(
      0,
      own(each => each.runningSeconds ?? 0)
    )
  };
}

/** The notebook's row is there already: what is below the span that it is stands there. */
function withoutNotebook(
  nodes: readonly SpanNode[],
  rows: readonly TreeRow[]
): readonly SpanNode[] {
  const notebooks = new Set(
    rows.filter(row => row.origin === 'notebook').map(row => row.tag)
  );
  return nodes.flatMap(node =>
    node.term !== null &&
    'path' in node.term &&
    node.term.path.length === 1 &&
    notebooks.has(node.tag)
      ? node.children
      : node
  );
}

/** Whose rows these are. */
type Owner = {
  readonly client: string | undefined;
  readonly isOneOfSeveral: boolean;
};

/** In a tree of several notebooks, a span of one of them is named with it. */
function termOf<T extends SpanTerm>(
  term: T,
  { client, isOneOfSeveral }: Owner
): T {
  return isOneOfSeveral && client !== undefined ? { ...term, client } : term;
}

function keyOf(key: string, { client, isOneOfSeveral }: Owner): string {
  return isOneOfSeveral ? `${client ?? ''} ${key}` : key;
}

/**
 * Each path once: a span that is opened again, in a loop or in the next cell, is the same place in the tree.
 *
 *   rows   flow 0 · load 1 (parent 0) · flow 2 · load 3 (parent 2) · fit 4 (parent 2)
 *   tree   flow (0 + 2) → load (1 + 3), fit (4)
 */
function byPath(
  of: readonly TreeRow[],
  result: SpansResult,
  owner: Owner
): readonly SpanNode[] {
  const rowsOf = new Map<string, TreeRow[]>();
  const childrenOf = new Map<string, string[]>();
  for (const row of of) {
    const key = JSON.stringify(row.path);
    const same = rowsOf.get(key);
    if (same !== undefined) {
      same.push(row);
      continue;
    }
    rowsOf.set(key, [row]);
    // A row whose parent is not there (folded away) stands at the root.
    const parent = JSON.stringify(row.path.slice(0, -1));
    const place = rowsOf.has(parent) ? parent : ROOT;
    const siblings = childrenOf.get(place);
    if (siblings === undefined) {
      childrenOf.set(place, [key]);
    } else {
      siblings.push(key);
    }
  }
  const build = (key: string): SpanNode[] => {
    const rows = rowsOf.get(key) ?? [];
    const [first] = rows;
    if (first === undefined) {
      return [];
    }
    const inside = (childrenOf.get(key) ?? []).flatMap(build);
    const node: SpanNode = {
      ...figures(rows, result),
      key: keyOf(key, owner),
      term: termOf({ path: first.path }, owner),
      tag: first.tag,
      ...ONCE,
      paths: pathsOf(rows),
      client: owner.client,
      isClient: false,
      children: inside
    };
    // What is in no span is written in many places, and runs again and again.
    return [
      first.origin === 'default'
        ? node
        : withPasses(node, passesOf(rows), result)
    ];
  };
  return (childrenOf.get(ROOT) ?? []).flatMap(build);
}

/**
 *   fit ×12                  flow ×2
 *   ├ [14] · 10:07:31        ├ 2 passes
 *   ├ …                      │ ├ 2 of 2 · 10:07:31
 *   └ 2 earlier              │ └ 1 of 2 · 10:02:11
 *                            └ load
 */
function withPasses(
  node: SpanNode,
  { count, apart, together }: Passes<TreeRow>,
  result: SpansResult
): SpanNode {
  const below = (
    key: string,
    pass: PassNode,
    rows: readonly SpanRow[],
    children: readonly SpanNode[] = []
  ): SpanNode => ({
    ...node,
    ...figures(rows, result),
    ...ONCE,
    key: `${node.key} ${key}`,
    term: null,
    pass,
    isFolded: children.length > 0,
    children
  });
  if (count === 1 || apart.length === 0) {
    return { ...node, passes: count };
  }
  const each = apart.map(({ id, rows, opened, execution, place }) => {
    const closed = rows.map(row => row.closed);
    const last = closed.includes(null)
      ? null
      : Math.max(...closed.map(time => time ?? 0));
    const pass = {
      kind: 'one',
      id,
      opened,
      execution,
      place,
      seconds: last === null ? null : last - opened,
      took: tookSeconds(rows)
    } as const;
    const term =
      node.term !== null && 'path' in node.term ? { ...node.term, id } : null;
    return { ...below(`pass ${id}`, pass, rows), term };
  });
  const earlier = each.slice(NEWEST_PASSES);
  const list = [
    ...each.slice(0, NEWEST_PASSES),
    ...(earlier.length === 0
      ? []
      : [
          below(
            'earlier',
            { kind: 'earlier', count: earlier.length },
            apart.slice(NEWEST_PASSES).flatMap(({ rows }) => rows),
            earlier
          )
        ]),
    ...(together.count === 0
      ? []
      : [
          below(
            'together',
            { kind: 'together', count: together.count },
            together.rows
          )
        ])
  ];
  const all = [...apart, together].flatMap(({ rows }) => rows);
  return {
    ...node,
    passes: count,
    isFolded: node.children.length === 0,
    children:
      node.children.length === 0
        ? list
        : [
            below(
              'passes',
              { kind: 'all', count, took: range(each) },
              all,
              list
            ),
            ...node.children
          ]
  };
}

function range(passes: readonly SpanNode[]) {
  const known = passes.flatMap(({ pass }) =>
    pass?.kind === 'one' && pass.took !== null ? [pass.took] : []
  );
  return known.length === 0
    ? null
    : { least: Math.min(...known), most: Math.max(...known) };
}

/** Each tag once. A span inside another of the same tag is not added again: the outer one includes it. */
function byTag(
  of: readonly TreeRow[],
  result: SpansResult,
  owner: Owner
): readonly SpanNode[] {
  const rowsOf = new Map<string, TreeRow[]>();
  for (const row of of) {
    const isInner = row.path.slice(0, -1).includes(row.tag);
    const rows = rowsOf.get(row.tag) ?? [];
    rowsOf.set(row.tag, isInner ? rows : [...rows, row]);
  }
  return [...rowsOf].map(([tag, rows]) => ({
    ...figures(rows, result),
    key: keyOf(`tag ${tag}`, owner),
    term: termOf({ tag }, owner),
    tag,
    ...ONCE,
    paths: [[tag]],
    client: owner.client,
    isClient: false,
    children: []
  }));
}

/** Each once: a loop opens the same path again and again. */
function pathsOf(rows: readonly TreeRow[]): readonly SpanPath[] {
  const found = new Map(
    rows
      .flatMap(({ paths }) => paths)
      .map(path => [JSON.stringify(path), path] as const)
  );
  return [...found.values()];
}

/** Of all tasks on threads, those that run too: it goes on while they do. */
export function totalSeconds(result: SpansResult): number {
  return result.totalThreadSeconds + (result.runningSeconds ?? 0);
}

function figures(rows: readonly SpanRow[], result: SpansResult) {
  const sum = (of: (row: SpanRow) => number) =>
    rows.reduce((total, row) => total + of(row), 0);
  const seconds = sum(row => row.threadSeconds + (row.runningSeconds ?? 0));
  const total = totalSeconds(result);
  return {
    seconds,
    tasks: sum(row => row.tasks),
    executions: sum(row => row.executions),
    running: sum(row => row.running),
    runningCancelled: sum(row => row.runningCancelled ?? 0),
    waiting: sum(row => row.waiting ?? 0),
    failed: sum(row => row.failed),
    failedTasks: rows.every(
      row =>
        row.failed === (row.failedUnrun ?? 0) || row.failedTasks !== undefined
    )
      ? sum(row => row.failedTasks ?? 0)
      : undefined,
    failedUnrun: sum(row => row.failedUnrun ?? 0),
    share: total > 0 ? seconds / total : 0
  };
}

/** How much ran: "40 task runs", each try of a task by itself, or "12 executions" if all of them were parts of other spans' fused tasks. */
export function workText(
  { tasks, executions }: Pick<SpanNode, 'tasks' | 'executions'>,
  trans: TranslationBundle
): string {
  return tasks === 0 && executions > 0
    ? executionsText(executions, trans)
    : taskRunsText(tasks, trans);
}

/**
 * The rows that are shown: not in a collapsed one; with a search, those found and the way to them, all expanded.
 *
 * @param turned - keys of rows that are collapsed, or expanded if they are folded otherwise.
 */
export function visibleSpans(
  roots: readonly SpanNode[],
  turned: ReadonlySet<string>,
  search: string
): readonly VisibleSpan[] {
  const wanted = search.trim().toLocaleLowerCase();
  const isFound = (node: SpanNode) =>
    wanted !== '' &&
    node.pass === null &&
    node.tag.toLocaleLowerCase().includes(wanted);
  const hasFound = (node: SpanNode): boolean =>
    isFound(node) || node.children.some(hasFound);
  const shown: VisibleSpan[] = [];
  const walk = (
    nodes: readonly SpanNode[],
    level: number,
    parentKey: string | null
  ) => {
    for (const node of nodes) {
      if (wanted !== '' && !hasFound(node)) {
        continue;
      }
      // (what is in it, but not found, is not shown)
      const isLeaf =
        wanted === ''
          ? node.children.length === 0
          : !node.children.some(hasFound);
      const isExpanded =
        wanted !== '' || turned.has(node.key) === node.isFolded;
      shown.push({
        node,
        level,
        parentKey,
        isExpanded: isLeaf ? null : isExpanded,
        isFound: isFound(node)
      });
      if (isExpanded) {
        walk(node.children, level + 1, node.key);
      }
    }
  };
  walk(roots, 0, null);
  return shown;
}

/**
 * Where the failed tasks of a row are: its own, or only in rows inside it that are not shown. Null: none, or the rows below say so. Of what ran
 * again, the newest pass counts: what failed before it may be mended.
 */
export function failuresOf({
  node,
  isExpanded
}: VisibleSpan): 'own' | 'inside' | null {
  if (node.failed <= 0) {
    return null;
  }
  const isList = node.pass?.kind === 'all' || node.pass?.kind === 'earlier';
  const inSpans = node.children
    .filter(({ pass }) => pass === null)
    .reduce((sum, { failed }) => sum + failed, 0);
  const [first] = node.children;
  const newest = first?.pass?.kind === 'all' ? first.children[0] : first;
  const isMended = newest?.pass?.kind === 'one' && newest.failed === 0;
  if (!isList && !isMended && node.failed > inSpans) {
    return 'own';
  }
  return isExpanded === true ? null : 'inside';
}

export function countSpans(roots: readonly SpanNode[]): number {
  return roots.reduce(
    (sum, node) =>
      sum + (node.pass === null ? 1 + countSpans(node.children) : 0),
    0
  );
}

/** How the filter touches a row: left out by a `not`, or outside every `any`, or neither. */
export function standing(
  node: SpanNode,
  filter: SelectionModel['filter']
): 'excluded' | 'outside' | 'inside' {
  const { any = [], not = [] } = filter.spans ?? {};
  if (not.some(term => covers(term, node))) {
    return 'excluded';
  }
  return any.length === 0 || any.some(term => touches(term, node))
    ? 'inside'
    : 'outside';
}

/** Whether `node` lies in the subtree of `term`. */
function covers(term: SpanTerm, node: SpanNode): boolean {
  if (term.client !== undefined && term.client !== node.client) {
    return false;
  }
  if ('path' in term && term.id !== undefined) {
    return node.pass?.kind === 'one' && node.pass.id === term.id;
  }
  return node.paths.some(path =>
    'tag' in term ? path.includes(term.tag) : beginsWith(path, term.path)
  );
}

function beginsWith(path: SpanPath, prefix: SpanPath): boolean {
  return (
    prefix.length <= path.length && prefix.every((tag, i) => path[i] === tag)
  );
}

/** Whether some of `node` is matched: it lies in the term's subtree, or the term in its own. */
function touches(term: SpanTerm, node: SpanNode): boolean {
  return (
    covers(term, node) ||
    ('path' in term &&
      node.pass?.kind !== 'one' &&
      node.term !== null &&
      'path' in node.term &&
      (term.client ?? node.client) === node.client &&
      node.paths.some(
        path =>
          beginsWith(term.path, path) ||
          // (a span within is in some pass)
          (term.id !== undefined && beginsWith(path, term.path))
      )) ||
    (node.term === null && node.children.some(child => touches(term, child))) ||
    ('tag' in term && node.children.some(child => touches(term, child)))
  );
}

/** Fewer equal letters than this are not worth to be cut first. */
const LEAST_SHARED = 6;

/**
 * Of names beside each other: with how many letters one begins as another does, up to where a word begins, if one does; 0 for most. Where there is
 * no room for all of a name, these go first, because they tell it from no other.
 */
export function sharedBeginnings(
  names: readonly string[]
): ReadonlyMap<string, number> {
  const sorted = [...new Set(names)].sort();
  const shared = new Map<string, number>();
  for (let i = 1; i < sorted.length; i += 1) {
    const [one, other] = [sorted[i - 1]!, sorted[i]!];
    const length = equalLetters(one, other);
    for (const name of [one, other]) {
      shared.set(name, Math.max(shared.get(name) ?? 0, length));
    }
  }
  return new Map(
    names.map(name => {
      const letters = shared.get(name) ?? 0;
      const length = wholeWords(name, letters) || letters;
      return [
        name,
        length < LEAST_SHARED || length === name.length ? 0 : length
      ];
    })
  );
}

function equalLetters(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) {
    length += 1;
  }
  return length;
}

/** As many of the first letters as end where a word begins. */
function wholeWords(name: string, letters: number): number {
  const words = /^.*[\s_\-./:(](?=.)/su.exec(name.slice(0, letters + 1));
  return words === null ? 0 : Math.min(letters, words[0].length);
}
