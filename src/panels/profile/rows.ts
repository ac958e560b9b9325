/**
 * The answer of view `profile` as a tree of frames with their places:
 *
 *   nodes in depth-first order        the same as an icicle (samples as width)
 *   0 all      parent -1  n 6         |all                |
 *   1   load   parent 0   n 4         |load       |fit    |
 *   2     read parent 1   n 3         |read    |·|         ·: 1 sample in load itself
 *   3   fit    parent 0   n 2
 */
import type { Trans } from '../../base/trans';
import type { ProfileResult } from '../../wire/panel-link';
import {
  cellOf,
  formatCount,
  formatDuration,
  formatShare,
  legendWord,
  longFile,
  placeInCode,
  type TableCell,
  workerLabel
} from '../format';

export type FrameTree = {
  readonly result: ProfileResult;
  readonly length: number;
  readonly total: number;
  /** −1: a root. So is a frame whose caller does not stand before it. */
  readonly parent: Int32Array;
  readonly depth: Uint16Array;
  /** Samples left of the frame, among all of the root's. */
  readonly offset: Float64Array;
  /** Samples in the frame itself, not in what it called. */
  readonly self: Float64Array;
  /** 1: Python imported a module in it, or it ran in one that was being imported. */
  readonly importing: Uint8Array;
  readonly children: readonly (readonly number[])[];
  /** Frames without a caller. */
  readonly roots: readonly number[];
  readonly deepest: number;
};

/**
 * Python's own frames are not shown where Spanwise called them, as to unpickle: the first frame of an import may be the module's. (Below other
 * callers it may be a program that a task runs; and code that was made from a text is no module.)
 */
function startsImport(
  { nodes: { name, file } }: ProfileResult,
  node: number,
  caller: number
): boolean {
  const own = file[node] ?? '';
  return (
    IMPORTER.test(own) ||
    (name[node] === '(import)' && own === OWN_STEP) ||
    (name[node] === '<module>' &&
      !own.startsWith('<') &&
      OWN_FILE.test(file[caller] ?? ''))
  );
}

/** In place of a file: what a thread does around a task's own code. */
const OWN_STEP = '<spanwise>';
/** Files of Spanwise that open what was pickled. */
const OWN_FILE = /[\\/]spanwise[\\/](client|local|wire|worker)[\\/]/;
/** Files of what imports modules; not frozen, too. */
const IMPORTER = /^<frozen importlib\.|[\\/]importlib[\\/]_bootstrap/;

export function frameTree(result: ProfileResult): FrameTree {
  const { n } = result.nodes;
  const length = n.length;
  const parent = Int32Array.from({ length }, (_, node) => {
    const above = result.nodes.parent[node] ?? -1;
    return above < node ? Math.max(-1, above) : -1;
  });
  const depth = new Uint16Array(length);
  const offset = new Float64Array(length);
  const self = Float64Array.from(n);
  const children: number[][] = Array.from({ length }, () => []);
  // The part of a frame's width that its children have taken so far; roots share one line.
  const taken = new Float64Array(length);
  const importing = new Uint8Array(length);
  const roots: number[] = [];
  let rootsTaken = 0;
  let deepest = 0;
  for (let node = 0; node < length; node += 1) {
    const above = parent[node] ?? -1;
    const samples = n[node] ?? 0;
    importing[node] =
      importing[above] === 1 || startsImport(result, node, above) ? 1 : 0;
    if (above < 0) {
      roots.push(node);
      offset[node] = rootsTaken;
      rootsTaken += samples;
      continue;
    }
    depth[node] = (depth[above] ?? 0) + 1;
    offset[node] = (offset[above] ?? 0) + (taken[above] ?? 0);
    taken[above] = (taken[above] ?? 0) + samples;
    self[above] = (self[above] ?? 0) - samples;
    children[above]?.push(node);
    deepest = Math.max(deepest, depth[node] ?? 0);
  }
  return {
    result,
    length,
    total: rootsTaken,
    parent,
    depth,
    offset,
    self,
    importing,
    children,
    roots,
    deepest
  };
}

/** The frame's callers up to the root, outermost first, then itself. */
export function pathOf(tree: FrameTree, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at >= 0; at = tree.parent[at] ?? -1) {
    path.unshift(at);
  }
  return path;
}

/** Functions with their places: what keeps a zoom and a selection over new answers. */
export function pathKey(tree: FrameTree, node: number): string {
  return pathOf(tree, node)
    .map(at => keyOf(tree, at))
    .join('\u0001');
}

/** Several functions of a file may have one name, as `<lambda>` has. */
function keyOf(tree: FrameTree, node: number): string {
  const { name, file, line } = tree.result.nodes;
  return [name[node], file[node], line[node]].join('\u0000');
}

export function nodeOfKey(tree: FrameTree, key: string): number | null {
  let found: number | null = null;
  for (const part of key.split('\u0001')) {
    const from: readonly number[] =
      found === null ? tree.roots : (tree.children[found] ?? []);
    const next: number | undefined = from.find(
      node => keyOf(tree, node) === part
    );
    if (next === undefined) {
      return null;
    }
    found = next;
  }
  return found;
}

