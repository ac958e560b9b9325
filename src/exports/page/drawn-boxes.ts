/**
 * The boxes of a picture by the Task Stream panel's rule (`src/observer/tiles`): a run fills its lane, parts that held the thread lie
 * over it in full height, and what went on behind other work lies in the strip.
 *
 *     run    ████████████████      from the first held part to the last
 *     held   ▒▒▒▒    ▒▒▒           full height: it cost time
 *     strip  ─────                 strip = 1
 *
 * A run that failed, or was cancelled, shows none of the functions in it: all that it computed was in vain.
 */
import {
  BOX_KINDS,
  kindOfPart,
  kindOfRun
} from '../../panels/task-stream/rows';
import type { TaskStreamSection } from '../content';

const COMPUTE = 'compute';
/** All of a run that ended with its worker. */
const LOST = 'lost';
/** Any other run was in vain. */
const COMPUTED = BOX_KINDS.indexOf('compute');

export type DrawnBox = {
  readonly lane: number;
  /** Seconds. */
  readonly from: number;
  readonly to: number;
  /** Into the section's functions. */
  readonly function: number;
  /** As a tile numbers kinds. */
  readonly kind: number;
  readonly strip: 0 | 1;
  /** 0: a part, which lies over (or, with strip, behind) the box of its run. */
  readonly tasks: 0 | 1;
  readonly record: number;
};

/** In the order of drawing. */
export function drawnBoxes(section: TaskStreamSection): DrawnBox[] {
  const { actions, boxes, records } = section;
  const begin = records.key.map(() => Infinity);
  const end = records.key.map(() => -Infinity);
  const kinds = records.status.map(kindOfRun);
  const parts: DrawnBox[] = [];
  boxes.start.forEach((from, at) => {
    const record = boxes.record[at]!;
    const fn = boxes.function[at]!;
    const action = actions[boxes.action[at]!] ?? '';
    const held = boxes.held[at] === 1;
    const to = from + Math.max(0, boxes.duration[at]!);
    if (held) {
      begin[record] = Math.min(begin[record]!, from);
      end[record] = Math.max(end[record]!, to);
    }
    const isInRun =
      fn === records.function[record] || kinds[record] !== COMPUTED;
    if (action !== LOST && (action !== COMPUTE || !isInRun)) {
      parts.push({
        lane: records.lane[record]!,
        from,
        to,
        function: fn,
        kind: kindOfPart(action),
        strip: held ? 0 : 1,
        tasks: 0,
        record
      });
    }
  });
  const runs: DrawnBox[] = [];
  records.key.forEach((_, record) => {
    if (end[record]! >= begin[record]!) {
      runs.push({
        lane: records.lane[record]!,
        from: begin[record]!,
        to: end[record]!,
        function: records.function[record]!,
        kind: kinds[record]!,
        strip: 0,
        tasks: 1,
        record
      });
    }
  });
  return [...runs, ...parts];
}
