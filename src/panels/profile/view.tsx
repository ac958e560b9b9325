/** The profile: icicle, legend, activity line, and the facts of the selected frame beside or below them. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { SelectionModel } from '../../feed/selection';
import type { TimeRange } from '../../wire/panel-link';
import { Drawer } from '../drawer';
import { ExplainedList, type ItemFocus } from '../explained-list';
import { useFocusThatStays } from '../focus-that-stays';
import { Swatch } from '../mark';
import type { ITheme } from '../panel-context';
import { ShowAll } from '../show-all';
import { ActivityView } from './activity-view';
import type { Activity } from './figure';
import { IcicleView } from './icicle-view';
import { IMPORT_MARK, type LegendLine, legendOf } from './legend';
import {
  factsOf,
  type Found,
  type FrameTree,
  nameOf,
  pathKey,
  remarkOnImports,
  remarkOnState,
  samplingText,
  statesOf
} from './rows';

type ProfileViewProps = {
  readonly tree: FrameTree;
  readonly activity: Activity;
  readonly wholeActivity: Activity | null;
  readonly time: TimeRange;
  readonly focus: number | null;
  readonly selected: number | null;
  readonly found: Found | null;
  readonly selection: SelectionModel;
  readonly theme: ITheme;
  readonly trans: TranslationBundle;
  onZoom(node: number | null): void;
  onSelect(node: number | null): void;
};

export function ProfileView(props: ProfileViewProps): JSX.Element {
  const { tree, focus, trans } = props;
  const title =
    focus === null ? trans.__('all functions') : nameOf(tree, focus, trans);
  const page = React.useRef<HTMLDivElement>(null);
  // The drawer keeps it, if it was there and is open.
  useFocusThatStays(page, '.sw-Profile', had => [
    ...(had.closest('.sw-drawer') === null ? [] : ['.sw-drawer-body']),
    '.sw-Profile-icicle'
  ]);
  return (
    <div ref={page} className="sw-Profile">
      <div className="sw-Profile-main">
        <div className="sw-block-title">
          <span className="sw-Profile-title">{title}</span>
          {focus !== null && (
            <ShowAll trans={trans} onShowAll={() => props.onZoom(null)} />
          )}
          <span className="sw-block-aside sw-wide-only">
            {trans.__('click or Enter zooms to a frame, Escape goes back')}
          </span>
          <span className="sw-block-aside sw-figure sw-block-end sw-wide-only">
            {samplingText(tree.result, trans)}
          </span>
        </div>
        <IcicleView {...props} />
        <ExplainedList
          className="sw-legend"
          label={trans.__('Legend')}
          items={legendOf(tree, trans)}
          itemOf={(item, focus) => <LegendItem {...item} focus={focus} />}
        />
        <ActivityView
          activity={props.activity}
          states={statesOf(tree.result)}
          whole={props.wholeActivity}
          time={props.time}
          selection={props.selection}
          theme={props.theme}
          trans={trans}
        />
      </div>
      {props.selected !== null && props.selected < tree.length && (
        <FrameDetails
          {...props}
          node={props.selected}
          onClose={() => props.onSelect(null)}
        />
      )}
    </div>
  );
}

function LegendItem(
  props: LegendLine & { readonly focus: ItemFocus }
): JSX.Element {
  const { mark, name, explanation, focus } = props;
  return mark === null ? (
    <li className="sw-legend-item sw-legend-figure sw-wide-only">{name}</li>
  ) : (
    <li className="sw-legend-item" title={explanation || undefined} {...focus}>
      <Swatch mark={mark} /> {name}
      {/* (for screen readers that read the list and do not go through it) */}
      {explanation !== '' && <span className="sw-comma">. {explanation}</span>}
    </li>
  );
}

function FrameDetails(
  props: ProfileViewProps & { readonly node: number; onClose(): void }
): JSX.Element {
  const { tree, node, trans } = props;
  const facts = factsOf(tree, node, trans);
  const slot = tree.result.nodes.slot[node] ?? -1;
  const isImporting = tree.importing[node] === 1;
  return (
    <Drawer
      className="sw-Profile-details"
      label={trans.__('Selected frame')}
      trans={trans}
      onClose={props.onClose}
    >
      {/* It scrolls, so that it must be reached by keyboard; the button stays where it is. */}
      <div
        className="sw-drawer-body"
        role="group"
        aria-label={trans.__('Facts of the frame')}
        tabIndex={0}
      >
        <div className="sw-drawer-title">
          <Swatch mark={isImporting ? IMPORT_MARK : { slot, round: 0 }} />{' '}
          <strong>{facts.name}</strong>
        </div>
        <div className="sw-drawer-where">{facts.place}</div>
        {isImporting && (
          <div className="sw-drawer-note">{remarkOnImports(trans)}</div>
        )}
        <table className="sw-card-table">
          <tbody>
            <tr>
              <td>{trans.__('total')}</td>
              <td>{facts.totalText}</td>
              <td>{facts.totalShare}</td>
            </tr>
            <tr>
              <td>{trans.__('self')}</td>
              <td>{facts.selfText}</td>
              <td>{facts.selfShare}</td>
            </tr>
            <tr>
              <td>{trans.__('samples')}</td>
              <td>{facts.samples}</td>
              <td />
            </tr>
          </tbody>
        </table>
        {facts.states.length > 0 && (
          <>
            <div className="sw-block-title">
              {trans.__('On a core, and waiting')}
            </div>
            <table className="sw-card-table">
              <tbody>
                {facts.states.map(state => (
                  <tr key={state.state}>
                    <td>
                      <Swatch mark={{ kind: state.state }} /> {state.label}
                    </td>
                    <td>{state.text}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            {facts.states
              .filter(
                ({ state, share }) =>
                  share > 0 && remarkOnState(state, trans) !== ''
              )
              .map(({ state }) => (
                <div key={state} className="sw-drawer-note">
                  {remarkOnState(state, trans)}
                </div>
              ))}
          </>
        )}
        {facts.caller !== null && (
          <>
            <div className="sw-block-title">{trans.__('Called from')}</div>
            <button
              type="button"
              className="sw-link"
              onClick={() => props.onSelect(facts.caller?.node ?? null)}
            >
              {facts.caller.name}
            </button>
          </>
        )}
        {facts.calls.length > 0 && (
          <>
            <div className="sw-block-title">{trans.__('Calls')}</div>
            <table className="sw-card-table">
              <tbody>
                {facts.calls.map(call => (
                  <tr key={pathKey(tree, call.node)}>
                    <td>
                      <button
                        type="button"
                        className="sw-link"
                        onClick={() => props.onSelect(call.node)}
                      >
                        {call.name}
                      </button>
                    </td>
                    <td>{call.text}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </>
        )}
      </div>
    </Drawer>
  );
}