export function shareOfNode(tree: FrameTree, node: number): number {
  return tree.total > 0 ? (tree.result.nodes.n[node] ?? 0) / tree.total : 0;
}

/** Nothing for groups and the root. */
export function placeOf(tree: FrameTree, node: number, trans: Trans): string {
  const file = tree.result.nodes.file[node] ?? '';
  return file === ''
    ? ''
    : placeInCode(file, tree.result.nodes.line[node] ?? 0, trans);
}

/** A function's name, or what the frames below it are grouped by. */
export function nameOf(tree: FrameTree, node: number, trans: Trans): string {
  const { name, file } = tree.result.nodes;
  const own = name[node] ?? '';
  // Groups and the root have no file.
  return file[node] !== ''
    ? own
    : tree.depth[node] === 0
      ? trans.__('all functions')
      : own.startsWith('worker-')
        ? workerLabel(own, trans)
        : own;
}

export function labelOf(tree: FrameTree, node: number, trans: Trans): string {
  return `${nameOf(tree, node, trans)} ${formatShare(shareOfNode(tree, node))}`;
}

/** Samples as time if the rate is known: "11.1 s", else "1,112 samples". */
function samplesText(
  result: ProfileResult,
  samples: number,
  trans: Trans
): string {
  return result.rateHz !== null && result.rateHz > 0
    ? formatDuration(samples / result.rateHz)
    : countText(samples, trans);
}

function countText(samples: number, trans: Trans): string {
  return trans._n('%2 sample', '%2 samples', samples, formatCount(samples));
}

/** "12,640 samples · one per 10.0 ms per thread" */
export function samplingText(result: ProfileResult, trans: Trans): string {
  const { samples, rateHz, dropped } = result;
  return [
    countText(samples, trans),
    rateHz === null || rateHz <= 0
      ? ''
      : trans.__('one per %1 per thread', formatDuration(1 / rateHz)),
    dropped > 0
      ? trans._n(
          '%2 small frame left out',
          '%2 small frames left out',
          dropped,
          formatCount(dropped)
        )
      : ''
  ]
    .filter(text => text !== '')
    .join(' · ');
}

export type Found = {
  readonly nodes: ReadonlySet<number>;
  /** "2 frames · 6.2 %", frames within found frames not counted twice. */
  readonly text: string;
};

export function search(
  tree: FrameTree,
  text: string,
  trans: Trans
): Found | null {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') {
    return null;
  }
  const { parent } = tree;
  const { name, file, n } = tree.result.nodes;
  const nodes = new Set<number>();
  const inside = new Uint8Array(tree.length);
  let samples = 0;
  for (let node = 0; node < tree.length; node += 1) {
    const isFound =
      (name[node] ?? '').toLowerCase().includes(wanted) ||
      (file[node] ?? '').toLowerCase().includes(wanted);
    const isInside = inside[parent[node] ?? -1] === 1;
    if (isFound) {
      nodes.add(node);
      samples += isInside ? 0 : (n[node] ?? 0);
    }
    inside[node] = isFound || isInside ? 1 : 0;
  }
  const share = tree.total > 0 ? samples / tree.total : 0;
  return {
    nodes,
    text: trans._n(
      '%2 frame · %3',
      '%2 frames · %3',
      nodes.size,
      formatCount(nodes.size),
      formatShare(share)
    )
  };
}

/** What a thread does; the words are those of Fine Performance Metrics. */
export const THREAD_STATES = [
  { state: 'cpu', label: 'CPU', samples: 'onCore' },
  { state: 'core', label: 'waiting for a core', samples: 'waiting' },
  { state: 'gil', label: 'waiting for the GIL', samples: 'gil' },
  {
    state: 'blocked',
    label: 'blocked (I/O, sleep, other tasks)',
    samples: 'blocked'
  }
] as const;
type ThreadState = (typeof THREAD_STATES)[number]['state'];

/** What the word of a state leaves open, since Fine Performance Metrics has more words for the same time; '' for most. */
export function remarkOnState(
  state: ReturnType<typeof statesOf>[number]['state'],
  trans: Trans
): string {
  return state === 'blocked'
    ? trans.__(
        'Blocked: neither on a core nor waiting for one or for the GIL, of all the time that tasks held their threads. Waits for other tasks, transfers, the disk or another thread’s import are in it, which Fine Performance Metrics lists under those names.'
      )
    : '';
}

/** What is meant by importing modules here: Fine Performance Metrics leaves to a function what its own code imports. */
export function remarkOnImports(trans: Trans): string {
  return trans.__(
    'Modules were being imported. What was imported before a task’s own code ran is “importing modules” in Fine Performance Metrics, too; what its code imported is part of the function.'
  );
}

/** Dask's samples, and those of threads whose clocks cannot be read. */
const NOT_TOLD = {
  state: 'compute',
  label: 'CPU or waiting, not told which',
  samples: 'unknown'
} as const;

/** Whether the source tells of any sample what its thread did. */
export function tellsStates({ activity }: ProfileResult): boolean {
  return (
    activity.unknown === undefined ||
    THREAD_STATES.some(({ samples }) =>
      activity[samples].some(count => count > 0)
    )
  );
}

