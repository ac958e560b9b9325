/**
 * The exact sentences of a panel's states: what to show instead of figures, and the strips above them. Pure functions of the feed's and
 * the cluster's state, so that each sentence is tested without a browser.
 */
import type { TranslationBundle } from '@jupyterlab/translation';
import { filterIcon, type LabIcon, stopIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import type { ClusterRef, ClusterTarget } from '../feed/cluster-ref';
import type { LinkStatus } from '../feed/feed-types';
import {
  type Condition,
  conditionsOf,
  fileName,
  termWords
} from '../feed/selection';
import { conditionText, termText } from './chip-row';
import type { ClusterInfo, ViewResult } from '../wire/panel-link';
import { formatClock, formatCount, formatDuration } from './format';
import { warningIcon } from './icons';
import { MarkedText, ToldText } from './marked-text';
import type { ClusterOffer } from './panel-context';
import type { Asked } from './panel-watch';
import {
  copyButton,
  type PanelState,
  type PanelStrip,
  type StateButton
} from './state-view';
import {
  remedy,
  waitingCount,
  waitingStrips,
  waitsInVain,
  whyNoneRuns
} from './waiting';
import { type ClusterWorker, heldUp } from './worker-standing';

/** What starts a cluster, and whose class that is: Dask has one of the same name. */
const START = 'client = Client()';
const IMPORT = 'from spanwise import Client';
/** Workers that are named in the details of a strip. */
const MOST_NAMED = 4;

/** The state of a link that gives no figures, or null. */
export function linkState(
  status: LinkStatus,
  trans: TranslationBundle,
  actions: { readonly reload: () => void; readonly tryAgain: () => void }
): PanelState | null {
  switch (status.kind) {
    case 'version':
      return {
        icon: warningIcon,
        title: trans.__('This page is older than the server.'),
        sentence: status.sentence,
        buttons: [{ label: trans.__('Reload'), onClick: actions.reload }],
        broken: true
      };
    case 'no-node':
    case 'refused':
    case 'unreachable':
      return {
        icon: warningIcon,
        title: {
          'no-node': trans.__('Spanwise needs Node.js.'),
          refused: trans.__('The server refused the connection.'),
          unreachable: trans.__('No connection to the server.')
        }[status.kind],
        sentence: status.sentence,
        buttons: [{ label: trans.__('Try again'), onClick: actions.tryAgain }],
        broken: true
      };
    case 'connecting':
      return {
        title: trans.__('Connecting to the server…'),
        sentence: trans.__('Figures appear here by themselves.')
      };
    case 'open':
    case 'reconnecting':
    // The observer starts with the first cluster: without an observer there is no cluster.
    case 'no-observer':
      return null;
  }
}

/**
 * Whether an answer has figures of tasks, though none was seen: a Dask cluster has sums and samples of what ran before it was attached to,
 * and its tasks are not told of later.
 */
function hasUnseenTasks(result: ViewResult | null): boolean {
  // (also of others than filter and range leave)
  switch (result?.view) {
    case 'fine-metrics':
      return (
        result.totalNanoseconds > 0 ||
        (result.hiddenSeconds ?? 0) > 0 ||
        result.notKnown !== undefined
      );
    case 'profile':
      return result.samples > 0 || (result.hidden ?? 0) > 0;
    default:
      return false;
  }
}

/** No cluster, or one that has not yet run anything. `offer`: what could be shown, if there is none; `show`: shows another one. */
export function clusterState(
  { current: cluster, elsewhere, target, isAwaiting }: ClusterRef,
  icon: LabIcon,
  trans: TranslationBundle,
  {
    offer = null,
    show,
    result = null
  }: {
    readonly offer?: ClusterOffer | null | undefined;
    readonly show?: (cluster: ClusterInfo) => void;
    /** What the panel has of the cluster. */
    readonly result?: ViewResult | null;
  } = {}
): PanelState | null {
  if (cluster === null && isAwaiting) {
    return {
      icon,
      title: trans.__(
        'Waiting for the cluster of %1…',
        target.notebook ?? target.name ?? ''
      ),
      sentence: trans.__(
        'The page has not heard of it yet. It appears here by itself.'
      )
    };
  }
  if (cluster === null && offer !== null) {
    return offerState(offer, icon, trans);
  }
  if (cluster === null && elsewhere !== null) {
    return {
      icon,
      title: trans.__(
        'No cluster of %1 is running.',
        target.notebook ?? target.name ?? ''
      ),
      sentence:
        elsewhere.state === 'ended' ? (
          <>
            {elsewhereSentence(elsewhere, trans)} {startSentence(trans)}
          </>
        ) : (
          elsewhereSentence(elsewhere, trans)
        ),
      ...(show !== undefined && {
        buttons: [
          {
            label: trans.__('Show %1 here', elsewhere.name),
            hint: trans.__('In all open panels, except those that are pinned.'),
            onClick: () => show(elsewhere)
          }
        ]
      })
    };
  }
  if (cluster === null) {
    return {
      icon,
      title: trans.__('No cluster is running.'),
      sentence: startSentence(trans)
    };
  }
  // (what users are told of tasks that wait says more: that none is being started, or that none has come)
  if (
    cluster.state === 'starting' &&
    waitingStrips(cluster, trans).length === 0
  ) {
    const ready = cluster.workers.filter(isReady).length;
    return {
      icon,
      title: trans.__('Starting %1…', cluster.name),
      sentence: trans.__(
        '%1 of %2 workers are ready.',
        ready,
        cluster.workers.length
      )
    };
  }
  // Of a cluster of before it is not known whether something has run.
  const hasRun = cluster.running > 0 || cluster.runs !== 0;
  if (!hasRun && waitsInVain(cluster)) {
    const count = waitingCount(cluster);
    const command = remedy(cluster);
    return {
      icon,
      title: trans._n(
        '%2 task waits, none has run yet.',
        '%2 tasks wait, none has run yet.',
        count,
        formatCount(count)
      ),
      sentence:
        command === null ? (
          whyNoneRuns(cluster, trans)
        ) : (
          <ToldText text={whyNoneRuns(cluster, trans)} commands={[command]} />
        ),
      ...(command !== null && { buttons: [copyButton(command, trans)] }),
      tellsWhatWaits: true
    };
  }
  if (cluster.tasks === 0 && cluster.running === 0 && !hasUnseenTasks(result)) {
    const ready = cluster.workers.filter(isReady).length;
    return {
      icon,
      title:
        cluster.state === 'ended'
          ? cluster.unwatched === true
            ? trans.__('No task was seen.')
            : trans.__('No task ran.')
          : trans.__('No tasks yet.'),
      sentence:
        cluster.state === 'ended'
          ? cluster.unwatched === true
            ? trans.__('%1 ran no task while it was watched.', cluster.name)
            : trans.__('%1 ended before it ran a task.', cluster.name)
          : cluster.kind === 'local'
            ? trans.__(
                '%1 observes computations without a cluster: their tasks appear here as they start.',
                cluster.name
              )
            : trans._n(
                '%1 worker of %2 is ready. Tasks appear here as they start.',
                '%1 workers of %2 are ready. Tasks appear here as they start.',
                ready,
                cluster.name
              )
    };
  }
  return null;
}

/** What to do where nothing runs. */
function startSentence(trans: TranslationBundle): JSX.Element {
  return (
    <MarkedText
      text={trans.__('Run %1 in a notebook, after %2.', START, IMPORT)}
      piece={[START, IMPORT]}
      as="code"
    />
  );
}

/** What can be looked at, while the target itself has nothing. */
function elsewhereSentence(
  { name, kind, state, unwatched }: ClusterInfo,
  trans: TranslationBundle
): string {
  if (state !== 'ended') {
    return trans.__('%1 is running elsewhere.', name);
  }
  if (unwatched === true) {
    return trans.__(
      '%1 is not watched any more, and its history is kept.',
      name
    );
  }
  return kind === 'local'
    ? trans.__('The observation %1 has ended, and its history is kept.', name)
    : trans.__('%1 has ended, and its history is kept.', name);
}

/** The notebook has a Dask cluster: it is shown by a click, here as in the sidebar. */
function offerState(
  offer: ClusterOffer,
  icon: LabIcon,
  trans: TranslationBundle
): PanelState {
  const { address, isUnderWay, problem } = offer;
  const button = {
    label: isUnderWay ? trans.__('Attaching…') : trans.__('Show'),
    onClick: () => offer.show(),
    ...(isUnderWay && { disabledBecause: trans.__('it is being attached to') })
  };
  return {
    icon,
    title:
      problem === undefined
        ? trans.__('A Dask cluster is not shown yet.')
        : trans.__('The cluster is not shown.'),
    sentence: problem ?? trans.__('The notebook is connected to %1.', address),
    buttons: [button]
  };
}

function isReady(worker: ClusterInfo['workers'][number]): boolean {
  return worker.state !== 'starting';
}

/** What filter and range leave out where they leave nothing. */
export type Hidden = {
  /** How much; 0: it is not known. */
  readonly hidden: number;
  /** Of what; task runs if left out. */
  readonly of?: 'samples' | 'seconds' | 'transfers' | 'tasks';
  /** The conditions that narrow it; all if left out. */
  readonly by?: readonly Condition['kind'][];
  /** Why something may come yet, or why little is to be expected. */
  readonly hint?: string;
};

/**
 * The filter leaves nothing: says how much is hidden, by which conditions, and lifts them by a button.
 *
 * @param answered - what the answer is to that has nothing.
 */
export function filterEmptyState(
  answered: Asked,
  empty: Hidden,
  trans: TranslationBundle,
  lift: StateButton
): PanelState {
  const { hint = '', by } = empty;
  return {
    icon: filterIcon,
    title: emptyTitle(empty, trans),
    sentence: [
      hiddenSentence(empty, trans),
      (empty.of === undefined && noTaskSentence(answered, trans)) ||
        trans.__(
          'The filter: %1.',
          conditionsOf(answered)
            .filter(({ kind }) => by === undefined || by.includes(kind))
            .map(condition => conditionText(condition, trans))
            .join(', ')
        ),
      hint
    ]
      .filter(sentence => sentence !== '')
      .join(' '),
    buttons: [lift]
  };
}

function emptyTitle({ of }: Hidden, trans: TranslationBundle): string {
  switch (of) {
    case 'samples':
      return trans.__('The filter matches no sample.');
    case 'seconds':
      return trans.__('The filter matches no figures.');
    case 'transfers':
      return trans.__('The filter matches no transfer.');
    case 'tasks':
    case undefined:
      return trans.__('The filter matches no task.');
  }
}

function hiddenSentence(
  { hidden, of }: Hidden,
  trans: TranslationBundle
): string {
  if (hidden <= 0) {
    return '';
  }
  const count = formatCount(hidden);
  switch (of) {
    case 'samples':
      return trans._n(
        '%2 sample is hidden.',
        '%2 samples are hidden.',
        hidden,
        count
      );
    case 'transfers':
      return trans._n(
        '%2 transfer is hidden.',
        '%2 transfers are hidden.',
        hidden,
        count
      );
    case 'seconds':
      return trans.__('%1 of thread time are hidden.', formatDuration(hidden));
    case 'tasks':
      return trans._n(
        '%2 task is hidden.',
        '%2 tasks are hidden.',
        hidden,
        count
      );
    case undefined:
      return trans._n(
        '%2 task run is hidden.',
        '%2 task runs are hidden.',
        hidden,
        count
      );
  }
}

/** Which conditions exclude each other, if these are all: of several it is not known which one leaves nothing. */
function noTaskSentence(answered: Asked, trans: TranslationBundle): string {
  const { functions, spans } = answered.filter;
  const name = functions?.length === 1 ? functions[0] : undefined;
  const span =
    spans?.any?.length === 1 && spans.any[0]
      ? termText(termWords(spans.any[0]), trans)
      : undefined;
  const told = [name, span].filter(each => each !== undefined);
  if (told.length !== conditionsOf(answered).length) {
    return '';
  }
  return name !== undefined && span !== undefined
    ? trans.__('No task of “%1” is in span “%2”.', name, span)
    : span !== undefined
      ? trans.__('No task is in span “%1”.', span)
      : trans.__('No task of “%1” ran.', name ?? '');
}

/** Workers that begin no task: how many, why, and what to do. */
function heldUpStrips(
  cluster: ClusterInfo | null,
  trans: TranslationBundle
): PanelStrip[] {
  const { paused, stopped, present } = heldUp(cluster);
  const list: PanelStrip[] = [];
  const label = trans.__('What to do');
  if (paused.length > 0) {
    list.push({
      key: 'paused',
      tone: 'warning',
      sentence: trans._n(
        '%2 of %1 worker paused: memory full.',
        '%2 of %1 workers paused: memory full.',
        present,
        paused.length
      ),
      details: {
        label,
        lines: [
          trans.__(
            'A paused worker begins no task until its memory is below 80 % of its limit.'
          ),
          ...named(paused, trans),
          trans.__(
            'Release results that you need no more (del the variables that hold them) and what tasks keep in globals and caches, compute in smaller chunks, or give workers more memory: Client(memory_limit=…).'
          )
        ]
      }
    });
  }
  if (stopped.length > 0) {
    list.push({
      key: 'stopped',
      tone: 'warning',
      sentence: trans._n(
        '%2 of %1 worker stopped.',
        '%2 of %1 workers stopped.',
        present,
        stopped.length
      ),
      details: {
        label,
        lines: [
          trans.__(
            'A signal (SIGSTOP) or a debugger stopped it. It is given nothing to do until it goes on (SIGCONT).'
          ),
          ...named(stopped, trans)
        ]
      }
    });
  }
  return list;
}

/** "worker-0: 321 of 400 MiB are in use (…)." */
function named(
  workers: readonly ClusterWorker[],
  trans: TranslationBundle
): string[] {
  const lines = workers
    .slice(0, MOST_NAMED)
    .map(({ name, why }) => (why === undefined ? name : `${name}: ${why}.`));
  const more = workers.length - MOST_NAMED;
  return more > 0 ? [...lines, trans.__('… and %1 more.', more)] : lines;
}

/** Of what the next run is followed; a notebook by the last part of its path. */
function nextRunWords(
  { notebook, name }: ClusterTarget,
  trans: TranslationBundle
): { readonly label: string; readonly hint: string } {
  if (notebook === undefined && name === undefined) {
    return {
      label: trans.__('Follow the next run'),
      hint: trans.__(
        'Shows the next cluster here. Others are chosen in the sidebar, under Cluster.'
      )
    };
  }
  const file = fileName(notebook ?? '');
  if (name === undefined) {
    return {
      label: trans.__('Follow the next run of %1', file),
      hint: trans.__(
        'Shows the next cluster of %1 here. Others are chosen in the sidebar, under Cluster.',
        notebook ?? ''
      )
    };
  }
  return notebook === undefined
    ? {
        label: trans.__('Follow the next run of %1', name),
        hint: trans.__(
          'Shows the next cluster that is called %1 here. Others are chosen in the sidebar, under Cluster.',
          name
        )
      }
    : {
        label: trans.__('Follow the next run of %1, %2', file, name),
        hint: trans.__(
          'Shows the next cluster of %1 that is called %2 here. Others are chosen in the sidebar, under Cluster.',
          notebook,
          name
        )
      };
}

/** Remarks above the figures: the link is down, workers are paused, the cluster ended, old tasks are only totals. */
export function strips(
  options: {
    readonly status: LinkStatus;
    readonly cluster: ClusterInfo | null;
    /** What it is called where the panel shows another one, too. */
    readonly name?: string | undefined;
    readonly hasFigures: boolean;
    /** Seconds since the start up to which the figures go, if they say so. */
    readonly figuresTo: number | null;
    /** Since when the observer no longer lists the cluster, wall clock milliseconds; null while it does. */
    readonly missingSince?: number | null;
    /** A newer cluster of the same notebook is expected. */
    readonly isAwaiting?: boolean;
    readonly failure: string | null;
    /** What stands in place of the figures says what waits in vain. */
    readonly tellsWhatWaits?: boolean;
    /** What the panel says of its own figures; '': nothing. */
    readonly remark?: string;
    readonly now: number;
    readonly follows: boolean;
    /** What the panel is tied to. */
    readonly target: ClusterTarget;
  },
  trans: TranslationBundle,
  actions: {
    readonly reconnect: () => void;
    readonly setFollows: (follows: boolean) => void;
  }
): PanelStrip[] {
  const { status, cluster, figuresTo, now } = options;
  const list: PanelStrip[] = [];
  const isMissing = cluster !== null && (options.missingSince ?? null) !== null;
  const isEnded = cluster?.state === 'ended';
  const upTo =
    figuresTo === null
      ? ''
      : isEnded
        ? ` ${trans.__('Figures are from %1.', formatDuration(figuresTo))}`
        : ` ${trans.__('Figures are from %1; your computation goes on.', formatDuration(figuresTo))}`;
  const goesOn = isEnded ? '' : ` ${trans.__('Your computation goes on.')}`;
  if (status.kind === 'reconnecting') {
    const seconds = Math.max(0, Math.round((now - status.since) / 1000));
    list.push({
      key: 'link',
      tone: 'warning',
      sentence: trans.__('Reconnecting (%1 s).', seconds) + upTo,
      button: { label: trans.__('Try now'), onClick: actions.reconnect }
    });
  } else if ('sentence' in status && options.hasFigures) {
    list.push({
      key: 'link',
      tone: 'warning',
      sentence: status.sentence + (upTo || goesOn),
      button: { label: trans.__('Try now'), onClick: actions.reconnect }
    });
  } else if (isMissing && isEnded) {
    list.push({
      key: 'missing',
      tone: 'warning',
      sentence: trans.__(
        'The observer was restarted and no longer has this history. You see the figures that this page still has.'
      )
    });
  } else if (isMissing && options.failure === null) {
    const seconds = Math.max(
      0,
      Math.round((now - (options.missingSince ?? now)) / 1000)
    );
    list.push({
      key: 'link',
      tone: 'warning',
      sentence: trans.__('Reconnecting (%1 s).', seconds) + upTo
    });
  } else if (cluster?.state === 'reconnecting') {
    list.push({
      key: 'cluster',
      tone: 'warning',
      sentence: cluster.why ?? trans.__('Reconnecting.') + upTo
    });
  } else {
    list.push(
      ...heldUpStrips(cluster, trans),
      ...(cluster === null || options.tellsWhatWaits === true
        ? []
        : waitingStrips(cluster, trans))
    );
  }
  if (cluster !== null && options.isAwaiting === true) {
    list.push({
      key: 'awaiting',
      tone: 'neutral',
      sentence: trans.__(
        'Waiting for the new cluster to appear on this page. These figures are of the previous cluster.'
      )
    });
  }
  if (cluster?.state === 'ended') {
    const sentence =
      cluster.why ??
      (cluster.endedAt === undefined
        ? trans.__('Ended. The history is kept.')
        : trans.__(
            'Ended at %1. The history is kept.',
            formatClock(cluster.endedAt, now / 1000)
          ));
    list.push({
      key: 'ended',
      icon: stopIcon,
      tone: 'neutral',
      sentence:
        options.name === undefined
          ? sentence
          : trans.__('%1: %2', options.name, sentence),
      // (a panel that stays with one cluster goes on to none)
      ...(options.target.cluster !== cluster.cluster && {
        button: {
          ...nextRunWords(options.target, trans),
          short: trans.__('Next run'),
          pressed: options.follows,
          onClick: () => actions.setFollows(!options.follows)
        }
      })
    });
  }
  if (options.failure !== null && !(isMissing && isEnded)) {
    list.push({
      key: 'failure',
      tone: 'warning',
      sentence: options.failure
    });
  }
  if (cluster?.dropped) {
    list.push({ key: 'dropped', tone: 'neutral', sentence: cluster.dropped });
  }
  if (options.remark) {
    list.push({ key: 'remark', tone: 'neutral', sentence: options.remark });
  }
  return list;
}
