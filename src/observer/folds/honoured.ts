import { NONE_U32 } from '../../records/enumerations';
import type { ViewName } from '../../wire/panel-link';
import { EXACT, type FoldContext, type Honoured } from './context';
import { IN_TASKS } from '../store/fine-sums';
import { isLockWait } from './lock-waits';

/** What a selection may be narrowed by. */
export const CONDITIONS = [
  'time',
  'span',
  'function',
  'worker',
  'status'
] as const;
export type Condition = (typeof CONDITIONS)[number];

type Rule = 'exact' | Honoured;
const WHOLLY = 'exact';
const notKnown = (why: string): Rule => ({ how: 'not known', why });
const approximate = (why: string): Rule => ({ how: 'approximate', why });
const notFiltered = (why: string): Rule => ({ how: 'not filtered', why });

const WORST_FIRST: readonly Honoured['how'][] = ['not known', 'not filtered'];

const wholeRun = notFiltered('These figures are of the whole run.');
const wholeTransfers = notFiltered(
  'What workers fetch of each other is wanted by tasks of any span: it is shown whole.'
);
const wholeProcess = notFiltered(
  'What the system counts for a process is of all that it does.'
);
const wholeTasks = notFiltered(
  'How far tasks are is counted now, and of all workers.'
);
const processMemory = notFiltered(
  'The memory of a process has no owner: it is shown whole.'
);

/**
 * How each view honours each condition, and the sentence for where it is not exact. Conditions that are combined are as exact as the least exact
 * of them. docs/measures.md has the same table for readers; a test compares them, and holds every combination that says "exact" against
 * an account of its own.
 */
export const HONOURED: Readonly<
  Record<
    | Exclude<ViewName, 'memory'>
    | 'fine-metrics: told'
    | 'memory: managed'
    | 'memory: others',
    Readonly<Record<Condition, Rule>>
  >
> = {
  'fine-metrics': {
    time: approximate(
      'Tasks that the range cuts count CPU time in proportion; waiting for the GIL and work outside tasks count by whole seconds.'
    ),
    span: WHOLLY,
    function: WHOLLY,
    worker: WHOLLY,
    status: WHOLLY
  },
  'fine-metrics: told': {
    time: approximate(
      'Dask tells sums without times: they count in the second in which they were told, some seconds after the tasks, and what was there before attaching at the beginning.'
    ),
    span: WHOLLY,
    function: WHOLLY,
    worker: notKnown(
      'Dask adds up what tasks took by span and function, and not by worker.'
    ),
    status: notKnown(
      'Dask adds up what tasks took by span and function, and not by how they ended: all seconds of those that failed are its activity “failed”.'
    )
  },
  'task-stream': {
    time: approximate(
      'The chart marks the range, and the legend counts it; what workers’ heads say is of the whole run.'
    ),
    span: WHOLLY,
    function: WHOLLY,
    worker: WHOLLY,
    status: WHOLLY
  },
  tasks: {
    time: WHOLLY,
    span: WHOLLY,
    function: WHOLLY,
    worker: WHOLLY,
    status: WHOLLY
  },
  records: {
    time: WHOLLY,
    span: WHOLLY,
    function: WHOLLY,
    worker: WHOLLY,
    status: WHOLLY
  },
  profile: {
    time: approximate(
      'Samples are kept by the second: all of each second that the range touches is shown.'
    ),
    span: WHOLLY,
    function: WHOLLY,
    worker: WHOLLY,
    status: notFiltered(
      'Samples do not record how a task ends: those of all tasks are shown.'
    )
  },
  'memory: managed': {
    time: WHOLLY,
    span: WHOLLY,
    function: WHOLLY,
    worker: WHOLLY,
    status: notFiltered('Results that are kept have no status.')
  },
  'memory: others': {
    time: WHOLLY,
    span: processMemory,
    function: processMemory,
    worker: WHOLLY,
    status: processMemory
  },
  spans: {
    time: wholeRun,
    span: wholeRun,
    function: wholeRun,
    worker: wholeRun,
    status: wholeRun
  },
  summary: {
    time: wholeRun,
    span: wholeRun,
    function: wholeRun,
    worker: wholeRun,
    status: wholeRun
  },
  transfers: {
    time: WHOLLY,
    span: wholeTransfers,
    function: wholeTransfers,
    worker: WHOLLY,
    status: wholeTransfers
  },
  system: {
    time: WHOLLY,
    span: wholeProcess,
    function: wholeProcess,
    worker: WHOLLY,
    status: wholeProcess
  },
  progress: {
    time: wholeTasks,
    span: WHOLLY,
    function: WHOLLY,
    worker: wholeTasks,
    status: wholeTasks
  }
};

/** Why figures are not exact: rows of a table are gone, or a view has a limit of its own. */
const EXCEPTIONS = {
  runs: approximate('The oldest tasks are kept only as totals.'),
  parts: approximate('The parts of the oldest tasks are kept only as totals.'),
  fine: approximate(
    'The oldest measurements of workers are kept only as totals.'
  ),
  samples: approximate('The oldest samples are forgotten.'),
  samplesOfDask: approximate(
    'Dask’s workers tell samples by function and second: which span had them is estimated.'
  ),
  memory: approximate('The oldest measurements of memory are forgotten.'),
  memorySamples: approximate(
    'The oldest samples of recorded runs are forgotten.'
  ),
  lockByStatus: approximate(
    'How long tasks waited for the GIL is not known by status: it is part of "blocked" here.'
  ),
  meters: approximate(
    'The oldest figures that tasks measured themselves are kept only as totals.'
  ),
  metersByStatus: approximate(
    'What tasks measured themselves is not known by status.'
  ),
  storedDropped: approximate('The oldest changes of results are forgotten.'),
  transfers: approximate('The oldest transfers are forgotten.'),
  system: approximate('The oldest figures of processes are forgotten.'),
  progressNotTold: approximate(
    'The source does not tell how far tasks are: runs are counted, a task each time that it ran.'
  ),
  progressOthers: approximate(
    'Functions and spans came when there were 65,535 of them together: their tasks are under “others”, in no span.'
  ),
  recordedRuns: approximate('Recorded runs are shown whole, of all workers.')
} as const satisfies Record<string, Rule>;

