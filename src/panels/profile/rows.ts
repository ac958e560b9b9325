/**
 * The answer of view `profile` as a tree of frames with their places:
 *
 *   nodes in depth-first order        the same as an icicle (samples as width)
 *   0 all      parent -1  n 6         |all                |
 *   1   load   parent 0   n 4         |load       |fit    |
 *   2     read parent 1   n 3         |read    |·|         ·: 1 sample in load itself
 *   3   fit    parent 0   n 2
 */
import type { ProfileResult } from '../../wire/panel-link';
import { formatCount, formatDuration, formatShare } from '../format';

export type FrameTree = {
  readonly result: ProfileResult;
  readonly length: number;
  readonly total: number;
  readonly depth: Uint16Array;
  /** Samples left of the frame, among all of the root's. */
  readonly offset: Float64Array;
  /** Samples in the frame itself, not in what it called. */
  readonly self: Float64Array;
  readonly children: readonly (readonly number[])[];
  readonly deepest: number;
};

export function frameTree(result: ProfileResult): FrameTree {
  const { parent, n } = result.nodes;
  const length = n.length;
  const depth = new Uint16Array(length);
  const offset = new Float64Array(length);
  const self = Float64Array.from(n);
  const children: number[][] = Array.from({ length }, () => []);
  // The part of a frame's width that its children have taken so far; roots share one line.
  const taken = new Float64Array(length);
  let rootsTaken = 0;
  let deepest = 0;
  for (let node = 0; node < length; node += 1) {
    const above = parent[node] ?? -1;
    const samples = n[node] ?? 0;
    if (above < 0 || above >= node) {
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
    depth,
    offset,
    self,
    children,
    deepest
  };
}

/** The frame's callers up to the root, outermost first, then itself. */
export function pathOf(tree: FrameTree, node: number): number[] {
  const path: number[] = [];
  for (
    let at = node;
    at >= 0 && at < tree.length;
    at = tree.result.nodes.parent[at] ?? -1
  ) {
    path.unshift(at);
    if (path.length > tree.length) {
      break; // a ring in the data: show what there is
    }
  }
  return path;
}

/** Names with their files: what keeps a zoom and a selection over new answers. */
export function pathKey(tree: FrameTree, node: number): string {
  const { name, file } = tree.result.nodes;
  return pathOf(tree, node)
    .map(at => `${name[at] ?? ''}\u0000${file[at] ?? ''}`)
    .join('\u0001');
}

export function nodeOfKey(tree: FrameTree, key: string): number | null {
  const { name, file } = tree.result.nodes;
  let found: number | null = null;
  for (const part of key.split('\u0001')) {
    const isIt = (node: number) =>
      `${name[node] ?? ''}\u0000${file[node] ?? ''}` === part;
    const from: readonly number[] =
      found === null ? rootsOf(tree) : (tree.children[found] ?? []);
    const next: number | undefined = from.find(isIt);
    if (next === undefined) {
      return null;
    }
    found = next;
  }
  return found;
}

function rootsOf(tree: FrameTree): number[] {
  const roots: number[] = [];
  for (let node = 0; node < tree.length; node += 1) {
    if ((tree.result.nodes.parent[node] ?? -1) < 0) {
      roots.push(node);
    }
  }
  return roots;
}

export function shareOfNode(tree: FrameTree, node: number): number {
  return tree.total > 0 ? (tree.result.nodes.n[node] ?? 0) / tree.total : 0;
}

/**
 * ipykernel writes no file: it names what a cell defines after its process and a hash of the cell's text. IPython outside a kernel has the
 * cell's number instead.
 */
const kernelCell = /[\\/]ipykernel_\d+[\\/](\d+)\.py$/;
const promptCell = /^<ipython-input-(\d+)-/;

/** "model.py"; "cell" for what a notebook's cell defines. */
function shortFile(file: string): string {
  const prompt = promptCell.exec(file);
  return prompt !== null
    ? `cell [${prompt[1]}]`
    : kernelCell.test(file)
      ? 'cell'
      : (file.split(/[\\/]/).at(-1) ?? file);
}

/** The whole path; of cells, what tells one from another of the same notebook. */
function longFile(file: string): string {
  const cell = kernelCell.exec(file);
  return cell !== null
    ? `cell of a notebook (${cell[1]})`
    : promptCell.test(file)
      ? shortFile(file)
      : file;
}

/** "model.py:41"; nothing for groups and the root. */
export function placeOf(tree: FrameTree, node: number): string {
  const file = tree.result.nodes.file[node] ?? '';
  const line = tree.result.nodes.line[node] ?? 0;
  if (file === '') {
    return '';
  }
  const name = shortFile(file);
  return line > 0 ? `${name}:${line}` : name;
}

export function labelOf(tree: FrameTree, node: number): string {
  const name = tree.result.nodes.name[node] ?? '';
  return `${name} ${formatShare(shareOfNode(tree, node))}`;
}

/** Samples as time if the rate is known: "11.1 s", else "1,112 samples". */
function samplesText(result: ProfileResult, samples: number): string {
  return result.rateHz !== null && result.rateHz > 0
    ? formatDuration(samples / result.rateHz)
    : `${formatCount(samples)} samples`;
}

/** "12,640 samples · one per 10.0 ms per thread" */
export function samplingText(result: ProfileResult): string {
  const count = `${formatCount(result.samples)} samples`;
  const rate =
    result.rateHz === null || result.rateHz <= 0
      ? ''
      : ` · one per ${formatDuration(1 / result.rateHz)} per thread`;
  const dropped =
    result.dropped > 0
      ? ` · ${formatCount(result.dropped)} small frames left out`
      : '';
  return count + rate + dropped;
}

export type Found = {
  readonly nodes: ReadonlySet<number>;
  /** "2 frames · 6.2 %", frames within found frames not counted twice. */
  readonly text: string;
};

export function search(tree: FrameTree, text: string): Found | null {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') {
    return null;
  }
  const { name, file, parent, n } = tree.result.nodes;
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
  const noun = nodes.size === 1 ? 'frame' : 'frames';
  return {
    nodes,
    text: `${formatCount(nodes.size)} ${noun} · ${formatShare(share)}`
  };
}

