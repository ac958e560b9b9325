/** The tree of nested tags with their time and share; a click filters every panel of the cluster. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { caretDownEmptyIcon, notebookIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import type { SelectionModel, SpanMatch } from '../feed/selection';
import {
  failedText,
  formatCount,
  formatDuration,
  formatShare,
  runningText
} from '../panels/format';
import { Swatch } from '../panels/mark';
import { passText } from '../panels/passes';
import type { SpanTerm } from '../wire/panel-link';
import { treeAction } from './span-tree-keys';
import {
  failuresOf,
  sharedBeginnings,
  type SpanNode,
  standing,
  type VisibleSpan,
  workText
} from './span-tree-rows';

type SpanTreeProps = {
  readonly rows: readonly VisibleSpan[];
  readonly search: string;
  readonly selection: SelectionModel;
  /** Of the cluster, by the wall clock, seconds. */
  readonly startedAt: number;
  /** Nothing more will be told of the cluster. */
  readonly isOver: boolean;
  readonly trans: TranslationBundle;
  setCollapsed(keys: readonly string[], isCollapsed: boolean): void;
};

export function SpanTree(props: SpanTreeProps): JSX.Element {
  const { rows, selection } = props;
  const [focusedKey, setFocused] = React.useState<string | null>(null);
  const tree = React.useRef<HTMLUListElement>(null);
  // One item takes part in the tab order: the one last focused, while it is shown.
  const tabKey = rows.some(({ node }) => node.key === focusedKey)
    ? focusedKey
    : (rows[0]?.node.key ?? null);

  const focus = (key: string) => {
    setFocused(key);
    const items =
      tree.current?.querySelectorAll<HTMLElement>('[role="treeitem"]');
    [...(items ?? [])].find(item => item.dataset.key === key)?.focus();
  };

  const onKeyDown = (event: React.KeyboardEvent) => {
    const item = event.target as HTMLElement;
    // A row's own buttons handle the keys pressed in them.
    if (item.getAttribute('role') !== 'treeitem' || event.ctrlKey) {
      return;
    }
    const key = item.dataset.key ?? '';
    const action = treeAction(event, rows, key);
    if (action === null) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (action.do === 'focus') {
      focus(action.key);
    } else if (action.do === 'match') {
      const row = rows.find(({ node }) => node.key === key);
      const term = row && termOf(row.node, props);
      if (term) {
        selection.toggleSpan(term, action.match);
      }
    } else {
      props.setCollapsed(action.keys, action.do === 'collapse');
    }
  };

  const branch = (parentKey: string | null): React.ReactNode => {
    const siblings = rows.filter(row => row.parentKey === parentKey);
    const shared = sharedBeginnings(
      siblings.flatMap(({ node }) => (node.pass === null ? [node.tag] : []))
    );
    return siblings.map(row => (
      <TreeItem
        key={row.node.key}
        row={row}
        shared={row.node.pass === null ? (shared.get(row.node.tag) ?? 0) : 0}
        isTabStop={row.node.key === tabKey}
        inside={rowsInside(rows, row)}
        onFocus={() => setFocused(row.node.key)}
        {...props}
      >
        {row.isExpanded === true && (
          <ul role="group">{branch(row.node.key)}</ul>
        )}
      </TreeItem>
    ));
  };

  return (
    <ul
      ref={tree}
      className="sw-span-tree"
      role="tree"
      aria-label={props.trans.__('Spans')}
      aria-multiselectable="true"
      style={
        { '--sw-time-width': `${longestTime(rows)}ch` } as React.CSSProperties
      }
      onKeyDown={onKeyDown}
    >
      {branch(null)}
    </ul>
  );
}

