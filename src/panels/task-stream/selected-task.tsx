/** The drawer under the lanes: the selected task whole, what its time went into, and what can be done with it. */
import { Clipboard } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { copyIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { RunDetail } from '../../wire/panel-link';
import { Drawer } from '../drawer';
import { useFocusThatStays } from '../focus-that-stays';
import {
  formatBytes,
  formatDuration,
  formatInstant,
  lostSentence
} from '../format';
import type { PanelContext } from '../panel-context';
import { type Mark, markOf, Swatch } from '../mark';
import { ToolButton } from '../toolbar';
import { errorHead } from './error-head';
import { ErrorHeadText } from './error-head-text';
import { passesFilter } from './task-query';
import type { TaskStreamModel } from './model';
import {
  attemptText,
  cancelledAtText,
  cellText,
  fusedWith,
  measuredText,
  type PartRow,
  partRows,
  placeText,
  threadText,
  waitForOthersText,
  waitText
} from './rows';

type Slots = TaskStreamModel['slots'];

type Answer =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly sentence: string }
  | { readonly kind: 'run'; readonly run: RunDetail };

export function SelectedTask(props: {
  readonly context: PanelContext;
  /** The colours of functions. */
  readonly slots: Slots;
  readonly trans: TranslationBundle;
  /** By which the drawer is made larger or smaller. */
  readonly edge?: React.ReactNode;
  onShow(run: RunDetail): void;
  /** What is known of the selected run; null: nothing. */
  onRun?(run: RunDetail | null): void;
}): JSX.Element | null {
  const { context, trans } = props;
  const { selection, feed, cluster } = context;
  const run = useShownRun(context);
  const clicked = useClickedFunction(context);
  const [answer, setAnswer] = React.useState<Answer>({ kind: 'waiting' });
  const clusterId = cluster.current?.cluster;
  React.useEffect(() => {
    if (run === null || clusterId === undefined) {
      return;
    }
    let isWanted = true;
    const set = (next: Answer) => isWanted && setAnswer(next);
    feed.detail(clusterId, run).then(
      detail =>
        set(detail === null ? { kind: 'gone' } : { kind: 'run', run: detail }),
      (error: Error) => set({ kind: 'failed', sentence: error.message })
    );
    return () => {
      isWanted = false;
    };
  }, [feed, clusterId, run]);
  const { onRun } = props;
  const known = run !== null && answer.kind === 'run' ? answer.run : null;
  React.useEffect(() => onRun?.(known), [known, onRun]);
  const drawer = React.useRef<HTMLElement>(null);
  useFocusThatStays(drawer, '.sw-TaskStream', () => [
    '.sw-drawer-body',
    '.sw-drawer-tools button',
    '.sw-TaskStream-lanes'
  ]);
  if (run === null) {
    return null;
  }
  return (
    <Drawer
      elementRef={drawer}
      label={trans.__('Selected task')}
      edge={props.edge}
      tools={
        answer.kind === 'run' && (
          <ToolButton
            label={trans.__('Copy key')}
            icon={copyIcon}
            // (there is no `navigator.clipboard` where Jupyter is reached over http, from another machine)
            onClick={() => Clipboard.copyToSystem(answer.run.key)}
          />
        )
      }
      trans={trans}
      onClose={() => selection.select(null)}
    >
      {answer.kind === 'run' ? (
        <RunFacts
          run={answer.run}
          slots={props.slots}
          trans={trans}
          onShow={() => props.onShow(answer.run)}
          clicked={clicked}
          onFilter={name => selection.toggleFunction(name)}
        />
      ) : (
        <div className="sw-drawer-note">
          {answer.kind === 'gone'
            ? trans.__('This task is kept only as part of the totals.')
            : answer.kind === 'failed'
              ? answer.sentence
              : ''}
        </div>
      )}
    </Drawer>
  );
}

/** That of the part of the selected run on which the click was; undefined: the run itself was selected. */
function useClickedFunction({ selection }: PanelContext): string | undefined {
  const now = () =>
    selection.selected?.kind === 'run'
      ? selection.selected.function
      : undefined;
  const [clicked, setClicked] = React.useState(now);
  React.useEffect(() => {
    const look = () => setClicked(now());
    selection.changed.connect(look);
    look();
    return () => {
      selection.changed.disconnect(look);
    };
  }, [selection]);
  return clicked;
}

