/** Fine Performance Metrics: where the thread time went, as bars and lists. All of it is HTML, so that it reflows from one column to two by its own width. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { SelectionModel } from '../../feed/selection';
import type { FineMetricsResult } from '../../wire/panel-link';
import type { Box } from '../card-place';
import { ExplainedList, type ItemFocus } from '../explained-list';
import { FloatingCard } from '../floating-card';
import {
  executionsText,
  formatCount,
  formatShare,
  legendWord
} from '../format';
import { type Mark, markOf, Swatch } from '../mark';
import { legendOf, longest, seenOf, stackedBar } from './figure';
import { usePointerOver } from '../use-pointer-over';
import { useSteadyRows } from '../use-steady-rows';
import {
  activityParts,
  type FunctionOrder,
  type FunctionRow,
  footText,
  functionRows,
  groupWord,
  headlineOf,
  idleParts,
  idleText,
  isPartOfAll,
  movedRows,
  type Part,
  partName,
  remarkOn,
  tooltipOf,
  waitedForText
} from './rows';

type FineMetricsViewProps = {
  readonly result: FineMetricsResult;
  readonly order: FunctionOrder;
  /** Tasks are running; of use where the answer is of an observer that does not tell of their seconds. */
  readonly isRunning: boolean;
  /** Of a run without a cluster. */
  readonly isLocal: boolean;
  /** Of a Node program. */
  readonly isNode: boolean;
  readonly selection: SelectionModel;
  readonly trans: TranslationBundle;
  onShowAll(): void;
};

export function FineMetricsView(props: FineMetricsViewProps): JSX.Element {
  const { result, isLocal, trans } = props;
  const headline = headlineOf(result);
  const isTime = result.unit === 'seconds';
  const isTold = result.account === 'told';
  const idle = isTime
    ? idleParts(
        result,
        isTold ? result.capacitySeconds : headline.total,
        isLocal
      )
    : [];
  const activities = activityParts(result);
  const moved = movedRows(result, trans);
  const waitedFor = waitedForText(result, trans);
  return (
    <div className="sw-FineMetrics">
      <Headline {...props} />
      <div className="sw-FineMetrics-columns">
        <ByFunction {...props} />
        <div>
          {activities.length > 0 && (
            <Block title={trans.__('By activity')}>
              <PartList
                label={trans.__('By activity')}
                parts={activities}
                whole={longest(activities.map(part => part.value))}
                result={result}
                isNode={props.isNode}
                trans={trans}
              />
            </Block>
          )}
          {idle.length > 0 && (
            <Block
              title={trans.__('Idle, by cause')}
              aside={
                isTold
                  ? idleText(result, trans)
                  : headline.groups
                      .filter(group => group.group === 'idle')
                      .map(group => `${group.text} · ${group.shareText}`)
                      .join('')
              }
            >
              <PartList
                label={trans.__('Idle, by cause')}
                parts={idle}
                whole={longest(idle.map(part => part.value))}
                result={result}
                isNode={props.isNode}
                trans={trans}
              />
              {waitedFor !== '' && (
                <div className="sw-FineMetrics-note">{waitedFor}</div>
              )}
            </Block>
          )}
          {(moved.length > 0 || result.outsideHidden === true) && (
            <Block
              title={trans.__('Data moved')}
              aside={trans.__('in the background; not part of the bar above')}
            >
              <ul
                className="sw-metricList"
                data-names="long"
                aria-label={trans.__('Data moved')}
              >
                {moved.map(row => (
                  <MetricItem
                    key={row.id}
                    mark={{ kind: row.kind }}
                    name={row.label}
                    text={row.text}
                    title={row.title}
                  >
                    <Bar
                      parts={[
                        {
                          mark: { kind: row.kind },
                          width:
                            (row.value /
                              longest(moved.map(other => other.value))) *
                            100,
                          title: row.title
                        }
                      ]}
                    />
                  </MetricItem>
                ))}
              </ul>
              {result.outsideHidden === true && (
                <div className="sw-FineMetrics-note">
                  {trans.__(
                    'What workers wrote to disk and sent in the background is of no function or span: the filter leaves it out.'
                  )}
                </div>
              )}
            </Block>
          )}
        </div>
      </div>
    </div>
  );
}

