/** Memory over time: the lines, what they are made of, and the runs as a table. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import { PlotlyView } from '../../charts/plotly-view';
import type { MemoryResult, TimeRange } from '../../wire/panel-link';
import { CursorCard, useCursor } from '../cursor-card';
import { useFocusThatStays } from '../focus-that-stays';
import { formatBytes, formatInstant, formatOffsetTick } from '../format';
import { isSumOfLimits, limitSentence } from '../limit-sentence';
import { Loading } from '../loading';
import { Swatch } from '../mark';
import { MarkedText } from '../marked-text';
import type { PanelContext } from '../panel-context';
import { ShowAll } from '../show-all';
import { useSize } from '../use-size';
import { useWatch } from '../use-watch';
import {
  breakdownFigure,
  colourOfLine,
  dashOfLine,
  DIFFERENCE_LOOKS,
  differenceFigure,
  marksNear,
  memoryFigure
} from './figure';
import {
  type Align,
  binText,
  differenceOf,
  differenceRow,
  differenceText,
  figuresText,
  type Line,
  limitSteps,
  lostLegend,
  type LostMark,
  lostMarks,
  memoryLines,
  PEAK_AT,
  remarkOnMeasure,
  runCells,
  runColumns,
  runRows,
  subtitleOf,
  titleOf,
  valueAt
} from './rows';
import type { Range, ShownTime } from './shown-time';

/** What is drawn below the chart. */
export type Below = 'nothing' | 'breakdown' | 'difference';

/**
 * In pixels. From here down the chart comes first, then recorded runs; title and legend are reached by scrolling, and by Tab in that order. With one line of
 * tools the panel has 240 px then, where `memory.css` puts tools into More. That goes by the panel: by what tools leave, they would come and go in turns.
 */
const LOW = 209;

/** Workers that were lost at one place of the chart. */
const MOST_TOLD = 4;

type MemoryViewProps = {
  readonly result: MemoryResult;
  readonly align: Align;
  readonly show: 'cluster' | 'workers';
  readonly hidden: ReadonlySet<string>;
  readonly time: ShownTime;
  /** The range that all panels have. */
  readonly filtered: TimeRange;
  /** What of the time is drawn, as params; none: all of it. */
  readonly drawn: Readonly<Record<string, number>>;
  readonly below: Below;
  /** Whether it shows a run without a cluster. */
  readonly isLocal: boolean;
  readonly context: PanelContext;
  readonly trans: TranslationBundle;
  onToggle(key: string): void;
  onZoom(range: Range | null): void;
  onUseAsTimeFilter(): void;
  /** null: it goes by the Task Stream, or cannot. */
  readonly onAsInStream: (() => void) | null;
};

