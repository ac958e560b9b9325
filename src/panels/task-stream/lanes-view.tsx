/**
 * The lanes with everything that is timed the same way above them: whole-run
 * strip, time axis, span bands. React places the boxes and the texts; the
 * canvases inside are drawn by `LanesDrawing`, once per animation frame and
 * only when something moved.
 */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { shownText } from '../../base/shown-text';
import { createElement } from '../../charts/shown-element';
import type { SelectionModel } from '../../feed/selection';
import type { LaneIndex } from '../../records/ids';
import { formatDuration, formatExactCount, legendWord } from '../format';
import { FloatingCard } from '../floating-card';
import type { ITheme } from '../panel-context';
import type { Standing } from '../worker-standing';
import { bandAt, bandShapes } from './figure';
import { BAND_HEIGHT } from './frame-painter';
import { HoverCard } from './hover-card';
import { groupHeaders, laneGroups } from './lane-groups';
import { LanesDrawing } from './lanes-drawing';
import type { TaskStreamModel } from './model';
import { LaneEnd } from './lane-end';
import { NoBoxes } from './no-boxes';
import type { LanePointer } from './pointer';
import {
  bandLevels,
  laneText,
  leftOutText,
  runningOf,
  spansText,
  summaryText,
  threadText,
  workerHeaders
} from './rows';
import { standingTexts } from './standing-texts';
import { WholeRun } from './whole-run';
import { LoneLaneHead, WorkerHead } from './worker-head';

type LanesViewProps = {
  readonly model: TaskStreamModel;
  readonly pointer: LanePointer;
  readonly selection: SelectionModel;
  readonly theme: ITheme;
  readonly trans: TranslationBundle;
  /** Workers that begin no task. */
  readonly standings: ReadonlyMap<number, Standing>;
  /** Bytes of the workers' processes. */
  readonly processes: ReadonlyMap<number, number>;
  /** Whether it is an observation, without a cluster. */
  readonly isLocal: boolean;
  /** Whether what is shown was asked for with a range of time. */
  readonly hasRange: boolean;
};

