import { passesWorker } from '../filter';
import type { FoldContext, Range } from './context';

const WORKER_LOST = 'worker-lost';
const MOST_NOTES = 10;

/** What is missing in the figures: workers tell what they measure at least once a second, and one that dies tells nothing any more. */
export function notesOf(
  { log, filter }: FoldContext,
  { from, to }: Range
): string[] {
  const notes: string[] = [];
  for (const { columns, rows } of log.events.chunks) {
    for (let i = 0; i < rows; i++) {
      const worker = columns.worker[i]!;
      const t = columns.t[i]!;
      if (
        t >= from &&
        t <= to + 1 &&
        passesWorker(filter, worker) &&
        log.name(columns.kind[i]!) === WORKER_LOST
      ) {
        const name = log.shape.workers.get(worker)?.name ?? `worker ${worker}`;
        notes.push(
          `${name} was lost: what it had measured in its last second may be missing.`
        );
      }
    }
  }
  const more = notes.length - MOST_NOTES;
  return [
    ...foldedNotes(filter.spansInSharedRows),
    ...notes.slice(0, MOST_NOTES),
    ...(more > 0 ? [`So it is of ${more} more workers.`] : [])
  ];
}

/** Figures of a folded span are known together with those of the others in its row. */
function foldedNotes(count: number): string[] {
  const [what, where] =
    count === 1
      ? ['A span that was asked for by its id is', 'that row']
      : [`${count} spans that were asked for by their ids are`, 'those rows'];
  return count === 0
    ? []
    : [
        `${what} counted in a row with other finished spans of the same path: the figures are of all in ${where}.`
      ];
}