/**
 * The selected run. One that was selected before the chart was there and under another filter, or that a panel finds selected when it
 * returns to a cluster, is shown if it passes the filter that there is now. Else it is hidden here, and selected still: other panels may
 * show it.
 */
function useShownRun(context: PanelContext): number | null {
  const { selection } = context;
  const mayShow = () => !selection.isFiltered || selection.isAsSelected;
  const [run, setRun] = React.useState(() =>
    mayShow() ? selection.selectedRun : null
  );
  React.useEffect(() => {
    let isEnded = false;
    let shown: number | null = null;
    let answers = new PassAnswers(null);
    const show = (next: number | null) => {
      shown = next;
      setRun(next);
    };
    const look = () => {
      const had = selection.selectedRun;
      if (had !== answers.run) {
        answers = new PassAnswers(had);
      }
      if (had === null || mayShow()) {
        show(had);
        return;
      }
      const under = askedText(selection);
      const passes = answers.get(under);
      if (passes !== undefined) {
        // (also where it has been shown meanwhile, without this filter)
        show(passes === true ? had : null);
      } else if (had !== shown) {
        show(null);
        ask(had, under, answers);
      }
    };
    const ask = (of: number, under: string, into: PassAnswers) => {
      into.set(under, 'asked');
      const end = (passes: boolean, isAnswered: boolean) => {
        const isStill = into === answers && under === askedText(selection);
        if (isAnswered && isStill) {
          into.set(under, passes);
        } else {
          into.delete(under);
        }
        if (isStill && !isEnded) {
          show(passes ? of : null);
        }
      };
      // Without an answer the drawer says why there is none.
      passesFilter(context, of).then(
        passes => end(passes, true),
        () => end(true, false)
      );
    };
    selection.changed.connect(look);
    // Between the drawing and this the selection may have changed, and it may be that of another cluster.
    show(mayShow() ? selection.selectedRun : null);
    look();
    return () => {
      isEnded = true;
      selection.changed.disconnect(look);
    };
  }, [context, selection]);
  return run;
}

/** Whether a run passes filters, by {@link askedText}: each is asked for once, and goes on to hide the run where it did. */
class PassAnswers extends Map<string, boolean | 'asked'> {
  constructor(readonly run: number | null) {
    super();
  }
}

function askedText({ filter, time }: PanelContext['selection']): string {
  return JSON.stringify([filter, time]);
}

