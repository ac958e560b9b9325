import type { SummaryResult } from '../../wire/panel-link';
import type { FoldContext, Honoured, Slices } from './context';
import { honouredBy } from './honoured';
import { spanRows } from './spans';

/** The spans, and the totals that they must add up to. */
export function* foldSummary(
  context: FoldContext
): Slices<{ readonly result: SummaryResult; readonly honoured: Honoured }> {
  const { rows, unattributedNanoseconds, totalNanoseconds, idle } =
    yield* spanRows(context);
  return {
    result: {
      view: 'summary',
      spans: rows,
      wallSeconds: idle.wallSeconds,
      capacitySeconds: idle.capacitySeconds,
      executeSeconds: idle.executeSeconds,
      idleSeconds: idle.idle.reduce((sum, seconds) => sum + seconds, 0),
      unattributedNanoseconds,
      totalNanoseconds
    },
    honoured: honouredBy('summary', context)
  };
}
