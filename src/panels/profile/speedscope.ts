/**
 * The frames as a file of speedscope's format, version 0.0.1: <https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources>.
 *
 * A node with samples of its own is a stack that weighs as much:
 *
 *     |fit         |            stacks  [fit score]  weights  2
 *     |score |·····|     →              [fit]                 3
 *
 * The stacks are those of the whole selection, put together: their order is the panel's, and no time. With groups there is a profile for each.
 */
import type { FrameTree } from './rows';

const SCHEMA = 'https://www.speedscope.app/file-format-schema.json';

type SpeedscopeFrame = {
  readonly name: string;
  readonly file?: string;
  readonly line?: number;
};

type SpeedscopeProfile = {
  readonly type: 'sampled';
  readonly name: string;
  readonly unit: 'seconds' | 'none';
  readonly startValue: 0;
  readonly endValue: number;
  readonly samples: readonly (readonly number[])[];
  readonly weights: readonly number[];
};

/**
 * @param hasGroups - the second level is not of frames but of functions, workers or spans.
 * @param nameOfNode - of groups and frames, as the panel has it.
 */
export function speedscopeOf(
  tree: FrameTree,
  hasGroups: boolean,
  name: string,
  nameOfNode: (node: number) => string
): string {
  const frames = new FrameList(tree, nameOfNode);
  const tops = hasGroups
    ? tree.roots.flatMap(root => tree.children[root] ?? [])
    : tree.roots;
  const profiles = tops.map(top =>
    profileOf(tree, top, hasGroups ? nameOfNode(top) : name, frames)
  );
  return JSON.stringify({
    $schema: SCHEMA,
    exporter: 'Spanwise',
    name,
    activeProfileIndex: 0,
    shared: { frames: frames.written },
    profiles
  });
}

function profileOf(
  tree: FrameTree,
  top: number,
  name: string,
  frames: FrameList
): SpeedscopeProfile {
  const { rateHz } = tree.result;
  const isTimed = rateHz !== null && rateHz > 0;
  const samples: number[][] = [];
  const weights: number[] = [];
  let sum = 0;
  const visit = (node: number, stack: readonly number[]): void => {
    const own = tree.self[node] ?? 0;
    if (own > 0) {
      samples.push([...stack]);
      weights.push(isTimed ? own / rateHz : own);
      sum += own;
    }
    for (const child of tree.children[node] ?? []) {
      visit(child, [...stack, frames.place(child)]);
    }
  };
  // What the panel has above all frames is none of the program's.
  visit(top, []);
  return {
    type: 'sampled',
    name,
    unit: isTimed ? 'seconds' : 'none',
    startValue: 0,
    endValue: isTimed ? sum / rateHz : sum,
    samples,
    weights
  };
}

/** Each function once, with where it begins. */
class FrameList {
  readonly written: SpeedscopeFrame[] = [];
  private readonly _places = new Map<string, number>();

  constructor(
    private readonly _tree: FrameTree,
    private readonly _nameOf: (node: number) => string
  ) {}

  place(node: number): number {
    const { file, line } = this._tree.result.nodes;
    const frame: SpeedscopeFrame = {
      name: this._nameOf(node),
      ...((file[node] ?? '') !== '' && { file: file[node]! }),
      ...((line[node] ?? 0) > 0 && { line: line[node]! })
    };
    const key = JSON.stringify(frame);
    const known = this._places.get(key);
    if (known !== undefined) {
      return known;
    }
    this._places.set(key, this.written.length);
    return this.written.push(frame) - 1;
  }
}