function RunFacts(props: {
  readonly run: RunDetail;
  readonly slots: Slots;
  readonly trans: TranslationBundle;
  /** The function of the part on which the click was. */
  readonly clicked?: string | undefined;
  onShow(): void;
  onFilter(name: string): void;
}): JSX.Element {
  const { run, slots, trans } = props;
  const parts = partRows(run, trans);
  const held = parts.filter(part => part.held);
  const total = held.reduce((sum, part) => sum + part.seconds, 0) || 1;
  const cancelled = cancelledAtText(run, trans);
  const waits = waitText(run, trans);
  const waitsForOthers = waitForOthersText(run, trans);
  const fused = fusedWith(run);
  const own = props.clicked ?? run.function;
  const measured = measuredText(run, trans);
  const duration = formatDuration(run.duration);
  // What one looks for comes first, as a drawer in a low panel shows three lines: what failed, how long it took, and what for.
  const head = run.error === undefined ? null : errorHead(run.error, trans);
  return (
    <>
      {/* It scrolls, so that it must be reached by keyboard; the buttons below it stay where they are. */}
      <div
        className="sw-drawer-body"
        role="group"
        aria-label={trans.__('Facts of the task')}
        tabIndex={0}
      >
        <div className="sw-drawer-title">
          <strong>{run.function}</strong>{' '}
          {fused.length > 0 && `${trans.__('with %1', fused.join(', '))} `}
          <code>{run.key}</code>
        </div>
        {head !== null && (
          <ErrorHeadText head={head} className="sw-drawer-error" />
        )}
        {run.lost !== undefined && (
          <div className="sw-drawer-where">{lostSentence(run.lost, trans)}</div>
        )}
        <div className="sw-drawer-where">
          {[
            run.status === 'ok' ? '' : attemptText(run, trans),
            run.cpu === null
              ? trans.__('duration %1', duration)
              : trans.__(
                  'duration %1 (CPU %2)',
                  duration,
                  formatDuration(run.cpu)
                ),
            waitsForOthers
          ]
            .filter(text => text !== '')
            .join(' · ')}
        </div>
        <ul className="sw-legend">
          {longestFirst(parts).map((part, index) => (
            <li key={index} className="sw-legend-item">
              <Swatch mark={partMark(part, slots)} />
              {part.kind === 'compute' && fused.length > 0 ? (
                <button
                  type="button"
                  className="sw-legend-name sw-drawer-part"
                  title={trans.__('Filter by %1', part.function)}
                  onClick={() => props.onFilter(part.function)}
                >
                  {part.label}
                </button>
              ) : (
                <span className="sw-legend-name">
                  {part.held
                    ? part.label
                    : trans.__('%1 (in the background)', part.label)}
                </span>
              )}
              <span className="sw-legend-figure">
                {formatDuration(part.seconds)}
                {part.bytes ? `, ${formatBytes(part.bytes)}` : ''}
              </span>
            </li>
          ))}
        </ul>
        <div
          className="sw-bar"
          role="img"
          aria-label={trans.__('What its time went into')}
        >
          {held.map((part, index) => (
            <span
              key={index}
              {...barPart(part, slots, part.seconds / total)}
              title={`${part.label} ${formatDuration(part.seconds)}`}
            />
          ))}
        </div>
        <div className="sw-drawer-ends sw-figure">
          <span>{trans.__('started %1', formatInstant(run.start))}</span>
          <span>
            {trans.__('done %1', formatInstant(run.start + run.duration))}
          </span>
        </div>
        <div className="sw-drawer-where">
          {[
            placeText(run, trans),
            cellText(run, trans),
            threadText(run, trans),
            run.nbytes === null ? '' : formatBytes(run.nbytes)
          ]
            .filter(text => text !== '')
            .join(' · ')}
        </div>
        {cancelled !== '' && (
          <div className="sw-drawer-where">
            {trans.__('cancelled: %1', cancelled)}
          </div>
        )}
        {waits !== '' && (
          <div className="sw-drawer-where">{trans.__('waited: %1', waits)}</div>
        )}
        {measured !== '' && (
          <div className="sw-drawer-where">
            {trans.__('it measured: %1', measured)}
          </div>
        )}
        {head !== null && run.error?.trim() !== head.message && (
          <pre className="sw-drawer-traceback">{run.error}</pre>
        )}
      </div>
      <div className="sw-drawer-actions">
        <button type="button" className="sw-button" onClick={props.onShow}>
          {trans.__('Zoom to this task')}
        </button>
        <button
          type="button"
          className="sw-button"
          title={trans.__('Filter by %1', own)}
          onClick={() => props.onFilter(own)}
        >
          {trans.__('Filter by %1', own)}
        </button>
      </div>
    </>
  );
}

/** What held the task first: the rest went on beside it. */
function longestFirst(parts: readonly PartRow[]): readonly PartRow[] {
  return [...parts].sort(
    (one, other) =>
      Number(other.held) - Number(one.held) || other.seconds - one.seconds
  );
}

/** Computing has its function’s colour, as in the lanes: that of CPU is for what was on a core, and a task need not be. */
function partMark(part: PartRow, slots: Slots): Mark {
  if (part.kind === 'lost') {
    // As its box.
    return { kind: 'failed' };
  }
  return part.kind === 'compute'
    ? (slots.get(part.function) ?? { slot: -1, round: 0 })
    : { kind: part.kind };
}

function barPart(part: PartRow, slots: Slots, share: number) {
  const { className, style } = markOf(partMark(part, slots), 'sw-bar-part');
  return { className, style: { ...style, width: `${share * 100}%` } };
}