function TreeItem(
  props: SpanTreeProps & {
    readonly row: VisibleSpan;
    /** Letters with which the name of another row beside it begins, too. */
    readonly shared: number;
    readonly isTabStop: boolean;
    /** Rows shown inside it, at any depth. */
    readonly inside: number;
    readonly children: React.ReactNode;
    onFocus(): void;
  }
): JSX.Element {
  const { row, selection, trans } = props;
  const { node } = row;
  const name = nameOf(node, props);
  const term = termOf(node, props);
  const match = term === null ? null : selection.matchOf(term);
  const where = standing(node, selection.filter);
  const turn = () => {
    if (row.isExpanded !== null) {
      props.setCollapsed([node.key], row.isExpanded);
    }
  };
  const onClick = (event: React.MouseEvent<HTMLElement>) => {
    // The chips of the first click moved the rows: the second of a double click would hit another one.
    if (event.detail > 1) {
      return;
    }
    event.currentTarget.parentElement?.focus();
    if (term === null) {
      turn();
    } else if (event.altKey) {
      selection.toggleSpan(term, 'not');
    } else if (event.shiftKey || event.ctrlKey || event.metaKey) {
      selection.toggleSpan(term, 'any');
    } else {
      selection.pickSpan(term);
    }
  };
  return (
    <li
      role="treeitem"
      aria-label={name}
      aria-description={description(node, props)}
      aria-level={row.level + 1}
      aria-expanded={row.isExpanded ?? undefined}
      aria-selected={match === 'any' || match === 'all'}
      data-key={node.key}
      tabIndex={props.isTabStop ? 0 : -1}
      style={{ '--sw-inside': props.inside } as React.CSSProperties}
      onFocus={event => {
        if (event.target === event.currentTarget) {
          props.onFocus();
        }
      }}
    >
      <div
        className={`sw-span-tree-row${where === 'outside' ? ' sw-is-dimmed' : ''}${where === 'excluded' ? ' sw-is-excluded' : ''}`}
        style={{ '--sw-level': row.level } as React.CSSProperties}
        title={`${node.isClient ? node.client : name}\n${description(node, props)}`}
        onClick={onClick}
      >
        <span
          className="sw-span-tree-caret"
          aria-hidden="true"
          onClick={event => {
            if (row.isExpanded !== null) {
              event.stopPropagation();
              turn();
            }
          }}
        >
          {row.isExpanded !== null && <caretDownEmptyIcon.react tag="span" />}
        </span>
        {node.isClient && (
          <notebookIcon.react
            tag="span"
            className="sw-span-tree-client"
            aria-hidden="true"
          />
        )}
        <span
          className={`sw-span-tree-tag${node.pass === null ? '' : ' sw-span-tree-pass'}`}
        >
          {row.isFound || props.shared === 0 ? (
            <Marked text={name} search={row.isFound ? props.search : ''} />
          ) : (
            <>
              <span className="sw-span-tree-shared">
                {node.tag.slice(0, props.shared)}
              </span>
              <span className="sw-span-tree-own">
                {node.tag.slice(props.shared)}
              </span>
            </>
          )}
        </span>
        {node.passes > 1 && (
          <span className="sw-span-tree-passes" aria-hidden="true">
            ×{formatCount(node.passes)}
          </span>
        )}
        {node.running > 0 && (
          // (its words are in the row's description)
          <span className="sw-span-tree-running" aria-hidden="true" />
        )}
        <FailedMark row={row} trans={trans} />
        {match !== null && (
          <span className="sw-span-tree-match" aria-hidden="true">
            {match}
          </span>
        )}
        {term !== null && (
          <MatchButtons {...props} name={name} term={term} match={match} />
        )}
        <Figures node={node} trans={trans} />
      </div>
      {props.children}
    </li>
  );
}

/** As failed boxes in the charts; pale where they are further inside. What it says is in the row's description too. */
function FailedMark(props: {
  readonly row: VisibleSpan;
  readonly trans: TranslationBundle;
}): JSX.Element | null {
  const { row, trans } = props;
  const where = failuresOf(row);
  if (where === null) {
    return null;
  }
  const text = failedText(row.node, trans);
  const title = where === 'own' ? text : trans.__('Inside: %1', text);
  return (
    <span
      className={`sw-span-tree-failed${where === 'inside' ? ' sw-is-inside' : ''}`}
      title={title}
      aria-hidden="true"
    >
      {where === 'own' ? <Swatch mark={{ kind: 'failed' }} /> : '✕'}
    </span>
  );
}