export function MemoryView(props: MemoryViewProps): JSX.Element {
  const { result, align, show, hidden, time, isLocal, context, trans } = props;
  const [left, right] = time.range ?? [];
  const range = React.useMemo(
    () =>
      left === undefined || right === undefined
        ? undefined
        : ([left, right] as const),
    [left, right]
  );
  const page = React.useRef<HTMLDivElement>(null);
  useFocusThatStays(page, '.sw-Memory', () => ['.sw-Memory-title']);
  const room = useSize(page).height;
  const isLow = room > 0 && room <= LOW;
  const box = React.useRef<HTMLDivElement>(null);
  const { width, height } = useSize(box, 800);
  const { cursor, move, hide } = useCursor(box);
  const lines = React.useMemo(
    () => memoryLines(result, align, trans, hidden, isLocal),
    [result, align, trans, hidden, isLocal]
  );
  const lost = React.useMemo(
    () => lostMarks(result, align, trans, hidden),
    [result, align, trans, hidden]
  );
  const figure = React.useMemo(
    () =>
      memoryFigure(lines, result.limits, align, {
        width,
        height,
        trans,
        range,
        lost,
        limitSteps: limitSteps(result, align, hidden),
        perWorker:
          show === 'workers' && (align === 'clock' || result.runs.length === 0)
      }),
    [lines, lost, result, align, hidden, range, width, height, show, trans]
  );
  const title = titleOf(result, align, show, trans, isLocal);
  const limit = result.limits?.memoryLimit ?? 0;
  const cluster = context.cluster.current;
  const chosen = context.selection.filter.workers ?? [];
  const remark = remarkOnMeasure(result, cluster?.kind, trans);
  const head = (
    // (it takes the focus of the link within it)
    <div key="title" className="sw-block-title sw-Memory-title" tabIndex={-1}>
      <span title={remark === '' ? title : `${title}\n${remark}`}>{title}</span>
      {time.by === 'task-stream' && (
        <span className="sw-block-aside">{trans.__('as in Task Stream')}</span>
      )}
      {(time.by === 'task-stream' || time.by === 'zoom') && (
        <ShowAll trans={trans} onShowAll={() => props.onZoom(null)} />
      )}
      {time.by === 'zoom' && align === 'clock' && (
        <button
          type="button"
          className="sw-link"
          onClick={props.onUseAsTimeFilter}
        >
          {trans.__('Use as time filter')}
        </button>
      )}
      {props.onAsInStream !== null && (
        <button type="button" className="sw-link" onClick={props.onAsInStream}>
          {trans.__('As in Task Stream')}
        </button>
      )}
      <span
        className="sw-block-aside sw-wide-only"
        title={limitSentence(limit, cluster, chosen, trans) ?? undefined}
      >
        {subtitleOf(result, isSumOfLimits(limit, cluster, chosen), trans)}
      </span>
    </div>
  );
  const chart = (
    <div key="chart" ref={box} className="sw-Memory-chart">
      <PlotlyView
        figure={figure}
        theme={context.theme}
        trans={trans}
        label={title}
        loading={<Loading text={trans.__('Loading the chart…')} />}
        onZoom={wanted => props.onZoom(wanted)}
        onHover={move}
      />
      {cursor !== null && (
        <LinesCard
          cursor={cursor}
          chart={box}
          lines={lines}
          lost={marksNear(lost, cursor.t, figure, width)}
          align={align}
          trans={trans}
          onGone={hide}
        />
      )}
    </div>
  );
  const runs = <RunsTable key="runs" {...props} />;
  const areRunsAbove = isLow && result.runs.length > 0;
  return (
    <div
      ref={page}
      className="sw-Memory"
      data-low={isLow || undefined}
      style={{ '--sw-runs': rowsInSight(result) } as React.CSSProperties}
    >
      {areRunsAbove
        ? [chart, runs, head]
        : isLow
          ? [chart, head]
          : [head, chart]}
      <ul className="sw-legend" aria-label={trans.__('Legend')}>
        {memoryLines(result, align, trans, undefined, isLocal)
          .slice(0, 24)
          .map(line => (
            <li key={line.key}>
              <button
                type="button"
                className="sw-legend-item"
                aria-pressed={hidden.has(line.key)}
                aria-label={trans.__('Hide %1', line.label)}
                onClick={() => props.onToggle(line.key)}
              >
                <LineMark line={line} isHidden={hidden.has(line.key)} />
                <span className="sw-legend-name">{line.label}</span>
              </button>
            </li>
          ))}
        <Figures {...props} />
        <LostLegend result={result} marks={lost} trans={trans} />
      </ul>
      {props.below === 'difference' && (
        <DifferencePart
          result={result}
          hidden={hidden}
          context={context}
          trans={trans}
          width={width}
          range={align === 'zero' ? range : undefined}
        />
      )}
      {props.below === 'breakdown' && (
        <Breakdown
          context={context}
          trans={trans}
          width={width}
          range={align === 'clock' ? range : undefined}
          drawn={props.drawn}
        />
      )}
      {!areRunsAbove && runs}
    </div>
  );
}

/** Of the cluster's line, beside its name. Lines of workers have theirs in the table. */
function Figures(props: MemoryViewProps): JSX.Element | null {
  const { result, align, show, filtered, trans } = props;
  const text =
    show === 'workers' ? '' : figuresText(result, align, filtered, trans);
  return text === '' ? null : (
    <li className="sw-legend-item sw-figure">{text}</li>
  );
}

/** Rows of the runs for which the chart leaves room: one each, and one for the difference of two. */
function rowsInSight({ runs: { length } }: MemoryResult): number {
  return Math.min(4, length === 2 ? 3 : length);
}

