import type { ViewName, ViewResult } from '../../wire/panel-link';
import type { FoldContext, Honoured, Slices } from './context';
import { foldFineMetrics } from './fine-metrics';
import { foldMemory } from './memory';
import { foldProfile } from './profile';
import { foldRecords } from './records';
import { foldSpans } from './spans';
import { foldSummary } from './summary';
import { foldTaskStream } from './task-stream';
import { foldTasks } from './tasks';

export type ViewAnswer = {
  readonly result: ViewResult;
  readonly honoured: Honoured;
};

/** The answer of a view. `params` come from a viewer: each fold takes what it knows, of the type that it expects, and leaves the rest. */
export function foldView(
  view: ViewName,
  context: FoldContext,
  params: Readonly<Record<string, unknown>>
): Slices<ViewAnswer> {
  const given = {
    unit: textOf(params['unit']),
    top: numberOf(params['top']),
    entries: params['entries'] === true,
    sort: textOf(params['sort']),
    descending: params['descending'] === true,
    offset: numberOf(params['offset']),
    limit: numberOf(params['limit']),
    end: numberOf(params['end']),
    search: textOf(params['search']),
    groupBy: textOf(params['groupBy']),
    order: textOf(params['order']),
    maxNodes: numberOf(params['maxNodes']),
    measure: textOf(params['measure']),
    show: textOf(params['show'])
  };
  switch (view) {
    case 'spans':
      return foldSpans(context);
    case 'task-stream':
      return foldTaskStream(context);
    case 'tasks':
      return foldTasks(context, given);
    case 'records':
      return foldRecords(context, {
        after: pairOf(params['after']),
        end: given.end,
        limit: given.limit,
        newest: params['newest'] === true
      });
    case 'fine-metrics':
      return foldFineMetrics(context, given);
    case 'profile':
      return foldProfile(context, given);
    case 'memory':
      return foldMemory(context, given);
    case 'summary':
      return foldSummary(context);
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value)
    ? value
    : undefined;
}

/** Two whole numbers from 0 on. */
function pairOf(value: unknown): readonly [number, number] | undefined {
  const [first, second]: readonly unknown[] = Array.isArray(value) ? value : [];
  return isPlace(first) && isPlace(second) ? [first, second] : undefined;
}

function isPlace(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