/** Its share, time and tasks. All passes of a span have the sums of the row above them, which is why they tell how long one took. */
function Figures(props: {
  readonly node: SpanNode;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { node, trans } = props;
  const { pass } = node;
  if (pass?.kind === 'all') {
    return (
      <span className="sw-span-tree-range" aria-hidden="true">
        {pass.took !== null && rangeText(pass.took, trans)}
      </span>
    );
  }
  return (
    <>
      <span className="sw-span-tree-share" aria-hidden="true">
        <span style={{ width: `${Math.min(100, 100 * node.share)}%` }} />
      </span>
      <span className="sw-span-tree-time" aria-hidden="true">
        {timeText(node)}
      </span>
      <span className="sw-span-tree-tasks" aria-hidden="true">
        <Work node={node} trans={trans} />
      </span>
    </>
  );
}

function timeText({ pass, seconds }: SpanNode): string {
  return formatDuration(
    pass?.kind === 'one' ? (pass.took ?? seconds) : seconds
  );
}

/** In letters. (A letter is at most as wide as a digit but for m, and spaces and points make up for that.) */
function longestTime(rows: readonly VisibleSpan[]): number {
  return rows.reduce(
    (longest, { node }) =>
      node.pass?.kind === 'all'
        ? longest
        : Math.max(longest, timeText(node).length),
    0
  );
}

function rangeText(
  { least, most }: { readonly least: number; readonly most: number },
  trans: TranslationBundle
): string {
  const [from, to] = [formatDuration(least), formatDuration(most)];
  return from === to ? from : trans.__('%1 – %2', from, to);
}

/** The number is never cut. If it is not of tasks it looks different, and says what it counts where there is room. */
function Work(props: {
  readonly node: SpanNode;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { tasks, executions } = props.node;
  if (tasks > 0 || executions === 0) {
    return <>{formatCount(tasks)}</>;
  }
  const figure = formatCount(executions);
  // (which comes first depends on the language)
  const [before, after] = workText(props.node, props.trans).split(figure);
  const unit = (text: string | undefined) =>
    text !== undefined &&
    text !== '' && <span className="sw-span-tree-unit">{text}</span>;
  return (
    <>
      {unit(before)}
      <em>{figure}</em>
      {unit(after)}
    </>
  );
}

function MatchButtons(
  props: SpanTreeProps & {
    readonly name: string;
    readonly term: SpanTerm;
    readonly match: SpanMatch | null;
  }
): JSX.Element {
  return (
    <span
      className="sw-span-tree-buttons"
      role="group"
      aria-label={props.trans.__('Match %1', props.name)}
    >
      {(['any', 'all', 'not'] as const).map(match => (
        <button
          key={match}
          type="button"
          tabIndex={-1}
          aria-pressed={props.match === match}
          onClick={event => {
            event.stopPropagation();
            props.selection.toggleSpan(props.term, match);
          }}
        >
          {match}
        </button>
      ))}
    </span>
  );
}

type Naming = Pick<SpanTreeProps, 'startedAt' | 'trans'>;

function nameOf(node: SpanNode, { startedAt, trans }: Naming): string {
  const { pass } = node;
  switch (pass?.kind) {
    case undefined:
      return node.tag;
    case 'one':
      return passText(pass, startedAt, trans);
    case 'all':
      return passesText(pass.count, trans);
    case 'earlier':
      return trans._n(
        '%2\u00a0earlier pass',
        '%2\u00a0earlier passes',
        pass.count,
        formatCount(pass.count)
      );
    case 'together':
      return trans._n(
        '%2\u00a0pass, not told apart',
        '%2\u00a0passes, counted together',
        pass.count,
        formatCount(pass.count)
      );
  }
}

/** What a filter is called is what its row was called. */
function termOf(node: SpanNode, naming: Naming): SpanTerm | null {
  const { term, pass } = node;
  return term !== null && 'path' in term && pass !== null
    ? { ...term, pass: nameOf(node, naming) }
    : term;
}

function passesText(count: number, trans: TranslationBundle): string {
  return trans._n('%2\u00a0pass', '%2\u00a0passes', count, formatCount(count));
}

/** Rows follow one another depth first: those inside are the deeper ones right after it. */
function rowsInside(rows: readonly VisibleSpan[], row: VisibleSpan): number {
  const start = rows.indexOf(row) + 1;
  const end = rows.findIndex(
    (other, index) => index >= start && other.level <= row.level
  );
  return (end < 0 ? rows.length : end) - start;
}

/** The text with the place where it was found marked; as text, whatever it holds. */
function Marked(props: {
  readonly text: string;
  readonly search: string;
}): JSX.Element {
  const wanted = props.search.trim().toLocaleLowerCase();
  const at =
    wanted === '' ? -1 : props.text.toLocaleLowerCase().indexOf(wanted);
  if (at < 0) {
    return <>{props.text}</>;
  }
  const end = at + wanted.length;
  return (
    <>
      {props.text.slice(0, at)}
      <mark>{props.text.slice(at, end)}</mark>
      {props.text.slice(end)}
    </>
  );
}

function description(
  node: SpanNode,
  { isOver, trans }: Pick<SpanTreeProps, 'isOver' | 'trans'>
): string {
  const parts = [
    trans.__(
      '%1 of thread time, %2',
      formatDuration(node.seconds),
      formatShare(node.share)
    ),
    workText(node, trans)
  ];
  if (node.passes > 1) {
    parts.push(passesText(node.passes, trans));
  }
  if (node.pass?.kind === 'one') {
    const { seconds, took } = node.pass;
    const length = formatDuration(took ?? seconds);
    parts.push(
      took !== null
        ? trans.__('took %1', length)
        : seconds !== null && node.running > 0
          ? trans.__('open for %1', length)
          : seconds !== null
            ? trans.__('open for %1, tasks of it ran later', length)
            : isOver
              ? trans.__('nobody has told when it ended')
              : trans.__('still open')
    );
  }
  if (node.pass?.kind === 'all' && node.pass.took !== null) {
    parts.push(trans.__('one took %1', rangeText(node.pass.took, trans)));
  }
  if (node.running > 0) {
    parts.push(runningText(node.running, node.runningCancelled, trans));
  }
  if (node.waiting > 0) {
    parts.push(trans.__('%1 waiting', formatCount(node.waiting)));
  }
  if (node.failed > 0) {
    parts.push(failedText(node, trans));
  }
  return parts.join(' · ');
}
