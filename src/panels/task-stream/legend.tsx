/** What the colours mean, with the time of each. A click selects the function, Alt-click leaves it out, as everywhere; a click on how runs ended selects those that did. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { SelectionModel } from '../../feed/selection';
import { formatCount } from '../format';
import { Swatch } from '../mark';
import { useEntriesOutOfSight } from './entries-out-of-sight';
import type { TaskStreamModel } from './model';
import {
  endedFirst,
  foldedItems,
  foldedText,
  functionCount,
  type LegendItem,
  legendItems,
  placesOf,
  sharedColoursText
} from './rows';

export function Legend(props: {
  readonly model: TaskStreamModel;
  readonly selection: SelectionModel;
  readonly trans: TranslationBundle;
}): JSX.Element | null {
  const { model, selection, trans } = props;
  const [, redraw] = React.useReducer((count: number) => count + 1, 0);
  const [isOpen, setIsOpen] = React.useState(false);
  const [isWhole, setIsWhole] = React.useState(false);
  const list = React.useRef<HTMLUListElement>(null);
  const rest = React.useRef<HTMLLIElement>(null);
  const isKnown = model.result !== null;
  const hidden = useEntriesOutOfSight(list, rest, isWhole, isKnown);
  React.useEffect(() => {
    const onChange = () => redraw();
    model.changed.connect(onChange);
    selection.changed.connect(onChange);
    return () => {
      model.changed.disconnect(onChange);
      selection.changed.disconnect(onChange);
    };
  }, [model, selection]);
  const result = model.result;
  if (result === null) {
    return null;
  }
  const { functions, status } = selection.filter;
  const items = endedFirst(legendItems(result, model.colourBy, trans));
  const more = foldedItems(items);
  const shown = isOpen ? items : items.filter(item => !more.has(item));
  const shared = sharedColoursText(shown, trans);
  return (
    <ul
      ref={list}
      className={isWhole ? 'sw-legend sw-is-whole' : 'sw-legend'}
      aria-label={trans.__('Legend')}
    >
      {shown.map(item => (
        <li
          key={`${item.kind} ${item.name}`}
          title={[item.title, placesOf(item, trans)].filter(Boolean).join('\n')}
        >
          {item.kind === 'function' ? (
            <button
              type="button"
              className="sw-legend-item"
              aria-pressed={functions?.includes(item.name) ?? false}
              onClick={event => {
                selection.toggleFunction(item.name, event.altKey);
              }}
            >
              <EntryParts item={item} />
            </button>
          ) : item.kind !== 'others' && item.status !== undefined ? (
            <button
              type="button"
              className="sw-legend-item"
              aria-pressed={status?.includes(item.status) ?? false}
              onClick={event => {
                // (no filter leaves out how runs ended)
                if (!event.altKey) {
                  selection.toggleStatus(item.status!);
                }
              }}
            >
              <EntryParts item={item} />
            </button>
          ) : (
            <span className="sw-legend-item">
              <EntryParts item={item} />
            </span>
          )}
        </li>
      ))}
      {more.size > 0 && (
        <li>
          <button
            type="button"
            className="sw-legend-item sw-legend-figure"
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            {isOpen
              ? trans.__('fewer')
              : foldedText(functionCount(more), trans)}
          </button>
        </li>
      )}
      {shared !== '' && <li className="sw-legend-figure">{shared}</li>}
      {hidden > 0 && (
        <li ref={rest} className="sw-legend-rest">
          <button
            type="button"
            className="sw-legend-item"
            aria-expanded={isWhole}
            aria-label={restLabel(isWhole, hidden, trans)}
            title={restLabel(isWhole, hidden, trans)}
            onClick={() => setIsWhole(!isWhole)}
          >
            {isWhole ? '−' : `+${formatCount(hidden)}`}
          </button>
        </li>
      )}
    </ul>
  );
}

function restLabel(
  isWhole: boolean,
  hidden: number,
  trans: TranslationBundle
): string {
  return isWhole
    ? trans.__('Show less of the legend')
    : trans._n(
        'Show %2 more entry of the legend',
        'Show %2 more entries of the legend',
        hidden,
        formatCount(hidden)
      );
}

function EntryParts({ item }: { readonly item: LegendItem }): JSX.Element {
  return (
    <>
      {item.kind === 'function' ? (
        <Swatch mark={{ slot: item.slot, round: item.round }} />
      ) : item.kind === 'others' ? (
        <Swatch mark={{ slot: -1, round: 0 }} />
      ) : (
        item.kind !== 'unmarked' && (
          <Swatch
            mark={{ kind: item.kind === 'compute' ? 'cpu' : item.kind }}
          />
        )
      )}
      <span className="sw-legend-name">{item.name}</span>
      <span className="sw-legend-figure">{item.text}</span>
    </>
  );
}
