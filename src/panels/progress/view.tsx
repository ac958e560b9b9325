/** Progress: a bar of all tasks, and one of each function. HTML, so that it reflows by its own width. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { SelectionModel } from '../../feed/selection';
import type { ProgressResult, TaskCounts } from '../../wire/panel-link';
import { formatCount } from '../format';
import { type Mark, markOf, Swatch } from '../mark';
import { usePointerOver } from '../use-pointer-over';
import { useSteadyRows } from '../use-steady-rows';
import {
  detailText,
  doneText,
  headlineText,
  type Order,
  otherTexts,
  type ProgressRow,
  progressRows,
  remarkOf,
  shareText,
  type Stretch,
  STRETCHES,
  stretchText
} from './rows';

/** Of all functions together. */
const ALL = { slot: -1, round: 0 };

export function ProgressView(props: {
  readonly result: ProgressResult;
  readonly order: Order;
  readonly selection: SelectionModel;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { result, trans } = props;
  const { total } = result;
  const title = headlineText(result, trans);
  const remark = remarkOf(result, trans);
  return (
    <div className="sw-Progress">
      <div className="sw-block-title">
        {title}
        <span className="sw-block-aside">{shareText(total)}</span>
      </div>
      <div
        role="img"
        aria-label={title}
        aria-description={otherTexts(total, trans).join(', ')}
      >
        <Bar counts={total} of={ALL} className="sw-Progress-all" />
      </div>
      <ul className="sw-legend" aria-label={trans.__('Legend')}>
        {STRETCHES.filter(stretch => (total[stretch] ?? 0) > 0).map(stretch => (
          <li className="sw-legend-item" key={stretch}>
            <Swatch mark={markFor(stretch, ALL)} />
            <span>{stretchText(stretch, total[stretch] ?? 0, trans)}</span>
          </li>
        ))}
      </ul>
      {remark !== '' && <p className="sw-drawer-note">{remark}</p>}
      <ByFunction {...props} />
    </div>
  );
}

function ByFunction(props: {
  readonly result: ProgressResult;
  readonly order: Order;
  readonly selection: SelectionModel;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { result, order, selection, trans } = props;
  const list = React.useRef<HTMLUListElement>(null);
  const { isOver, enter } = usePointerOver(list);
  const rows = useSteadyRows(
    progressRows(result, order, trans),
    order,
    isOver,
    row => row.key
  );
  const picked = selection.filter.functions ?? [];
  const all = result.functions.length + (result.others?.functions ?? 0);
  const title = trans.__('By function');
  return (
    <div className="sw-block">
      <div className="sw-block-title">
        {title}
        <span className="sw-block-aside">
          {trans._n('%2 function', '%2 functions', all, formatCount(all))}
        </span>
      </div>
      <ul
        ref={list}
        className="sw-Progress-list"
        aria-label={title}
        onPointerEnter={enter}
      >
        {rows.map(row => (
          <FunctionItem
            key={row.key}
            row={row}
            isPressed={!row.isOthers && picked.includes(row.name)}
            trans={trans}
            onClick={event => selection.toggleFunction(row.name, event.altKey)}
          />
        ))}
      </ul>
    </div>
  );
}

/** One line; its text reads "smooth 312 of 400 · 4 running · 84 waiting · 2 failed". */
function FunctionItem(props: {
  readonly row: ProgressRow;
  readonly isPressed: boolean;
  readonly trans: TranslationBundle;
  onClick(event: React.MouseEvent): void;
}): JSX.Element {
  const { row, isPressed, trans, onClick } = props;
  const others = otherTexts(row, trans);
  const label = (
    <>
      <Swatch mark={markFor('done', row)} />
      <span className="sw-Progress-name">{row.name}</span>
    </>
  );
  return (
    <li className="sw-Progress-item" title={detailText(row, trans)}>
      {row.isOthers ? (
        <span className="sw-Progress-label">{label}</span>
      ) : (
        <button
          type="button"
          className="sw-Progress-label"
          aria-pressed={isPressed}
          onClick={onClick}
        >
          {label}
        </button>
      )}{' '}
      <Bar counts={row} of={row} className="sw-Progress-bar" />
      <span className="sw-Progress-text">
        <span className="sw-Progress-done">{doneText(row, trans)}</span>
        {others.length > 0 && (
          <span className="sw-Progress-others">
            {` · ${others.join(' · ')}`}
          </span>
        )}
      </span>
    </li>
  );
}

type Slot = { readonly slot: number; readonly round: number };

/** What is done has the function's colour, what runs a paler one with an edge, what failed the cross of all that fails; the rest is empty. */
function markFor(stretch: Stretch, of: Slot): Mark {
  switch (stretch) {
    case 'done':
      return { slot: of.slot, round: of.round };
    case 'running':
      return { runningSlot: of.slot };
    case 'failed':
      return { kind: 'failed' };
    case 'waiting':
      return { idle: 'nothing-runnable' };
    case 'dropped':
      return { kind: 'rest' };
  }
}

/** As long for each function, and divided by its tasks; what is little is seen all the same. */
function Bar(props: {
  readonly counts: TaskCounts;
  readonly of: Slot;
  readonly className: string;
}): JSX.Element {
  const { counts, of } = props;
  return (
    <span className={`sw-bar ${props.className}`} aria-hidden="true">
      {STRETCHES.map(stretch => {
        const count = counts[stretch] ?? 0;
        if (count === 0) {
          return null;
        }
        const { className, style } = markOf(
          markFor(stretch, of),
          'sw-Progress-stretch'
        );
        return (
          <span
            key={stretch}
            className={className}
            data-stretch={stretch}
            style={{ ...style, flexGrow: count }}
          />
        );
      })}
    </span>
  );
}
