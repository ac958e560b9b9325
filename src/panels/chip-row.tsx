/**
 * The row under the toolbar that says what is filtered, lets each condition be taken away, and says how the source honoured it. It is not
 * there when nothing is filtered.
 */
import type { TranslationBundle } from '@jupyterlab/translation';
import { createElement } from '../charts/shown-element';
import type { Trans } from '../base/trans';
import type { Condition } from '../feed/selection';
import type { Snapshot } from '../wire/panel-link';
import { formatDuration, formatTimeRange, legendWord } from './format';

type ChipRowProps = {
  readonly conditions: readonly Condition[];
  readonly honoured: Snapshot['honoured'] | null;
  readonly trans: TranslationBundle;
  /** Shown at the left ("Filter"); the sidebar has none. */
  readonly label?: string;
  onRemove(id: string): void;
  /** This may remove the chips and the focused button with them: the owner moves the focus. */
  onClear(): void;
};

export function ChipRow(props: ChipRowProps): JSX.Element | null {
  const { conditions, honoured, trans } = props;
  if (conditions.length === 0) {
    return null;
  }
  return (
    <div className="sw-chips">
      {props.label && (
        <span className="sw-chips-label" aria-hidden="true">
          {props.label}
        </span>
      )}
      <ul className="sw-chips-list" aria-label={trans.__('Filter')}>
        {conditions.map(condition => (
          <Chip key={condition.id} condition={condition} {...props} />
        ))}
      </ul>
      <button type="button" className="sw-link" onClick={props.onClear}>
        {trans.__('Clear filter')}
      </button>
      {honoured && (
        <span
          className="sw-chips-honoured"
          data-says={honoured.why ? 'why' : undefined}
          title={honoured.why}
        >
          {honoured.why
            ? trans.__('%1: %2', howText(honoured.how, trans), honoured.why)
            : howText(honoured.how, trans)}
        </span>
      )}
    </div>
  );
}

function Chip(
  props: ChipRowProps & { readonly condition: Condition }
): JSX.Element {
  const { condition, trans } = props;
  const { id, kind } = condition;
  const value = chipValue(condition, trans);
  const within = ('within' in condition && condition.within) || '';
  return (
    <li className="sw-chip">
      <span className="sw-chip-kind">{kindText(kind, trans)}</span>{' '}
      {within !== '' && (
        <span className="sw-chip-within" title={value}>
          {within}
        </span>
      )}
      <span
        className="sw-chip-value"
        title={
          'isTag' in condition && condition.isTag
            ? trans.__(
                'every span with the tag %1, wherever it is',
                condition.value
              )
            : value
        }
      >
        {value.slice(within.length)}
      </span>
      <button
        type="button"
        className="sw-chip-remove"
        aria-label={trans.__('Remove %1 %2', kindText(kind, trans), value)}
        onClick={() => props.onRemove(id)}
        onKeyDown={event => {
          if (event.key === 'Delete' || event.key === 'Backspace') {
            event.preventDefault();
            props.onRemove(id);
          }
        }}
      >
        ×
      </button>
    </li>
  );
}

function kindText(kind: Condition['kind'], trans: Trans): string {
  switch (kind) {
    case 'any':
      return trans.__('any');
    case 'all':
      return trans.__('all');
    case 'not':
      return trans.__('not');
    case 'function':
      return trans.__('function');
    case 'not function':
      return trans.__('not function');
    case 'worker':
      return trans.__('worker');
    case 'status':
      return trans.__('status');
    case 'time':
      return trans.__('time');
  }
}

function howText(how: Snapshot['honoured']['how'], trans: Trans): string {
  switch (how) {
    case 'exact':
      return trans.__('exact');
    case 'approximate':
      return trans.__('approximate');
    case 'not filtered':
      return trans.__('not filtered');
    case 'not known':
      return trans.__('not known');
  }
}

/** "Alice › data loading" is not "data loading (by tag)", and neither is the top span "data loading". */
export function termText(
  { value, isTag }: { readonly value: string; readonly isTag?: true },
  trans: Trans
): string {
  return isTag === true ? trans.__('%1 (by tag)', value) : value;
}

/** `any Alice › data load`, `not function astype`, `time 4.10 s – 21.3 s`, as its chip says. */
export function conditionText(
  condition: Condition,
  trans: TranslationBundle
): string {
  return trans.__(
    '%1 %2',
    kindText(condition.kind, trans),
    chipValue(condition, trans)
  );
}

/** `Alice › data load`, `data load (by tag)`, `astype`, `2`, `4.10 s – 21.3 s`. */
function chipValue(condition: Condition, trans: TranslationBundle): string {
  if (condition.kind === 'status') {
    return legendWord(condition.value, trans);
  }
  if (condition.kind !== 'time') {
    return termText(condition, trans);
  }
  const { range } = condition;
  return 'last' in range
    ? trans.__('last %1', formatDuration(range.last))
    : formatTimeRange(range.from, range.to);
}