export type Exception = Exclude<keyof typeof EXCEPTIONS, BoundedTable>;

type BoundedTable =
  | 'runs'
  | 'parts'
  | 'fine'
  | 'meters'
  | 'samples'
  | 'memory'
  | 'memorySamples'
  | 'transfers'
  | 'system';

/** The tables whose rows a view reads, always or under any condition. Totals forget nothing, so they are not listed. */
const FROM_ROWS: Readonly<
  Record<
    keyof typeof HONOURED,
    {
      readonly always: readonly BoundedTable[];
      readonly narrowed: readonly BoundedTable[];
    }
  >
> = {
  'fine-metrics': { always: ['runs'], narrowed: ['parts', 'fine', 'meters'] },
  'fine-metrics: told': { always: ['runs'], narrowed: ['parts', 'fine'] },
  'task-stream': { always: [], narrowed: ['runs', 'parts'] },
  tasks: { always: ['runs'], narrowed: ['parts'] },
  records: { always: ['runs', 'parts'], narrowed: [] },
  profile: { always: ['samples'], narrowed: [] },
  'memory: managed': { always: ['memory', 'memorySamples'], narrowed: [] },
  'memory: others': { always: ['memory', 'memorySamples'], narrowed: [] },
  spans: { always: [], narrowed: [] },
  summary: { always: [], narrowed: [] },
  transfers: { always: ['transfers'], narrowed: [] },
  system: { always: ['system'], narrowed: [] },
  progress: { always: [], narrowed: [] }
};

function goneRows(
  view: keyof typeof HONOURED,
  { log }: FoldContext,
  isNarrowed: boolean
): BoundedTable[] {
  const { always, narrowed } = FROM_ROWS[view];
  return [...always, ...(isNarrowed ? narrowed : [])].filter(table =>
    table === 'runs' ? log.droppedRuns > 0 : log[table].firstRow > 0
  );
}

/** The conditions of a question. */
function conditionsOf({ filter, time }: FoldContext): Condition[] {
  const { bySpan, byFunction, byWorker, byStatus } = filter;
  const used: Readonly<Record<Condition, boolean>> = {
    time: time !== 'all',
    span: bySpan,
    function: byFunction,
    worker: byWorker,
    status: byStatus
  };
  return CONDITIONS.filter(condition => used[condition]);
}

/** @param exceptions - what makes this answer less exact than the table says. */
export function honouredBy(
  view: keyof typeof HONOURED,
  context: FoldContext,
  exceptions: readonly Exception[] = []
): Honoured {
  const conditions = conditionsOf(context);
  const gone = goneRows(view, context, conditions.length > 0);
  const inferred = HONOURED[view].span === WHOLLY ? inferredShare(context) : 0;
  const rules: readonly Rule[] = [
    ...(inferred === 0
      ? []
      : [context.log.knowsSpans ? ofInferred(inferred) : spansNotTold]),
    ...conditions.map(condition => HONOURED[view][condition]),
    ...[...gone, ...exceptions].map(name => EXCEPTIONS[name])
  ];
  const limits = rules.filter(rule => rule !== WHOLLY);
  if (limits.length === 0) {
    return EXACT;
  }
  const worst =
    WORST_FIRST.find(word => limits.some(({ how }) => how === word)) ??
    'approximate';
  return {
    how: worst,
    why: [...new Set(limits.map(({ why }) => why))].join(' ')
  };
}

/** Of the time of the spans that are chosen, on a cluster that gives spans itself. */
function inferredShare({ log, filter }: FoldContext): number {
  return log.hasGivenSpans && filter.bySpan
    ? log.inferredTime.share(span => filter.spans[span] === 1)
    : 0;
}

const spansNotTold = approximate(
  'The scheduler does not tell in which spans its tasks are.'
);

function ofInferred(share: number): Rule {
  const percent =
    share < 0.01 ? 'Less than 1 %' : `${Math.floor(share * 100)} %`;
  return approximate(
    `${percent} of the time of these spans is inferred: Dask gives a task the span of its group’s first task, and a fused task one span or none.`
  );
}

/** Why a selection has no sums that were told; '': it has. */
export function whyNotKnown(context: FoldContext): string {
  return conditionsOf(context)
    .map(condition => HONOURED['fine-metrics: told'][condition])
    .flatMap(rule =>
      rule !== WHOLLY && rule.how === 'not known' ? [rule.why] : []
    )
    .join(' ');
}

/** Whether rows of `fine` tell what tasks measured themselves: those that have a function and are neither estimates of waits nor counts of inputs. */
export function hasMeters({ log }: FoldContext): boolean {
  for (const row of log.fineSums.all()) {
    if (
      row.function !== NONE_U32 &&
      !isLockWait(log, row.context) &&
      log.name(row.context) !== IN_TASKS
    ) {
      return true;
    }
  }
  return false;
}