function Headline(props: FineMetricsViewProps): JSX.Element {
  const { result, trans, isRunning, isLocal } = props;
  const [isLegendOpen, setIsLegendOpen] = React.useState(false);
  const headline = headlineOf(result, isRunning, isLocal);
  const isTime = result.unit === 'seconds';
  const bar = seenOf(stackedBar(headline.parts, headline.length));
  const rows = functionRows(result, trans);
  const whole = longest(rows.map(row => row.total));
  const legend = legendOf(headline.parts, [
    bar,
    ...rows.map(row => stackedBar(row.parts, whole))
  ]);
  const title = isTime
    ? trans.__('Where the thread time went')
    : result.unit === 'bytes'
      ? trans.__('How many bytes were handled')
      : trans.__('How often it was done');
  return (
    <div
      className="sw-FineMetrics-headline"
      data-legend={isLegendOpen ? 'open' : 'folded'}
    >
      <div className="sw-block-title">
        {title}
        {isTime && (
          <span className="sw-block-aside sw-wide-only">
            {result.account === 'told'
              ? trans.__(
                  'from when a worker takes a task up until its result is stored'
                )
              : isPartOfAll(result)
                ? trans.__(
                    'every second of the selected tasks, and their share of idle time'
                  )
                : trans.__('every second of every thread is counted once')}
          </span>
        )}
        {/* Seen where the panel is small: the functions come first there. */}
        <button
          type="button"
          className="sw-link sw-FineMetrics-fold"
          aria-expanded={isLegendOpen}
          onClick={() => setIsLegendOpen(!isLegendOpen)}
        >
          {trans.__('Legend')}
        </button>
      </div>
      <div className="sw-FineMetrics-groups sw-figure">
        {headline.groups
          .filter(({ group }) => bar.some(({ part }) => part.group === group))
          .map(group => (
            <span key={group.group}>
              <span className="sw-FineMetrics-marks" aria-hidden="true">
                {bar
                  .filter(({ part }) => part.group === group.group)
                  .map(({ part }) => (
                    <Swatch key={part.id} mark={markFor(part)} />
                  ))}
              </span>
              {groupWord(group, trans)}{' '}
              {group.shareText === '' ? (
                group.text
              ) : (
                <>
                  <span className="sw-wide-only">{group.text} · </span>
                  {group.shareText}
                </>
              )}
            </span>
          ))}
      </div>
      <div
        className="sw-FineMetrics-bar"
        role="img"
        aria-label={title}
        aria-description={headline.parts
          .map(
            part => `${partName(part, trans)} ${part.text}, ${part.shareText}`
          )
          .join('; ')}
      >
        <Bar
          parts={bar.map(({ part, width }) => ({
            mark: markFor(part),
            width,
            title: `${part.share === null ? partName(part, trans) : legendWord(part.word, trans)}: ${part.text}, ${part.shareText}`
          }))}
        />
      </div>
      <div className="sw-FineMetrics-foot sw-figure">
        <span>0</span>
        <span
          title={
            !isTime
              ? undefined
              : result.account === 'told'
                ? trans.__(
                    'Dask counts a task from when its worker takes it up until its result is stored. The sidebar and the Task Stream count from its start to its stop on a thread.'
                  )
                : trans.__(
                    'Wall: the time while there were tasks. The whole run of the Task Stream has the pauses between cells too.'
                  )
          }
        >
          {footText(result, trans)}
        </span>
      </div>
      <ExplainedList
        className="sw-legend"
        label={trans.__('Legend')}
        items={legend.map(part => ({
          id: part.id,
          part,
          name: legendWord(part.word, trans),
          explanation: tooltipOf(part, result, trans, props.isNode)
        }))}
        itemOf={({ part, name, explanation }, focus) => (
          <li
            className="sw-legend-item"
            title={explanation || undefined}
            {...focus}
          >
            <Swatch mark={markFor(part)} />
            <span>{name}</span>
          </li>
        )}
      />
    </div>
  );
}

/** A function may be called as the row of the others is. */
const keyOf = (row: Pick<FunctionRow, 'name' | 'isOthers'>) =>
  row.isOthers ? 'others of the list' : `function ${row.name}`;