/** The states that the activity line draws and the legend names. */
export function statesOf(
  result: ProfileResult
): readonly ((typeof THREAD_STATES)[number] | typeof NOT_TOLD)[] {
  return [
    ...(tellsStates(result) ? THREAD_STATES : []),
    ...(result.activity.unknown === undefined ? [] : [NOT_TOLD])
  ];
}

type FrameFacts = {
  readonly name: string;
  readonly place: string;
  readonly totalText: string;
  readonly totalShare: string;
  readonly selfText: string;
  readonly selfShare: string;
  readonly samples: string;
  /** What its threads did, of its own samples. */
  readonly states: readonly {
    readonly state: ThreadState;
    readonly label: string;
    readonly share: number;
    readonly text: string;
  }[];
  readonly calls: readonly {
    readonly node: number;
    readonly name: string;
    readonly text: string;
  }[];
  readonly caller: { readonly node: number; readonly name: string } | null;
};

function longPlaceOf(tree: FrameTree, node: number, trans: Trans): string {
  const file = tree.result.nodes.file[node] ?? '';
  if (file === '') {
    return '';
  }
  const line = tree.result.nodes.line[node] ?? 0;
  const place = longFile(file, trans);
  return line > 0 ? trans.__('%1, line %2', place, line) : place;
}

export function factsOf(
  tree: FrameTree,
  node: number,
  trans: Trans
): FrameFacts {
  const { nodes } = tree.result;
  const n = nodes.n[node] ?? 0;
  const self = tree.self[node] ?? 0;
  const share = (value: number) => (n > 0 ? value / n : 0);
  const parent = tree.parent[node] ?? -1;
  const text = (samples: number) => samplesText(tree.result, samples, trans);
  const ofAll = (samples: number) =>
    formatShare(tree.total > 0 ? samples / tree.total : 0);
  const told = tellsStates(tree.result) ? THREAD_STATES : [];
  const states = told.map(({ state, label, samples }) => {
    const value = share(nodes[samples][node] ?? 0);
    return {
      state,
      label: legendWord(label, trans),
      share: value,
      text: formatShare(value)
    };
  });
  return {
    name: nameOf(tree, node, trans),
    place: longPlaceOf(tree, node, trans),
    totalText: text(n),
    totalShare: ofAll(n),
    selfText: text(self),
    selfShare: ofAll(self),
    samples: formatCount(n),
    states,
    calls: (tree.children[node] ?? []).slice(0, 8).map(child => ({
      node: child,
      name: nameOf(tree, child, trans),
      text: formatShare(share(nodes.n[child] ?? 0))
    })),
    caller:
      parent < 0 ? null : { node: parent, name: nameOf(tree, parent, trans) }
  };
}

// -------------------------------------------------------------------- table

type FrameRow = {
  readonly node: number;
  readonly depth: number;
  readonly hasChildren: boolean;
  readonly cells: readonly TableCell[];
};

export function frameColumns(trans: Trans) {
  return [
    { name: trans.__('Frame') },
    { name: trans.__('Where') },
    { name: trans.__('Total'), numeric: true, unit: 'samples' },
    { name: trans.__('Share'), numeric: true, unit: 'fraction' },
    { name: trans.__('Self'), numeric: true, unit: 'samples' },
    { name: trans.__('CPU'), numeric: true, unit: 'samples' },
    {
      name: trans.__('Waiting for a core'),
      numeric: true,
      unit: 'samples'
    },
    {
      name: trans.__('Waiting for the GIL'),
      numeric: true,
      unit: 'samples'
    },
    { name: trans.__('Blocked'), numeric: true, unit: 'samples' }
  ] as const;
}

/** The frames whose callers are all open, in the order of the answer. */
export function frameRows(
  tree: FrameTree,
  isOpen: (node: number) => boolean,
  trans: Trans
): FrameRow[] {
  const rows: FrameRow[] = [];
  const visit = (node: number): void => {
    const children = tree.children[node] ?? [];
    rows.push({
      node,
      depth: tree.depth[node] ?? 0,
      hasChildren: children.length > 0,
      cells: frameCells(tree, node, trans)
    });
    if (isOpen(node)) {
      children.forEach(visit);
    }
  };
  tree.roots.forEach(visit);
  return rows;
}

function frameCells(tree: FrameTree, node: number, trans: Trans): TableCell[] {
  const { nodes } = tree.result;
  const n = nodes.n[node] ?? 0;
  const told = tellsStates(tree.result);
  const time = (samples: number): TableCell => ({
    text: samplesText(tree.result, samples, trans),
    value: samples,
    unit: 'samples'
  });
  return [
    cellOf.text(nameOf(tree, node, trans)),
    cellOf.text(placeOf(tree, node, trans)),
    time(n),
    cellOf.share(shareOfNode(tree, node)),
    time(tree.self[node] ?? 0),
    ...THREAD_STATES.map(({ samples }) =>
      told
        ? time(nodes[samples][node] ?? 0)
        : { ...cellOf.share(null), unit: 'samples' }
    )
  ];
}
