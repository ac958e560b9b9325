/**
 * A list whose items explain themselves. One of them is in the order of Tab, arrows go from there to the others that have something to say, and
 * the one that has the focus shows in a card what the pointer finds in its tooltip.
 */
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import { FloatingCard } from './floating-card';

type Explained = {
  readonly id: string;
  readonly name: string;
  /** '': there is nothing to say, as of a label of users' own. */
  readonly explanation: string;
};

export type ItemFocus = Pick<
  React.LiHTMLAttributes<HTMLLIElement>,
  'tabIndex' | 'onFocus' | 'onBlur'
>;

const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowRight: 1,
  ArrowUp: -1,
  ArrowLeft: -1,
  Home: -Infinity,
  End: Infinity
};

export function ExplainedList<T extends Explained>(props: {
  readonly className: string;
  readonly label: string;
  /** What the style sheet says of lists with long names. */
  readonly names?: 'long';
  readonly items: readonly T[];
  /** An `li`, which has these properties too. */
  readonly itemOf: (item: T, focus: ItemFocus) => React.ReactNode;
}): JSX.Element {
  const { items } = props;
  const list = React.useRef<HTMLUListElement>(null);
  const [last, setLast] = React.useState<string | null>(null);
  const [explained, setExplained] = React.useState<string | null>(null);
  // Who comes by Tab is where the focus was before, if that is still there.
  const sayers = items.filter(({ explanation }) => explanation !== '');
  const inOrder = sayers.find(({ id }) => id === last) ?? sayers[0];
  const shown = sayers.find(({ id }) => id === explained);
  const move = (event: React.KeyboardEvent<HTMLElement>): void => {
    const step = STEPS[event.key];
    const rows = [
      ...event.currentTarget.querySelectorAll<HTMLElement>(
        ':scope > [tabindex]'
      )
    ];
    const at = rows.findIndex(row => row === document.activeElement);
    if (step !== undefined && at >= 0) {
      rows[Math.min(rows.length - 1, Math.max(0, at + step))]!.focus();
      event.preventDefault();
    }
  };
  return (
    <>
      <ul
        ref={list}
        className={props.className}
        data-names={props.names}
        aria-label={props.label}
        onKeyDown={move}
      >
        {items.map(item => (
          <React.Fragment key={item.id}>
            {props.itemOf(
              item,
              item.explanation === ''
                ? {}
                : {
                    tabIndex: item === inOrder ? 0 : -1,
                    onFocus: () => {
                      setLast(item.id);
                      setExplained(item.id);
                    },
                    onBlur: () => setExplained(null)
                  }
            )}
          </React.Fragment>
        ))}
      </ul>
      {shown !== undefined && (
        <FloatingCard
          boxOf={() =>
            (
              list.current?.children[items.indexOf(shown)] ?? document.body
            ).getBoundingClientRect()
          }
          onGone={() => setExplained(null)}
        >
          <div className="sw-card-head">
            <strong>{shown.name}</strong>
          </div>
          <div className="sw-card-why">{shown.explanation}</div>
        </FloatingCard>
      )}
    </>
  );
}