/** At most ten lines, and what lies between two. */
function LinesCard(
  props: Pick<
    React.ComponentProps<typeof CursorCard>,
    'cursor' | 'chart' | 'onGone'
  > & {
    readonly lines: readonly Line[];
    /** Beside the pointer. */
    readonly lost: readonly LostMark[];
    readonly align: Align;
    readonly trans: TranslationBundle;
  }
): JSX.Element {
  const { cursor, lines, align, trans } = props;
  const rows = lines
    .map(line => ({ line, value: valueAt(line, cursor.t) }))
    .filter(row => row.value !== null)
    .slice(0, 10);
  const [a, b] = rows;
  return (
    <CursorCard
      cursor={cursor}
      chart={props.chart}
      title={
        align === 'zero'
          ? formatOffsetTick(cursor.t, 0.1)
          : formatInstant(cursor.t)
      }
      rows={rows.map(({ line, value }) => ({
        key: line.key,
        mark: <LineMark line={line} isHidden={false} />,
        label: line.label,
        text:
          value === 'unknown'
            ? trans.__('no sample')
            : (binText(line, cursor.t, trans) ?? formatBytes(value))
      }))}
      onGone={props.onGone}
    >
      {rows.length === 2 &&
        typeof a?.value === 'number' &&
        typeof b?.value === 'number' && (
          <tr>
            <th scope="row">{trans.__('difference')}</th>
            <td>
              <strong>{signed(b.value - a.value)}</strong>
            </td>
          </tr>
        )}
      {props.lost.slice(0, MOST_TOLD).map(({ key, sentence }) => (
        <tr key={key}>
          <td colSpan={2} className="sw-Memory-lostSentence">
            <LostSign /> <bdi>{sentence}</bdi>
          </td>
        </tr>
      ))}
      {props.lost.length > MOST_TOLD && (
        <tr>
          <td colSpan={2}>
            {trans.__('and %1 more', props.lost.length - MOST_TOLD)}
          </td>
        </tr>
      )}
    </CursorCard>
  );
}

/** As in the chart. */
function LostSign(): JSX.Element {
  return (
    <span className="sw-Memory-lostSign" aria-hidden="true">
      ✕
    </span>
  );
}

/** What the marks of the chart stand for, after its lines. */
function LostLegend(props: {
  readonly result: MemoryResult;
  readonly marks: readonly LostMark[];
  readonly trans: TranslationBundle;
}): JSX.Element | null {
  const legend = lostLegend(props.result, props.marks, props.trans);
  return (
    legend && (
      <li className="sw-legend-item" title={legend.sentences.join('\n')}>
        <LostSign />
        <span className="sw-legend-name">{legend.text}</span>
        <span className="sw-Memory-lostSentences">
          {legend.sentences.join(' ')}
        </span>
      </li>
    )
  );
}

function signed(bytes: number): string {
  return bytes > 0 ? `+${formatBytes(bytes)}` : formatBytes(bytes);
}

/** A short piece of the line, with its dash. */
function LineMark(props: {
  readonly line: Line;
  readonly isHidden: boolean;
}): JSX.Element {
  const { line, isHidden } = props;
  const dash = dashOfLine(line);
  return (
    <svg className="sw-lineMark" width="18" height="8" aria-hidden="true">
      <line
        x1="0"
        x2="18"
        y1="4"
        y2="4"
        strokeWidth="2"
        strokeDasharray={
          dash === 'solid' ? undefined : dash.replaceAll('px', '')
        }
        style={{
          stroke: `var(${colourOfLine(line)})`,
          opacity: isHidden ? 0.3 : 1
        }}
      />
    </svg>
  );
}

