/**
 * The span tree as rows: from the flat answer of view `spans` to what is shown, with what is collapsed, searched and filtered. Pure.
 *
 * If several notebooks have computed on the cluster, each is a row above its spans; else there is no such level.
 *
 *   rows: flow 0 · load 1 (parent flow) · fit 2 (parent flow)     by path  flow → load, fit     by tag  flow, load, fit
 */
import type { TranslationBundle } from '@jupyterlab/translation';
import { pathEnds } from '../base/path-ends';
import type { SelectionModel } from '../feed/selection';
import { formatCount } from '../panels/format';
import type { SpanRow, SpansResult, SpanTerm } from '../wire/panel-link';

/** Key of what has no parent: no path's JSON is empty. */
const ROOT = '';

export type Arrange = 'path' | 'tag';

export type SpanNode = {
  /** Unique in the tree. */
  readonly key: string;
  readonly term: SpanTerm;
  readonly tag: string;
  /** Whose it is, as filters call it; undefined: nobody's. */
  readonly client: string | undefined;
  /** It is all that this notebook, or other program, has computed. */
  readonly isClient: boolean;
  readonly children: readonly SpanNode[];
  readonly seconds: number;
  readonly tasks: number;
  /** How often functions ran: tasks, and parts of fused tasks, which may run under another span's name. */
  readonly executions: number;
  readonly running: number;
  readonly failed: number;
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

export function spanTree(
  result: SpansResult,
  arrange: Arrange
): readonly SpanNode[] {
  // The tasks outside every span have a row of their own, once there are any.
  const rows = result.rows.filter(
    row =>
      row.origin !== 'default' ||
      row.tasks > 0 ||
      row.executions > 0 ||
      row.running > 0
  );
  const clientOf = (row: SpanRow) =>
    row.client === null ? undefined : result.clients[row.client];
  const clients = [...new Set(rows.map(clientOf))];
  const names = pathEnds(clients.filter(client => client !== undefined));
  const isOneOfSeveral = names.size > 1;
  const nodes = (of: readonly SpanRow[], client: string | undefined) =>
    (arrange === 'path' ? byPath : byTag)(
      { ...result, rows: of },
      { client, isOneOfSeveral }
    );
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
      client,
      isClient: true,
      children: nodes(own, client)
    };
  });
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
function byPath(result: SpansResult, owner: Owner): readonly SpanNode[] {
  const rowsOf = new Map<string, SpanRow[]>();
  const childrenOf = new Map<string, string[]>();
  for (const row of result.rows) {
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
    return first === undefined
      ? []
      : [
          {
            ...figures(rows, result),
            key: keyOf(key, owner),
            term: termOf({ path: first.path }, owner),
            tag: first.tag,
            client: owner.client,
            isClient: false,
            children: (childrenOf.get(key) ?? []).flatMap(build)
          }
        ];
  };
  return (childrenOf.get(ROOT) ?? []).flatMap(build);
}

/** Each tag once. A span inside another of the same tag is not added again: the outer one includes it. */
function byTag(result: SpansResult, owner: Owner): readonly SpanNode[] {
  const rowsOf = new Map<string, SpanRow[]>();
  for (const row of result.rows) {
    const isInner = row.path.slice(0, -1).includes(row.tag);
    const rows = rowsOf.get(row.tag) ?? [];
    rowsOf.set(row.tag, isInner ? rows : [...rows, row]);
  }
  return [...rowsOf].map(([tag, rows]) => ({
    ...figures(rows, result),
    key: keyOf(`tag ${tag}`, owner),
    term: termOf({ tag }, owner),
    tag,
    client: owner.client,
    isClient: false,
    children: []
  }));
}

function figures(rows: readonly SpanRow[], result: SpansResult) {
  const sum = (of: (row: SpanRow) => number) =>
    rows.reduce((total, row) => total + of(row), 0);
  const seconds = sum(row => row.threadSeconds);
  return {
    seconds,
    tasks: sum(row => row.tasks),
    executions: sum(row => row.executions),
    running: sum(row => row.running),
    failed: sum(row => row.failed),
    share:
      result.totalThreadSeconds > 0 ? seconds / result.totalThreadSeconds : 0
  };
}

/** How much ran: "40 tasks", or "12 executions" if all of them were parts of other spans' fused tasks. */
export function workText(
  { tasks, executions }: Pick<SpanNode, 'tasks' | 'executions'>,
  trans: TranslationBundle
): string {
  return tasks === 0 && executions > 0
    ? trans._n(
        '%2\u00a0execution',
        '%2\u00a0executions',
        executions,
        formatCount(executions)
      )
    : trans._n('%2\u00a0task', '%2\u00a0tasks', tasks, formatCount(tasks));
}

/** The rows that are shown: not in a collapsed one; with a search, those found and the way to them, all expanded. */
export function visibleSpans(
  roots: readonly SpanNode[],
  collapsed: ReadonlySet<string>,
  search: string
): readonly VisibleSpan[] {
  const wanted = search.trim().toLocaleLowerCase();
  const isFound = (node: SpanNode) =>
    wanted !== '' && node.tag.toLocaleLowerCase().includes(wanted);
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
      const isLeaf = node.children.length === 0;
      const isExpanded = wanted !== '' || !collapsed.has(node.key);
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

export function countSpans(roots: readonly SpanNode[]): number {
  return roots.reduce((sum, node) => sum + 1 + countSpans(node.children), 0);
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
  const path = 'path' in node.term ? node.term.path : [node.term.tag];
  return 'tag' in term
    ? path.includes(term.tag)
    : term.path.length <= path.length &&
        term.path.every((tag, i) => path[i] === tag);
}

/** Whether some of `node` is matched: it lies in the term's subtree, or the term in its own. */
function touches(term: SpanTerm, node: SpanNode): boolean {
  return (
    covers(term, node) ||
    ('path' in term &&
      'path' in node.term &&
      (term.client ?? node.client) === node.client &&
      node.term.path.every((tag, i) => term.path[i] === tag)) ||
    ('tag' in term && node.children.some(child => touches(term, child)))
  );
}