function ByFunction(props: FineMetricsViewProps): JSX.Element {
  const { result, order, isRunning, selection, trans, onShowAll } = props;
  const list = React.useRef<HTMLUListElement>(null);
  const { isOver, enter } = usePointerOver(list);
  const [card, setCard] = React.useState<string | null>(null);
  const timer = React.useRef(0);
  const rows = useSteadyRows(
    functionRows(result, trans, order),
    `${result.unit} ${order}`,
    isOver,
    keyOf
  );
  const whole = longest(rows.map(row => row.total));
  const picked = selection.filter.functions ?? [];
  const show = (key: string | null) => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(
      () => setCard(key),
      key === null ? 0 : 80
    );
  };
  React.useEffect(() => () => window.clearTimeout(timer.current), []);
  React.useEffect(() => {
    if (!isOver) {
      show(null);
    }
  }, [isOver]);
  const all = result.byFunction.length + (result.others?.functions ?? 0);
  const pointed = rows.find(row => keyOf(row) === card);
  return (
    <Block
      title={trans.__('By function')}
      aside={
        all > 0
          ? trans._n(
              '%2 of %3\u00a0function',
              '%2 of %3\u00a0functions',
              all,
              result.byFunction.length,
              formatCount(all)
            )
          : isRunning || (result.runningSeconds ?? 0) > 0
            ? trans.__('tasks count here once they have ended')
            : trans.__('none')
      }
    >
      <ul
        ref={list}
        className="sw-metricList"
        aria-label={trans.__('By function')}
        onPointerEnter={enter}
        onKeyDown={moveFocus}
      >
        {rows.map(row => (
          <MetricItem
            key={keyOf(row)}
            mark={{ slot: row.slot, round: row.round }}
            name={row.name}
            text={row.text}
            share={row.shareText}
            isPressed={!row.isOthers && picked.includes(row.name)}
            onClick={event => {
              if (row.isOthers) {
                onShowAll();
              } else {
                selection.toggleFunction(row.name, event.altKey);
              }
            }}
            onHover={isHovered => show(isHovered ? keyOf(row) : null)}
          >
            <Bar
              parts={seenOf(stackedBar(row.parts, whole)).map(
                ({ part, width }) => ({ mark: markFor(part), width, title: '' })
              )}
            />
          </MetricItem>
        ))}
      </ul>
      {pointed !== undefined && (
        <FunctionCard
          row={pointed}
          isPartOfAll={isPartOfAll(result)}
          remarks={remarksIn(pointed, props)}
          trans={trans}
          boxOf={() =>
            (
              list.current?.children[rows.indexOf(pointed)] ?? document.body
            ).getBoundingClientRect()
          }
          onGone={() => setCard(null)}
        />
      )}
    </Block>
  );
}

/** What of its time was imports, then what its parts leave unknown, and why: in the card, for nobody looks for a tooltip of a word in a list below. */
function remarksIn(
  { parts }: FunctionRow,
  { result, isNode, trans }: FineMetricsViewProps
): string[] {
  const imports = parts
    .filter(({ id }) => id === 'import' && result.unit === 'seconds')
    .map(({ text }) =>
      trans.__(
        '%1 of it went into importing modules, before the tasks’ own code ran.',
        text
      )
    );
  const unknown = parts
    .filter(({ id }) => id === 'noncpu' || id === 'compute')
    .map(part => remarkOn(part, result, trans, isNode))
    .filter(why => why !== '');
  return [...imports, ...unknown];
}

/** The uses of a function's time, as shares of that time, like its row's bar; shown beside its row, never over it. */
function FunctionCard(props: {
  readonly row: FunctionRow;
  readonly isPartOfAll: boolean;
  readonly remarks: readonly string[];
  readonly trans: TranslationBundle;
  boxOf(): Box;
  onGone(): void;
}): JSX.Element {
  const { row, trans, boxOf, onGone } = props;
  return (
    <FloatingCard boxOf={boxOf} onGone={onGone}>
      <div className="sw-card-head">
        <strong>{row.name}</strong>
        <span className="sw-card-aside">
          {executionsText(row.executions, trans)}
          {' · '}
          {props.isPartOfAll
            ? trans.__('%1 under this filter', row.shareText)
            : trans.__('%1 of all', row.shareText)}
        </span>
      </div>
      <table className="sw-card-table">
        <tbody>
          {row.parts.map(part => (
            <tr key={part.id}>
              <td>
                <Swatch mark={markFor(part)} /> {partName(part, trans)}
              </td>
              <td>{part.text}</td>
              <td>{part.shareText}</td>
            </tr>
          ))}
          <tr>
            <th scope="row">{trans.__('total')}</th>
            <td>
              <strong>{row.text}</strong>
            </td>
            <td>
              {trans.__(
                '%1 of its total',
                formatShare(row.total > 0 ? 1 : null)
              )}
            </td>
          </tr>
        </tbody>
      </table>
      {props.remarks.map(remark => (
        <div key={remark} className="sw-card-why">
          {remark}
        </div>
      ))}
      <div className="sw-card-hint">
        {row.isOthers
          ? trans.__('click: show all functions')
          : trans.__('click: filter · Alt click: leave out')}
      </div>
    </FloatingCard>
  );
}