/** By how much the two runs that are shown differ, from zero. */
function DifferencePart(
  props: Pick<MemoryViewProps, 'result' | 'hidden' | 'context' | 'trans'> & {
    readonly width: number;
    readonly range: Range | undefined;
  }
): JSX.Element {
  const { result, hidden, context, trans, width, range } = props;
  const difference = React.useMemo(
    () => differenceOf(result, trans, hidden),
    [result, trans, hidden]
  );
  const figure = React.useMemo(
    () =>
      typeof difference === 'string'
        ? null
        : differenceFigure(difference, { width, range }),
    [difference, width, range]
  );
  if (typeof difference === 'string' || figure === null) {
    return (
      <div className="sw-Memory-breakdown">
        <div className="sw-block-title">{trans.__('Difference')}</div>
        <div className="sw-Memory-none">{difference as string}</div>
      </div>
    );
  }
  const { label, of } = difference;
  const text = differenceText(difference, trans);
  return (
    <div className="sw-Memory-breakdown">
      <div className="sw-block-title">
        <bdi>{label}</bdi>
        <span className="sw-block-aside sw-figure">{text}</span>
      </div>
      <div className="sw-Memory-breakdownChart">
        <PlotlyView
          figure={figure}
          theme={context.theme}
          trans={trans}
          label={trans.__('%1: %2', label, text)}
          loading={<Loading text={trans.__('Loading the chart…')} />}
        />
      </div>
      <ul
        className="sw-legend"
        aria-label={trans.__('Parts of the difference')}
      >
        {(['more', 'less'] as const).map(name => (
          <li key={name} className="sw-legend-item">
            <Swatch mark={{ property: DIFFERENCE_LOOKS[name].colour }} />
            <span className="sw-legend-name">
              {name === 'more'
                ? trans.__('“%1” holds more', of)
                : trans.__('“%1” holds less', of)}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What the cluster's memory is made of: three small questions beside the panel's own. */
function Breakdown(props: {
  readonly context: PanelContext;
  readonly trans: TranslationBundle;
  readonly width: number;
  readonly range: Range | undefined;
  readonly drawn: MemoryViewProps['drawn'];
}): JSX.Element {
  const { context, trans, width, range, drawn } = props;
  const ask = (measure: string) =>
    useWatch(context, 'memory', { measure, show: 'cluster', ...drawn }, 1)
      .snapshot?.result;
  const parts = [
    {
      answer: ask('managed'),
      label: trans.__('managed'),
      mark: { property: '--sw-kind-cpu' }
    },
    {
      answer: ask('unmanaged'),
      label: trans.__('unmanaged'),
      mark: { property: '--sw-unmanaged-old' }
    },
    {
      answer: ask('spilled'),
      label: trans.__('spilled (on disk)'),
      mark: { kind: 'disk' } as const
    }
  ];
  const figure = React.useMemo(
    () =>
      breakdownFigure(
        parts.flatMap(({ answer, label, mark }) => {
          const series =
            answer?.view === 'memory' ? answer.series[0] : undefined;
          const look =
            'kind' in mark
              ? { colour: '--sw-kind-disk', pattern: '-' }
              : { colour: mark.property };
          return series === undefined ? [] : [{ ...look, ...series, label }];
        }),
        { width, range }
      ),
    [...parts.map(({ answer }) => answer), trans, width, range]
  );
  return (
    <div className="sw-Memory-breakdown">
      <div className="sw-block-title">
        {trans.__('What it is made of')}
        <span className="sw-block-aside">
          {trans.__('spilled bytes are on disk and not part of process memory')}
        </span>
      </div>
      <div className="sw-Memory-breakdownChart">
        <PlotlyView
          figure={figure}
          theme={context.theme}
          trans={trans}
          label={trans.__('What it is made of')}
          loading={<Loading text={trans.__('Loading the chart…')} />}
        />
      </div>
      <ul className="sw-legend" aria-label={trans.__('Parts of memory')}>
        {parts.map(({ label, mark }) => (
          <li key={label} className="sw-legend-item">
            <Swatch mark={mark} />
            <span className="sw-legend-name">{label}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function classOf(column?: {
  readonly numeric?: boolean;
  readonly wide?: boolean;
}): string {
  return `${column?.numeric ? 'sw-table-number' : ''} ${column?.wide ? 'sw-wide-only' : ''}`.trim();
}

/** What records a run. */
const RECORD = 'with MemorySampler().sample("A"):';

function RunsTable(props: MemoryViewProps): JSX.Element {
  const { result, hidden, context, trans } = props;
  const startedAt = context.cluster.current?.startedAt ?? 0;
  const rows = runRows(result, startedAt, Date.now() / 1000);
  const difference = differenceRow(rows);
  const columns = runColumns(trans);
  const lines = new Map(
    memoryLines(result, 'zero', trans).map(line => [line.key, line])
  );
  if (rows.length === 0 && context.cluster.current?.state === 'ended') {
    return (
      <div className="sw-Memory-none">{trans.__('No run was recorded.')}</div>
    );
  }
  if (rows.length === 0) {
    return (
      <div className="sw-Memory-none">
        <MarkedText
          text={trans.__('No run is recorded yet. Write %1 in a cell.', RECORD)}
          piece={RECORD}
          as="code"
        />
      </div>
    );
  }
  return (
    <div className="sw-Memory-runs">
      <div className="sw-block-title">{trans.__('Runs')}</div>
      <table className="sw-table" aria-label={trans.__('Runs')}>
        <thead>
          <tr>
            <th scope="col">{trans.__('Run')}</th>
            {columns.map(column => (
              <th key={column.name} scope="col" className={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => {
            const line = lines.get(row.key);
            return (
              <tr key={row.key}>
                <td>
                  {line && (
                    <LineMark line={line} isHidden={hidden.has(row.key)} />
                  )}{' '}
                  <strong>{row.label}</strong>
                  {row.isRecording ? ` · ${trans.__('recording')}` : ''}
                </td>
                {runCells(row, trans).map((cell, index) => (
                  <td
                    key={index}
                    className={classOf(columns[index])}
                    title={
                      row.isPeakFromBefore && index === PEAK_AT
                        ? trans.__(
                            'It held this much when it began, left from before, and never more.'
                          )
                        : undefined
                    }
                  >
                    {cell.text}
                  </td>
                ))}
              </tr>
            );
          })}
          {difference !== null && (
            <tr>
              <td>
                <strong>{difference.label}</strong>
              </td>
              {columns.map((column, index) => (
                <td key={column.name} className={classOf(column)}>
                  {difference.cells[index - 1]}
                </td>
              ))}
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
