/** Two runs as a headline, a table of figures, and bars of what took less or more. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import { Loading } from '../loading';
import {
  areComparable,
  areSame,
  type By,
  byWord,
  changeText,
  columnNames,
  differenceOf,
  differenceText,
  type Figure,
  figureRows,
  figureWord,
  formatOf,
  matchText,
  type NamedRow,
  namedRows,
  nameText,
  notKnown,
  type Pair,
  shortHeadline,
  shownRows,
  type Sides,
  type Unit,
  unitOf
} from './rows';

type CompareViewProps = {
  readonly sides: Sides;
  readonly by: By;
  readonly figure: Figure;
  readonly isFiltered: boolean;
  /** Why something else is compared than before; '': there is nothing to say. */
  readonly turned: string;
  /** Why a run does not answer; null: both do, or will. */
  readonly failure: string | null;
  /** What is compared by what. */
  readonly controls: React.ReactNode;
  readonly trans: TranslationBundle;
};

export function CompareView(props: CompareViewProps): JSX.Element {
  const { sides, isFiltered, failure, trans } = props;
  const waiting = sides.find(({ metrics }) => metrics === null);
  if (waiting !== undefined) {
    return (
      <div className="sw-Compare">
        {failure === null ? (
          <Loading
            text={trans.__('Loading the figures of %1…', waiting.name)}
          />
        ) : (
          <p role="alert">{failure}</p>
        )}
      </div>
    );
  }
  const { line, details } = shortHeadline(sides, isFiltered, trans);
  return (
    <div className="sw-Compare">
      <h3 className="sw-Compare-headline">{line}</h3>
      {details.length > 0 && (
        <ul
          className="sw-Compare-notes sw-Compare-details"
          aria-label={trans.__('What the headline leaves out')}
        >
          {details.map(detail => (
            <li key={detail}>{detail}</li>
          ))}
        </ul>
      )}
      {props.turned !== '' && (
        <p className="sw-Compare-match">{props.turned}</p>
      )}
      <p className="sw-Compare-match">{matchText(sides, trans)}</p>
      <Figures {...props} />
      <ByName {...props} />
    </div>
  );
}