export function LanesView(props: LanesViewProps): JSX.Element {
  const { model, pointer, theme, trans, selection, hasRange } = props;
  const [drawing] = React.useState(
    () =>
      new LanesDrawing(
        model,
        theme,
        selection,
        legendWord('cancelled, still running', trans)
      )
  );
  const [reached, setReached] = React.useState<LaneIndex | null>(null);
  const [, redraw] = React.useReducer((count: number) => count + 1, 0);
  const scroller = React.useRef<HTMLDivElement>(null);
  const axis = React.useRef<HTMLCanvasElement>(null);
  const bands = React.useRef<HTMLCanvasElement>(null);
  const lanes = React.useRef<HTMLCanvasElement>(null);
  const summary = React.useId();

  React.useEffect(() => {
    const onLayout = () => redraw();
    model.changed.connect(onLayout);
    drawing.laidOut.connect(onLayout);
    return () => {
      model.changed.disconnect(onLayout);
      drawing.laidOut.disconnect(onLayout);
    };
  }, [model, drawing]);

  React.useEffect(() => {
    const onReached = (_: unknown, lane: LaneIndex | null) => setReached(lane);
    pointer.reachedChanged.connect(onReached);
    return () => {
      pointer.reachedChanged.disconnect(onReached);
    };
  }, [pointer]);

  React.useEffect(() => {
    if (scroller.current && axis.current && bands.current && lanes.current) {
      drawing.attach({
        scroller: scroller.current,
        axis: axis.current,
        bands: bands.current,
        lanes: lanes.current
      });
      pointer.attach(drawing, scroller.current);
    }
    return () => {
      pointer.detach();
      drawing.dispose();
    };
  }, [drawing, pointer]);

  const { layout } = drawing;
  // (before they are rendered there may be no room to scroll to)
  React.useLayoutEffect(() => drawing.keepInSight(), [drawing, layout]);

  const result = model.result;
  if (result === null) {
    return <div className="sw-TaskStream-chart" />;
  }
  const { showsGroups } = model;
  const headers = new Map(
    (showsGroups
      ? groupHeaders(result, trans, props.isLocal)
      : workerHeaders(
          result,
          trans,
          standingTexts(props.standings, trans),
          props.processes
        )
    ).map(header => [header.worker, header])
  );
  const groups = showsGroups ? laneGroups(result, trans) : [];
  const toggle = (worker: number) => {
    if (showsGroups) {
      model.openGroup(groups[worker]?.worker ?? null);
    } else {
      model.toggleWorker(worker);
    }
  };
  const levels = bandLevels(model.bands);
  const without = model.bandsWithoutRow;
  const leftOut = result.bandsLeftOut ?? 0;
  return (
    <div className="sw-TaskStream-chart">
      <WholeRun model={model} theme={theme} trans={trans} />
      <div className="sw-TaskStream-row" data-part="axis">
        <div className="sw-TaskStream-gutter">{trans.__('since start')}</div>
        <canvas ref={axis} className="sw-TaskStream-axis" aria-hidden="true" />
      </div>
      <div
        className="sw-TaskStream-row"
        data-part="bands"
        style={{ height: levels * BAND_HEIGHT }}
      >
        <div className="sw-TaskStream-gutter">
          {(model.unfoldsBands && levels > model.bandRoom) ||
          without.length > 0 ? (
            <BandsButton
              model={model}
              without={without}
              leftOut={leftOut}
              leftOutText={leftOutText(result, hasRange, trans)}
              trans={trans}
            />
          ) : (
            levels > 0 && (
              <LeftOutWord
                missing={leftOut}
                why={leftOutText(result, hasRange, trans)}
                trans={trans}
              />
            )
          )}
        </div>
        <canvas
          ref={bands}
          className="sw-TaskStream-bands"
          aria-hidden="true"
          onMouseMove={({ nativeEvent, currentTarget }) => {
            // A name that has no room in its band is read here.
            const shapes = bandShapes(
              model.bands,
              model.view,
              currentTarget.clientWidth
            );
            const level = Math.floor(nativeEvent.offsetY / BAND_HEIGHT);
            currentTarget.title = shownText(
              bandAt(shapes, nativeEvent.offsetX, level)?.text ?? ''
            );
          }}
        />
      </div>
      <div
        ref={scroller}
        className="sw-TaskStream-lanes"
        role="application"
        tabIndex={0}
        aria-label={trans.__('Task Stream chart')}
        aria-describedby={summary}
        aria-roledescription={trans.__('chart of tasks by thread and time')}
      >
        <canvas
          ref={lanes}
          className="sw-TaskStream-canvas"
          aria-hidden="true"
        />
        <div
          className="sw-TaskStream-workers"
          style={{ height: layout.height }}
        >
          {layout.workers.map(worker => {
            const header = headers.get(worker.worker);
            return (
              <div
                key={worker.worker}
                className="sw-TaskStream-worker"
                style={{ height: worker.height }}
              >
                {worker.headerHeight === 0 ? (
                  <LoneLaneHead
                    worker={worker.worker}
                    header={header}
                    height={layout.laneHeight}
                    isReached={worker.lanes[0]?.laneIndex === reached}
                    onToggle={() => toggle(worker.worker)}
                  />
                ) : (
                  <>
                    <WorkerHead
                      worker={worker.worker}
                      header={header}
                      isFolded={worker.collapsed || showsGroups}
                      onToggle={() => toggle(worker.worker)}
                    />
                    {worker.lanes.map(lane => (
                      <LaneName
                        key={lane.laneIndex}
                        text={
                          showsGroups
                            ? trans.__('all threads')
                            : laneText(lane, trans)
                        }
                        isBeside={lane.beside !== undefined}
                        isReached={lane.laneIndex === reached}
                        height={layout.laneHeight}
                      />
                    ))}
                  </>
                )}
              </div>
            );
          })}
        </div>
      </div>
      <div id={summary} className="sw-TaskStream-summary">
        {summaryText(result, trans, props.isLocal, hasRange)}
      </div>
      <LaneEnd
        pointer={pointer}
        nameOf={laneIndex => laneNameOf(model, laneIndex, trans)}
        trans={trans}
      />
      <NoBoxes model={model} drawing={drawing} trans={trans} />
      <HoverCard
        pointer={pointer}
        groups={new Map(groups.map(({ group, name }) => [group, name]))}
        trans={trans}
      />
    </div>
  );
}

