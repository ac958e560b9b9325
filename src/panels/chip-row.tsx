/**
 * The row under the toolbar that says what is filtered, lets each condition be taken away, and says how the source honoured it. It is not
 * there when nothing is filtered.
 */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { Condition } from '../feed/selection';
import type { Snapshot } from '../wire/panel-link';
import { formatDuration, formatTimeRange } from './format';

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
        <span className="sw-chips-honoured" title={honoured.why}>
          {honoured.why ? `${honoured.how}: ${honoured.why}` : honoured.how}
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
      <span className="sw-chip-kind">{kind}</span>{' '}
      {within !== '' && (
        <span className="sw-chip-within" title={value}>
          {within}
        </span>
      )}
      <span
        className="sw-chip-value"
        title={'caption' in condition ? condition.caption : value}
      >
        {value.slice(within.length)}
      </span>
      <button
        type="button"
        className="sw-chip-remove"
        aria-label={trans.__('Remove %1 %2', kind, value)}
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

/** `Alice › data load`, `data load (by tag)`, `astype`, `2`, `4.10 s – 21.3 s`. */
function chipValue(condition: Condition, trans: TranslationBundle): string {
  if (condition.kind !== 'time') {
    return condition.value;
  }
  const { range } = condition;
  return 'last' in range
    ? trans.__('last %1', formatDuration(range.last))
    : formatTimeRange(range.from, range.to);
}
