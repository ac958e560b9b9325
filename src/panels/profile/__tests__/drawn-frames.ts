/** Answers of the view `profile` that a spec draws. */
import type { ProfileResult } from '../../../wire/panel-link';

/** A tree drawn by indentation: `name samples`, callers above. */
export function drawnProfile(lines: readonly string[]): ProfileResult {
  const stack: number[] = [];
  const nodes = {
    parent: [] as number[],
    name: [] as string[],
    file: [] as string[],
    line: [] as number[],
    n: [] as number[],
    onCore: [] as number[],
    waiting: [] as number[],
    gil: [] as number[],
    blocked: [] as number[],
    slot: [] as number[]
  };
  lines.forEach((line, index) => {
    const depth = (line.length - line.trimStart().length) / 2;
    const [name = '', samples = '0'] = line.trim().split(' ');
    stack.length = depth;
    nodes.parent.push(stack.at(-1) ?? -1);
    nodes.name.push(name);
    nodes.file.push(`/lib/${name}.py`);
    nodes.line.push(name.length);
    nodes.n.push(Number(samples));
    nodes.onCore.push(Number(samples));
    nodes.waiting.push(0);
    nodes.gil.push(0);
    nodes.blocked.push(0);
    nodes.slot.push(index % 12);
    stack.push(index);
  });
  return {
    view: 'profile',
    samples: nodes.n[0] ?? 0,
    rateHz: 100,
    nodes,
    dropped: 0,
    activity: { seconds: [], onCore: [], waiting: [], gil: [], blocked: [] }
  };
}
