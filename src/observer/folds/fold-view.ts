import type { ViewName, ViewResult } from '../../wire/panel-link';
import type { FoldContext, Honoured, Slices } from './context';
import { foldFineMetrics } from './fine-metrics';
import { foldMemory } from './memory';
import { foldProfile } from './profile';
import { foldProgress } from './progress';
import { foldRecords } from './records';
import { foldSpans } from './spans';
import { foldSummary } from './summary';
import { foldSystem } from './system';
import { foldTaskStream } from './task-stream';
import { foldTasks } from './tasks';
import { foldTransfers } from './transfers';
import { paramsOf } from '../../wire/question';

export type ViewAnswer = {
  readonly result: ViewResult;
  readonly honoured: Honoured;
};

const DIVIDED =
  'Spans were folded while this was counted: some time of one may be counted to another of the same path.';

/** Says of an answer that spans were folded while it was made. */
export function divided({ result, honoured }: ViewAnswer): ViewAnswer {
  const { how, why } = honoured;
  return {
    result:
      result.view === 'fine-metrics'
        ? { ...result, notes: [...(result.notes ?? []), DIVIDED] }
        : result,
    honoured: {
      how: how === 'exact' ? 'approximate' : how,
      why: why === undefined ? DIVIDED : `${why} ${DIVIDED}`
    }
  };
}

/** The answer of a view. Of `params` it takes what {@link paramsOf} knows. */
export function foldView(
  view: ViewName,
  context: FoldContext,
  params: Readonly<Record<string, unknown>>
): Slices<ViewAnswer> {
  switch (view) {
    case 'spans':
      return foldSpans(context, paramsOf(view, params));
    case 'task-stream':
      return foldTaskStream(context);
    case 'tasks':
      return foldTasks(context, paramsOf(view, params));
    case 'records':
      return foldRecords(context, paramsOf(view, params));
    case 'fine-metrics':
      return foldFineMetrics(context, paramsOf(view, params));
    case 'profile':
      return foldProfile(context, paramsOf(view, params));
    case 'memory':
      return foldMemory(context, paramsOf(view, params));
    case 'summary':
      return foldSummary(context);
    case 'transfers':
      return foldTransfers(context);
    case 'system':
      return foldSystem(context);
    case 'progress':
      return foldProgress(context);
  }
}