function Figures(props: CompareViewProps): JSX.Element {
  const { sides, isFiltered, trans } = props;
  const rows = figureRows(sides, isFiltered, trans);
  const notes = notKnown(sides, rows, trans);
  return (
    <>
      <table className="sw-table" aria-label={trans.__('Figures')}>
        <thead>
          <tr>
            <th scope="col">{trans.__('Figure')}</th>
            {columnNames(sides, trans).map((name, i) => (
              <th key={i} scope="col" className="sw-table-number" title={name}>
                <span className="sw-Compare-mark" data-run={i + 1} />
                {name}
              </th>
            ))}
            <DifferenceHeads trans={trans} />
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={row.id}>
              <th scope="row" title={row.title}>
                {row.label}
              </th>
              {row.values.map((value, i) => (
                <td
                  key={i}
                  className="sw-table-number"
                  data-run={i + 1}
                  title={row.why[i]}
                >
                  {value === null && row.why[i] !== ''
                    ? trans.__('not known')
                    : formatOf(value, row.unit)}
                </td>
              ))}
              <Difference
                values={row.values}
                unit={row.unit}
                isComparable={areComparable(sides, 'whole', isFiltered)}
                trans={trans}
              />
            </tr>
          ))}
        </tbody>
      </table>
      {notes.length > 0 && (
        <ul className="sw-Compare-notes" aria-label={trans.__('Not known')}>
          {notes.map(note => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </>
  );
}

function DifferenceHeads(props: {
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { trans } = props;
  return (
    <>
      <th scope="col" className="sw-table-number sw-Compare-difference">
        {trans.__('Difference')}
      </th>
      <th scope="col" className="sw-table-number sw-Compare-change">
        {trans.__('Change')}
      </th>
    </>
  );
}

function Difference(props: {
  readonly values: Pair;
  readonly unit: Unit;
  /** Otherwise the cells are empty. */
  readonly isComparable: boolean;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { values, unit, trans } = props;
  if (!props.isComparable) {
    return (
      <>
        <td className="sw-table-number sw-Compare-difference" />
        <td className="sw-Compare-change" />
      </>
    );
  }
  if (areSame(values, unit)) {
    return (
      <>
        <td className="sw-table-number sw-Compare-difference sw-Compare-same">
          {trans.__('same')}
        </td>
        <td className="sw-Compare-change" />
      </>
    );
  }
  return (
    <>
      <td className="sw-table-number sw-Compare-difference">
        {differenceText(differenceOf(values), unit)}
      </td>
      <td className="sw-table-number sw-Compare-change">
        {changeText(values)}
      </td>
    </>
  );
}

/** In two cells: a narrow panel has no column of changes. */
function OnlyIn(props: {
  readonly name: string;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const text = props.trans.__('only in %1', props.name);
  return (
    <>
      <td
        className="sw-table-number sw-Compare-difference sw-Compare-only"
        title={text}
      >
        {text}
      </td>
      <td className="sw-Compare-change" />
    </>
  );
}

function ByName(props: CompareViewProps): JSX.Element {
  const { sides, by, figure, isFiltered, trans } = props;
  const isComparable = areComparable(sides, by, isFiltered);
  const all = namedRows(sides, by, figure, isFiltered);
  const { rows, more } = shownRows(all);
  const sizeOf = ({ values, difference }: NamedRow) =>
    areSame(values, unitOf(figure)) ? 0 : Math.abs(difference ?? 0);
  const longest = rows.reduce((most, row) => Math.max(most, sizeOf(row)), 0);
  const names = columnNames(sides, trans);
  const title = trans.__(
    '%1, by %2',
    figureWord(figure, by, trans),
    byWord(by, trans)
  );
  return (
    <>
      <div className="sw-block-title sw-Compare-title">
        <span>{title}</span>
        <span className="sw-block-aside">
          {isComparable
            ? trans.__('largest difference first')
            : trans.__('largest first')}
          {by === 'span' && isFiltered
            ? ` · ${trans.__('of all spans, whatever is filtered')}`
            : ''}
        </span>
        <span className="sw-Compare-controls">{props.controls}</span>
      </div>
      <table className="sw-table sw-Compare-names" aria-label={title}>
        <thead>
          <tr>
            <th scope="col">{byWord(by, trans)}</th>
            {names.map((name, i) => (
              <th key={i} scope="col" className="sw-table-number" title={name}>
                <span className="sw-Compare-mark" data-run={i + 1} />
                {name}
              </th>
            ))}
            <th scope="col" className="sw-Compare-sides">
              <span>{trans.__('◂ less')}</span>
              <span>{trans.__('more ▸')}</span>
            </th>
            <DifferenceHeads trans={trans} />
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr
              key={row.name}
              className={row.only === null ? undefined : 'sw-Compare-ofOne'}
            >
              <th scope="row" title={row.name}>
                <bdi>{nameText(row.name, by, trans)}</bdi>
              </th>
              {row.values.map((value, i) => (
                <td key={i} className="sw-table-number" data-run={i + 1}>
                  {row.only !== null && row.only !== i
                    ? ''
                    : formatOf(value, unitOf(figure))}
                </td>
              ))}
              <td className="sw-Compare-bar">
                {row.only === null && isComparable && (
                  <DifferenceBar
                    isLess={(row.difference ?? 0) < 0}
                    share={longest === 0 ? 0 : (50 * sizeOf(row)) / longest}
                  />
                )}
              </td>
              {row.only === null ? (
                <Difference
                  values={row.values}
                  unit={unitOf(figure)}
                  isComparable={isComparable}
                  trans={trans}
                />
              ) : (
                <OnlyIn name={names[row.only]!} trans={trans} />
              )}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="sw-Compare-leftOut" data-what="bars">
        {trans.__('A wider panel has bars of the differences, too.')}
      </p>
      <p className="sw-Compare-leftOut" data-what="bars-and-changes">
        {trans.__(
          'A wider panel has changes in percent and bars of the differences, too.'
        )}
      </p>
      {more > 0 && (
        <p className="sw-drawer-note">
          {trans._n(
            '%1 more is in the table.',
            '%1 more are in the table.',
            more
          )}
        </p>
      )}
    </>
  );
}

/** To the left of the middle what took less, plain; to the right what took more, hatched. */
function DifferenceBar(props: {
  readonly isLess: boolean;
  /** Of the track, in percent. */
  readonly share: number;
}): JSX.Element {
  const { isLess, share } = props;
  return (
    <span className="sw-Compare-track" aria-hidden="true">
      <span
        className={
          isLess ? 'sw-fill sw-is-less' : 'sw-fill sw-is-more sw-pattern-slash'
        }
        style={{
          left: isLess ? `${50 - share}%` : '50%',
          width: `${share}%`
        }}
      />
    </span>
  );
}