function PartList(props: {
  readonly label: string;
  readonly parts: readonly Part[];
  readonly whole: number;
  readonly result: FineMetricsResult;
  readonly isNode: boolean;
  readonly trans: TranslationBundle;
}): JSX.Element {
  return (
    <ExplainedList
      className="sw-metricList"
      names="long"
      label={props.label}
      items={props.parts.map(part => ({
        id: part.id,
        part,
        name: partName(part, props.trans),
        explanation: tooltipOf(part, props.result, props.trans, props.isNode)
      }))}
      itemOf={({ part, name, explanation }, focus) => (
        <MetricItem
          mark={markFor(part)}
          name={name}
          text={part.text}
          share={part.shareText}
          title={explanation || undefined}
          remark={
            remarkOn(part, props.result, props.trans, props.isNode) || undefined
          }
          focus={focus}
        >
          <Bar
            parts={[
              {
                mark: markFor(part),
                width: (part.value / props.whole) * 100,
                title: `${part.text}, ${part.shareText}`
              }
            ]}
          />
        </MetricItem>
      )}
    />
  );
}

/** One line: swatch, name, bar, figure, share. Its text reads "astype, 9.61 s, 4.1 %", then the remark, if there is one. */
function MetricItem(props: {
  readonly mark: Mark;
  readonly name: string;
  readonly text: string;
  readonly share?: string;
  readonly title?: string;
  /** What the name leaves open: in the title, and for screen readers that read the list and do not go through it. */
  readonly remark?: string;
  readonly isPressed?: boolean;
  /** Of a line that explains itself. */
  readonly focus?: ItemFocus;
  readonly children: React.ReactNode;
  onClick?(event: React.MouseEvent): void;
  onHover?(isHovered: boolean): void;
}): JSX.Element {
  const { mark, name, text, share, remark, onClick, onHover } = props;
  // The row's own shows at its name, too.
  const more = props.title ?? remark;
  const title = more === undefined ? undefined : `${name}\n${more}`;
  const label = (
    <>
      <Swatch mark={mark} />
      <span
        className="sw-metric-name"
        title={title === undefined ? name : undefined}
      >
        {name}
      </span>
    </>
  );
  return (
    <li
      className="sw-metric"
      title={title}
      onPointerEnter={() => onHover?.(true)}
      onClick={onClick}
      {...props.focus}
    >
      {onClick ? (
        <button
          type="button"
          className="sw-metric-label"
          aria-pressed={props.isPressed}
          onFocus={() => onHover?.(true)}
          onBlur={() => onHover?.(false)}
          onKeyDown={event => {
            if (event.key === 'Escape') {
              onHover?.(false);
            }
          }}
        >
          {label}
        </button>
      ) : (
        <span className="sw-metric-label">{label}</span>
      )}
      <span className="sw-comma">, </span>
      <span className="sw-metric-bar">{props.children}</span>
      <span className="sw-metric-figure">{text}</span>
      {share !== undefined && (
        <>
          <span className="sw-comma">, </span>
          <span className="sw-metric-share">{share}</span>
        </>
      )}
      {remark !== undefined && <span className="sw-comma">. {remark}</span>}
    </li>
  );
}

function Bar(props: {
  readonly parts: readonly {
    readonly mark: Mark;
    readonly width: number;
    readonly title: string;
  }[];
}): JSX.Element {
  return (
    <span className="sw-bar" aria-hidden="true">
      {props.parts.map((part, index) => {
        const { className, style } = markOf(part.mark, 'sw-bar-part');
        return (
          <span
            key={index}
            className={className}
            style={{ ...style, width: `${part.width}%` }}
            title={part.title || undefined}
          />
        );
      })}
    </span>
  );
}

function Block(props: {
  readonly title: string;
  readonly aside?: string;
  readonly children: React.ReactNode;
}): JSX.Element {
  return (
    <div className="sw-block">
      <div className="sw-block-title">
        {props.title}
        {props.aside && <span className="sw-block-aside">{props.aside}</span>}
      </div>
      {props.children}
    </div>
  );
}

function markFor(part: Part): Mark {
  return part.role;
}

/** Up and down go from row to row. */
function moveFocus(event: React.KeyboardEvent<HTMLElement>): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (step === 0) {
    return;
  }
  const buttons = [
    ...event.currentTarget.querySelectorAll<HTMLElement>('button')
  ];
  const index = buttons.findIndex(button => button === document.activeElement);
  buttons[index + step]?.focus();
  event.preventDefault();
}
