import type { FineMetricsResult } from '../../wire/panel-link';
import { ACTIVITIES, type ActivityCells } from '../store/activity-cells';
import type { FoldContext } from './context';
import { cellPasses } from './fine-cells';

/**
 * Parts of tasks that ran behind other work.
 *
 * @param activities - those that are wanted.
 */
export function backgroundOf(
  context: FoldContext,
  cells: ActivityCells,
  activities: readonly string[] = ACTIVITIES
): FineMetricsResult['background'] {
  return ACTIVITIES.map((activity, i) => {
    let ns = 0;
    let bytes = 0;
    let count = 0;
    for (let cell = 0; cell < cells.length; cell++) {
      if (cellPasses(context, cells, cell)) {
        ns += cells.nanoseconds(cell, i);
        bytes += cells.bytes(cell, i);
        count += cells.events(cell, i);
      }
    }
    return {
      activity: activity as string,
      seconds: ns / 1e9,
      // 0 bytes means that bytes were not counted.
      bytes: bytes > 0 ? bytes : null,
      count
    };
  }).filter(
    ({ activity, count }) => count > 0 && activities.includes(activity)
  );
}