/** What a thread does; the words are those of Fine Performance Metrics. */
export const threadStates = [
  { state: 'cpu', label: 'CPU', samples: 'onCore' },
  { state: 'core', label: 'waiting for a core', samples: 'waiting' },
  { state: 'gil', label: 'waiting for the GIL', samples: 'gil' },
  { state: 'blocked', label: 'blocked (I/O, sleep)', samples: 'blocked' }
] as const;
type ThreadState = (typeof threadStates)[number]['state'];

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

export function factsOf(tree: FrameTree, node: number): FrameFacts {
  const { nodes } = tree.result;
  const n = nodes.n[node] ?? 0;
  const self = tree.self[node] ?? 0;
  const share = (value: number) => (n > 0 ? value / n : 0);
  const parent = nodes.parent[node] ?? -1;
  const text = (samples: number) => samplesText(tree.result, samples);
  const ofAll = (samples: number) =>
    formatShare(tree.total > 0 ? samples / tree.total : 0);
  const states = threadStates.map(({ state, label, samples }) => {
    const value = share(nodes[samples][node] ?? 0);
    return { state, label, share: value, text: formatShare(value) };
  });
  return {
    name: nodes.name[node] ?? '',
    place: nodes.file[node]
      ? `${longFile(nodes.file[node])}${nodes.line[node] ? `, line ${nodes.line[node]}` : ''}`
      : '',
    totalText: text(n),
    totalShare: ofAll(n),
    selfText: text(self),
    selfShare: ofAll(self),
    samples: formatCount(n),
    states,
    calls: (tree.children[node] ?? []).slice(0, 8).map(child => ({
      node: child,
      name: nodes.name[child] ?? '',
      text: formatShare(share(nodes.n[child] ?? 0))
    })),
    caller: parent < 0 ? null : { node: parent, name: nodes.name[parent] ?? '' }
  };
}

// -------------------------------------------------------------------- table

type Cell = { readonly text: string; readonly value: string | number | null };

type FrameRow = {
  readonly node: number;
  readonly depth: number;
  readonly hasChildren: boolean;
  readonly cells: readonly Cell[];
};

export const frameColumns = [
  { name: 'Frame' },
  { name: 'Where' },
  { name: 'Total', numeric: true },
  { name: 'Share', numeric: true },
  { name: 'Self', numeric: true },
  { name: 'CPU', numeric: true },
  { name: 'Waiting for a core', numeric: true },
  { name: 'Waiting for the GIL', numeric: true },
  { name: 'Blocked', numeric: true }
] as const;

/** The frames whose callers are all open, in the order of the answer. */
export function frameRows(
  tree: FrameTree,
  isOpen: (node: number) => boolean
): FrameRow[] {
  const rows: FrameRow[] = [];
  const visit = (node: number): void => {
    const children = tree.children[node] ?? [];
    rows.push({
      node,
      depth: tree.depth[node] ?? 0,
      hasChildren: children.length > 0,
      cells: frameCells(tree, node)
    });
    if (isOpen(node)) {
      children.forEach(visit);
    }
  };
  rootsOf(tree).forEach(visit);
  return rows;
}

function frameCells(tree: FrameTree, node: number): Cell[] {
  const { nodes } = tree.result;
  const n = nodes.n[node] ?? 0;
  const time = (samples: number): Cell => ({
    text: samplesText(tree.result, samples),
    value: samples
  });
  const share = shareOfNode(tree, node);
  return [
    { text: nodes.name[node] ?? '', value: nodes.name[node] ?? '' },
    { text: placeOf(tree, node), value: placeOf(tree, node) },
    time(n),
    { text: formatShare(share), value: share },
    time(tree.self[node] ?? 0),
    time(nodes.onCore[node] ?? 0),
    time(nodes.waiting[node] ?? 0),
    time(nodes.gil[node] ?? 0),
    time(nodes.blocked[node] ?? 0)
  ];
}