/** "worker 2, thread 1", or what a group of workers is called. */
function laneNameOf(
  model: TaskStreamModel,
  laneIndex: LaneIndex,
  trans: TranslationBundle
): string {
  const { result, showsGroups } = model;
  if (result === null) {
    return '';
  }
  if (showsGroups) {
    const groups = laneGroups(result, trans);
    return groups.find(({ group }) => group === laneIndex)?.name ?? '';
  }
  const lane = result.lanes[laneIndex];
  const known = result.workers.find(({ worker }) => worker === lane?.worker);
  return lane === undefined
    ? ''
    : threadText(
        { ...lane, worker: known?.name ?? String(lane.worker) },
        trans
      );
}

/** In one line; where there is no room its beginning is cut, and its number, which tells it from others, is not. */
export function LaneName(props: {
  readonly text: string;
  readonly isBeside: boolean;
  /** Keys have come to it. */
  readonly isReached?: boolean;
  readonly height: number;
}): JSX.Element {
  const { text, isBeside, isReached, height } = props;
  return (
    <div
      className="sw-TaskStream-laneName"
      data-beside={isBeside || undefined}
      data-reached={isReached || undefined}
      style={{ height }}
      title={text}
    >
      <span className="sw-TaskStream-laneWord">
        <bdi>{text}</bdi>
      </span>
    </div>
  );
}

/** "8 running, 3 of them cancelled · live at 29.6 s", "0 running · last task ended at 29.6 s", or how long the run took. */
export function nowText(
  model: TaskStreamModel,
  trans: TranslationBundle
): string {
  const result = model.result;
  if (result === null) {
    return '';
  }
  if (!result.live) {
    return formatDuration(result.to - result.from);
  }
  // Nothing comes in while nothing runs: a time that stands still must not be called live.
  if (result.running.length === 0 && result.othersRunning === 0) {
    return result.tasks === 0
      ? trans.__('0 running')
      : trans.__(
          '0 running · last task ended at %1',
          formatDuration(result.to)
        );
  }
  return trans.__(
    '%1 · live at %2',
    runningOf(result.running, trans),
    formatDuration(result.now)
  );
}

/** "spans", or a button "spans +12" that says which have no band, and how to see them. */
export function LeftOutWord(props: {
  readonly missing: number;
  readonly why: string;
  readonly trans: TranslationBundle;
}): React.JSX.Element {
  const { missing, why, trans } = props;
  const [isOpen, setIsOpen] = React.useState(false);
  const button = React.useRef<HTMLButtonElement>(null);
  const text = spansText(missing, trans);
  if (missing === 0) {
    return <span>{text}</span>;
  }
  const close = () => setIsOpen(false);
  return (
    <>
      <button
        ref={button}
        type="button"
        className="sw-TaskStream-bandsButton"
        aria-expanded={isOpen}
        title={isOpen ? undefined : why}
        onClick={() => setIsOpen(!isOpen)}
        onBlur={close}
      >
        {text}
      </button>
      {isOpen && (
        <FloatingCard
          boxOf={() => button.current!.getBoundingClientRect()}
          onGone={close}
        >
          <span role="status">{why}</span>
        </FloatingCard>
      )}
    </>
  );
}

/** Unfolds the rows of spans; says how many have none, and which. */
function BandsButton(props: {
  readonly model: TaskStreamModel;
  readonly without: readonly string[];
  readonly leftOut: number;
  readonly leftOutText: string;
  readonly trans: TranslationBundle;
}): React.JSX.Element {
  const { model, without, leftOut, trans } = props;
  const isUnfolded = model.unfoldsBands;
  const named = [...new Set(without)].slice(0, 20).join('\n');
  const title =
    without.length > 0
      ? trans._n(
          '%2 span has no row:\n%3',
          '%2 spans have no row:\n%3',
          without.length,
          formatExactCount(without.length),
          named
        )
      : trans.__('Draw fewer rows of spans');
  return (
    <button
      type="button"
      className="sw-TaskStream-bandsButton"
      aria-expanded={isUnfolded}
      title={[title, props.leftOutText].filter(Boolean).join('\n\n')}
      onClick={() => model.toggleBands()}
    >
      <span aria-hidden="true">{isUnfolded ? '▾' : '▸'}</span>{' '}
      {spansText(without.length + leftOut, trans)}
    </button>
  );
}
