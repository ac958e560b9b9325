/** The cluster in front: its name, state, workers and memory; and the choice of another. */
import type { TranslationBundle } from '@jupyterlab/translation';
import {
  addIcon,
  caretDownEmptyIcon,
  closeIcon,
  editIcon,
  linkIcon,
  refreshIcon,
  stopIcon
} from '@jupyterlab/ui-components';
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import type { LinkStatus } from '../feed/feed-types';
import {
  formatBytes,
  formatClock,
  formatCount,
  formatPart
} from '../panels/format';
import { pinIcon } from '../panels/icons';
import { isSumOfLimits, limitSentence } from '../panels/limit-sentence';
import { MarkedText } from '../panels/marked-text';
import { type MenuItem, openMenu } from '../panels/panel-menu';
import { ToolButton } from '../panels/toolbar';
import { hasTasksNow, tasksNowText, waitingLines } from '../panels/waiting';
import { heldUp } from '../panels/worker-standing';
import { REFUSED_CLUSTER, type ClusterInfo } from '../wire/panel-link';
import {
  type ClusterActions,
  shortNames,
  whyNotControlled,
  whyNotLetGo
} from './cluster-actions';
import {
  memoryOf,
  notOfSentence,
  threadsOf,
  workersText
} from './cluster-figures';
import type { InsteadOfCluster } from './panel-opener';
import type { ClusterUsers } from './cluster-users';

/** Paused workers that are named. */
const MOST_PAUSES = 2;

/** Of the open panels that show the cluster. */
export type Pin = {
  /** Whether all of them stay with it when another cluster is chosen. */
  readonly isPinned: boolean;
  readonly panels: number;
  readonly toggle: () => void;
};

type ClusterCardProps = {
  readonly cluster: ClusterInfo | null;
  readonly users: ClusterUsers;
  /** Of each that can be chosen. */
  readonly usersOf: (cluster: ClusterInfo) => ClusterUsers;
  readonly actions: ClusterActions;
  readonly clusters: readonly ClusterInfo[];
  readonly status: LinkStatus;
  readonly trans: TranslationBundle;
  /** Of the scheduler, if the cluster is Dask's and its name does not say it. */
  readonly address?: string | undefined;
  readonly pin?: Pin | null;
  /** The notebook that one works in, if the cluster is not of it. */
  readonly notOf?: string | undefined;
  /** A recording without a cluster that goes on beside the cluster, or the other way round. */
  readonly beside?: ClusterInfo | null;
  /** What the open panels show that would turn to the cluster, if none shows it. */
  readonly inPanels?: InsteadOfCluster | undefined;
  /** Shows it in the card, and in the open panels that are not pinned. */
  onChoose(cluster: ClusterInfo): void;
  /** Asks for the address of a Dask cluster; null: there are no notebooks whose kernels could connect. */
  readonly onAttach: (() => void) | null;
};

export function ClusterCard(props: ClusterCardProps): JSX.Element {
  const { cluster, status, trans, inPanels } = props;
  const choose = React.useRef<HTMLButtonElement>(null);
  if (cluster === null) {
    return (
      <div className="sw-cluster" role="status">
        <div>{trans.__('No cluster is running.')}</div>
        <WhyNone status={status} trans={trans} />
        <div className="sw-cluster-buttons sw-is-few">
          <NewButton {...props} text={trans.__('Start a cluster')} />
          <AttachButton {...props} text={trans.__('Attach to Dask…')} />
        </div>
        <TroubleLines {...props} />
      </div>
    );
  }
  const workers = workersText(cluster, trans);
  const chooseHere = (info: ClusterInfo) => {
    props.onChoose(info);
    // The button that was clicked goes, or does something else now.
    choose.current?.focus();
  };
  return (
    <div
      className="sw-cluster"
      role="group"
      aria-label={trans.__('Cluster %1', cluster.name)}
    >
      <div className="sw-cluster-line">
        <span
          className="sw-cluster-dot"
          data-state={cluster.state}
          aria-hidden="true"
        />
        <span className="sw-cluster-name" title={cluster.name}>
          {cluster.name}
        </span>
        <span className="sw-cluster-state">{stateText(cluster, trans)}</span>
        <span className="sw-cluster-spacer" />
        {!hasFewButtons(cluster) && <AttachButton {...props} />}
        {props.pin && (
          <ToolButton
            label={trans.__('Pin panels to this cluster')}
            icon={pinIcon}
            pressed={props.pin.isPinned}
            disabledBecause={
              props.pin.panels === 0
                ? trans.__('no open panel shows it')
                : undefined
            }
            onClick={props.pin.toggle}
          />
        )}
        <ToolButton
          label={trans.__('Choose cluster')}
          icon={caretDownEmptyIcon}
          buttonRef={choose}
          hasMenu
          onClick={event => openMenu(event.currentTarget, choices(props))}
        />
      </div>
      <Users {...props} cluster={cluster} />
      {props.notOf !== undefined && (
        <div className="sw-cluster-why" role="status">
          {notOfSentence(props.notOf, props.users.owner, trans)}
        </div>
      )}
      {cluster.why && <div className="sw-cluster-why">{cluster.why}</div>}
      {cluster.clock && <div className="sw-cluster-why">{cluster.clock}</div>}
      {props.beside && (
        <Beside {...props} beside={props.beside} onChoose={chooseHere} />
      )}
      {inPanels !== undefined && cluster.cluster !== REFUSED_CLUSTER && (
        <InPanels
          {...props}
          cluster={cluster}
          inPanels={inPanels}
          onChoose={chooseHere}
        />
      )}
      {pausesOf(cluster, trans).map(line => (
        <div key={line} className="sw-cluster-why" role="status">
          {line}
        </div>
      ))}
      <div className="sw-cluster-line sw-cluster-figures">
        <span>
          <MarkedText text={workers.text} piece={workers.figure} as="b" />
        </span>
        <MarkedCount
          text={trans._n('%1 thread', '%1 threads', threadsOf(cluster))}
          count={threadsOf(cluster)}
        />
        <span className="sw-cluster-spacer" />
        {hasTasksNow(cluster) && (
          <span title={waitingLines(cluster, trans).join('\n')}>
            <MarkedText
              text={tasksNowText(cluster, trans)}
              piece={formatCount(cluster.running)}
              as="b"
            />
          </span>
        )}
      </div>
      {cluster.state !== 'ended' && (
        <MemoryMeter cluster={cluster} trans={trans} />
      )}
      <ClusterButtons {...props} cluster={cluster} />
      <TroubleLines {...props} />
    </div>
  );
}

/** What to do, if the link does not say why there is none. */
function WhyNone({
  status,
  trans
}: Pick<ClusterCardProps, 'status' | 'trans'>): JSX.Element {
  if ('sentence' in status && status.sentence !== '') {
    return <div className="sw-cluster-why">{status.sentence}</div>;
  }
  return (
    <>
      <div className="sw-cluster-why">
        {trans.__('Run “client = Client()” in a notebook, or start one here.')}
      </div>
      {/* Dask has one of the same name. */}
      <div className="sw-cluster-why">
        {trans.__('Client is Spanwise’s: “from spanwise import Client”.')}
      </div>
    </>
  );
}

/** What clicks have not done, why, and what to do. It may be about another cluster than the one in front, which its title names. */
function TroubleLines({
  actions,
  trans
}: Pick<ClusterCardProps, 'actions' | 'trans'>): JSX.Element {
  return (
    <>
      {actions.troubles.map((trouble, place) => (
        <div key={place} className="sw-cluster-trouble" role="alert">
          <span>
            <strong>{`${trouble.title}.`}</strong> {trouble.sentence}
          </span>
          <ToolButton
            label={trans.__('Dismiss')}
            icon={closeIcon}
            onClick={() => actions.dismiss(trouble)}
          />
        </div>
      ))}
    </>
  );
}

/** What it is and who uses it; of a cluster that many may share, on lines of their own. */
function Users(
  props: ClusterCardProps & { readonly cluster: ClusterInfo }
): JSX.Element {
  const { cluster, trans } = props;
  const { notebooks } = props.users;
  const kind = kindText(cluster, trans);
  const users = usersText(cluster, props.users, trans);
  if (cluster.environment === undefined) {
    const { address = '' } = props;
    return (
      <div
        className="sw-cluster-kind"
        title={[address, ...notebooks].filter(line => line !== '').join('\n')}
      >
        {users === '' ? kind : `${kind} · ${users}`}
      </div>
    );
  }
  return (
    <>
      <div className="sw-cluster-kind" title={cluster.environment}>
        {kind}
      </div>
      {users !== '' && (
        <div
          className="sw-cluster-kind sw-cluster-users"
          title={notebooks.join('\n')}
        >
          {users}
        </div>
      )}
    </>
  );
}

function Beside(
  props: Pick<ClusterCardProps, 'onChoose' | 'trans'> & {
    readonly beside: ClusterInfo;
  }
): JSX.Element {
  const { beside, trans } = props;
  const { name } = beside;
  return (
    <div className="sw-cluster-line sw-cluster-why" role="status">
      <span>
        {beside.kind === 'local'
          ? trans.__('%1 observes computations without a cluster.', name)
          : trans.__('%1 is running beside it.', name)}
      </span>
      <span className="sw-cluster-spacer" />
      <ToolButton
        label={trans.__('Show %1', name)}
        text={trans.__('Show')}
        onClick={() => props.onChoose(beside)}
      />
    </div>
  );
}

/** The panels stay with their notebook when one works in another. */
function InPanels(
  props: Pick<ClusterCardProps, 'onChoose' | 'trans'> & {
    readonly cluster: ClusterInfo;
    readonly inPanels: InsteadOfCluster;
  }
): JSX.Element {
  const { cluster, inPanels, trans } = props;
  return (
    <div className="sw-cluster-line sw-cluster-why" role="status">
      <span>{inPanelsText(cluster, inPanels, trans)}</span>
      <span className="sw-cluster-spacer" />
      <ToolButton
        label={trans.__('Show in the panels: %1', cluster.name)}
        text={trans.__('Show in the panels')}
        onClick={() => props.onChoose(cluster)}
      />
    </div>
  );
}

/** Of several clusters none is named. */
function inPanelsText(
  cluster: ClusterInfo,
  { clusters, isAll }: InsteadOfCluster,
  trans: TranslationBundle
): string {
  const [first = null, ...others] = clusters;
  if (others.length > 0) {
    return isAll
      ? trans.__('None of the open panels shows this cluster.')
      : trans.__('Some open panels show other clusters.');
  }
  if (first === null) {
    return isAll
      ? trans.__('The open panels show no cluster.')
      : trans.__('Some open panels show no cluster.');
  }
  const { name } = first;
  if (name === cluster.name) {
    return isAll
      ? trans.__('The open panels show another cluster named %1.', name)
      : trans.__('Some open panels show another cluster named %1.', name);
  }
  return isAll
    ? trans.__('The open panels show %1.', name)
    : trans.__('Some open panels show %1.', name);
}

function ClusterButtons(
  props: ClusterCardProps & { readonly cluster: ClusterInfo }
): JSX.Element {
  const { cluster, users, actions, trans } = props;
  if (hasFewButtons(cluster)) {
    return (
      <div className="sw-cluster-buttons sw-is-few">
        <NewButton {...props} text={trans.__('New')} />
        <AttachButton {...props} text={trans.__('Attach')} />
        {cluster.kind === 'dask' && props.onAttach !== null && (
          <LetGoButton {...props} />
        )}
      </div>
    );
  }
  const isNot = whyNotControlled(cluster, users.owner, trans);
  const underWay = underWayText(cluster, actions, trans);
  const isStopping = actions.isUnderWay('stop', cluster);
  return (
    <div className="sw-cluster-buttons">
      <NewButton {...props} text={trans.__('New')} />
      <ToolButton
        label={trans.__('Scale')}
        text={trans.__('Scale')}
        icon={editIcon}
        busyText={
          actions.isUnderWay('scale', cluster)
            ? trans.__('Scaling…')
            : undefined
        }
        disabledBecause={isNot ?? underWay}
        onClick={() => void actions.scale(cluster)}
      />
      <ToolButton
        label={trans.__('Restart')}
        text={trans.__('Restart')}
        icon={refreshIcon}
        busyText={
          actions.isUnderWay('restart', cluster)
            ? trans.__('Restarting…')
            : undefined
        }
        disabledBecause={isNot ?? underWay}
        onClick={() => void actions.restart(cluster, users)}
      />
      <ToolButton
        label={trans.__('Stop')}
        text={trans.__('Stop')}
        icon={stopIcon}
        busyText={isStopping ? trans.__('Stopping…') : undefined}
        // It is the way out of a restart that hangs.
        disabledBecause={isNot ?? (isStopping ? underWay : undefined)}
        onClick={() => void actions.stop(cluster, users)}
      />
    </div>
  );
}

/** What was attached to by a click is let go by one. */
function LetGoButton(
  props: Pick<ClusterCardProps, 'users' | 'actions' | 'trans'> & {
    readonly cluster: ClusterInfo;
  }
): JSX.Element {
  const { cluster, users, actions, trans } = props;
  const isUnderWay = actions.isUnderWay('let go', cluster);
  return (
    <ToolButton
      label={trans.__('Let go')}
      text={trans.__('Let go')}
      icon={closeIcon}
      busyText={isUnderWay ? trans.__('Letting go…') : undefined}
      disabledBecause={
        whyNotLetGo(cluster, users.owner, trans) ??
        (isUnderWay ? trans.__('it is being let go') : undefined)
      }
      onClick={() => void actions.letGo(cluster, users)}
    />
  );
}

/** Why no other command is given: the server does one at a time. */
function underWayText(
  cluster: ClusterInfo,
  actions: ClusterActions,
  trans: TranslationBundle
): string | undefined {
  const { name } = cluster;
  return actions.isUnderWay('stop', cluster)
    ? trans.__('%1 is being stopped', name)
    : actions.isUnderWay('restart', cluster)
      ? trans.__('%1 is being restarted', name)
      : actions.isUnderWay('scale', cluster)
        ? trans.__('%1 is being scaled', name)
        : undefined;
}

function NewButton(
  props: Pick<ClusterCardProps, 'actions' | 'trans'> & { readonly text: string }
): JSX.Element {
  const { actions, trans } = props;
  return (
    <ToolButton
      label={trans.__('New cluster')}
      text={props.text}
      icon={addIcon}
      busyText={actions.isStarting ? trans.__('Starting…') : undefined}
      disabledBecause={
        actions.isStarting ? trans.__('a cluster is being started') : undefined
      }
      onClick={event => actions.startNew(event.currentTarget)}
    />
  );
}

/** What is refused is a sentence, no cluster: nothing can be done with it. Dask's clusters are scaled and stopped by Dask's own client. */
function hasFewButtons(cluster: ClusterInfo): boolean {
  return cluster.cluster === REFUSED_CLUSTER || cluster.kind === 'dask';
}

function AttachButton(
  props: Pick<ClusterCardProps, 'onAttach' | 'trans'> & {
    /** With four other buttons there is no room for it: then it stands beside the choice of a cluster. */
    readonly text?: string;
  }
): JSX.Element | null {
  const { onAttach, text = '', trans } = props;
  return onAttach === null ? null : (
    <ToolButton
      label={trans.__('Attach to a Dask cluster')}
      text={text}
      icon={linkIcon}
      onClick={onAttach}
    />
  );
}

function MarkedCount(props: {
  readonly text: string;
  readonly count: number;
}): JSX.Element {
  return (
    <span>
      <MarkedText text={props.text} piece={String(props.count)} as="b" />
    </span>
  );
}

function MemoryMeter(props: {
  readonly cluster: ClusterInfo;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { trans } = props;
  const { used, limit } = memoryOf(props.cluster);
  const { text, figure } = memoryText(props.cluster, trans);
  const title = limitSentence(limit, props.cluster, [], trans) ?? undefined;
  return (
    <>
      <div className="sw-cluster-line sw-cluster-figures" title={title}>
        <span>{props.trans.__('Memory')}</span>
        <span className="sw-cluster-spacer" />
        <span>
          <MarkedText text={text} piece={figure} as="b" />
        </span>
      </div>
      <div
        className="sw-meter"
        role="meter"
        aria-label={props.trans.__('Memory')}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={used}
        aria-valuetext={text}
        title={title}
      >
        <span
          className="sw-meter-part"
          style={{
            left: 0,
            width: `${limit > 0 ? Math.min(100, (100 * used) / limit) : 0}%`
          }}
        />
      </div>
    </>
  );
}

/** The memory in use and its limit, and the piece that is in use. A sum of limits alone is taken for the machine's memory. */
function memoryText(
  cluster: ClusterInfo,
  trans: TranslationBundle
): { readonly text: string; readonly figure: string } {
  const { used, limit, workers, ofEach } = memoryOf(cluster);
  const figure = formatBytes(used);
  if (limit === 0) {
    return { text: figure, figure };
  }
  if (workers > 1 && ofEach > 0) {
    const each = formatBytes(ofEach);
    const text = trans.__('%1 of %2\u00a0×\u00a0%3', figure, workers, each);
    return { text, figure };
  }
  const [part, whole] = formatPart(used, limit);
  return {
    text: isSumOfLimits(limit, cluster, [])
      ? trans.__('%1 of %2, limits added up', part, whole)
      : trans.__('%1 of %2', part, whole),
    figure: part
  };
}

/** A line per worker that begins no task, at most two and how many more. */
function pausesOf(
  cluster: ClusterInfo,
  trans: TranslationBundle
): readonly string[] {
  const { paused, stopped } = heldUp(cluster);
  const lines = paused
    .slice(0, MOST_PAUSES)
    .map(({ name, why }) =>
      why === undefined
        ? trans.__('%1 is paused: memory full.', name)
        : trans.__('%1 is paused: %2.', name, why)
    );
  return [
    ...lines,
    ...(paused.length > MOST_PAUSES
      ? [
          trans._n(
            '%1 more is paused.',
            '%1 more are paused.',
            paused.length - MOST_PAUSES
          )
        ]
      : []),
    ...stopped
      .slice(0, MOST_PAUSES)
      .map(({ name }) => trans.__('%1 is stopped.', name)),
    ...(stopped.length > MOST_PAUSES
      ? [
          trans._n(
            '%1 more is stopped.',
            '%1 more are stopped.',
            stopped.length - MOST_PAUSES
          )
        ]
      : [])
  ];
}

/** What runs the tasks, or for whom. */
function kindText(cluster: ClusterInfo, trans: TranslationBundle): string {
  if (cluster.environment !== undefined) {
    // Its name says of which environment; the tooltip has the folder.
    return trans.__('default cluster, shared by notebooks');
  }
  switch (cluster.kind) {
    case 'local':
      return trans.__('local schedulers');
    case 'embedded':
      return trans.__('local cluster');
    case 'dask':
      return trans.__('Dask cluster');
    default:
      return cluster.kind;
  }
}

function stateText(cluster: ClusterInfo, trans: TranslationBundle): string {
  switch (cluster.state) {
    case 'starting':
      return trans.__('starting');
    case 'running':
      return cluster.kind === 'local'
        ? trans.__('observing')
        : trans.__('running');
    case 'reconnecting':
      return trans.__('reconnecting');
    case 'ended':
      return cluster.unwatched === true
        ? trans.__('not watched')
        : trans.__('ended');
  }
}

function choices(props: ClusterCardProps): readonly MenuItem[] {
  const { clusters, cluster, trans } = props;
  return [...clusters]
    .sort((a, b) => b.startedAt - a.startedAt)
    .map(info => ({
      label: choiceText(info, props.usersOf(info), trans),
      isToggled: info.cluster === cluster?.cluster,
      run: () => props.onChoose(info)
    }));
}

/** Runs of one notebook have one name, and so may clusters of several: its state, since when, what it is, and whose. */
function choiceText(
  info: ClusterInfo,
  { notebooks, programs }: ClusterUsers,
  trans: TranslationBundle
): string {
  return [
    info.name,
    stateText(info, trans),
    trans.__('started %1', formatClock(info.startedAt, Date.now() / 1000)),
    ...(info.kind === 'embedded' || info.cluster === REFUSED_CLUSTER
      ? []
      : [kindText(info, trans)]),
    ...shortNames(notebooks),
    ...(info.environment === undefined ? [] : programs)
  ].join(' · ');
}

/** Who uses it: notebooks, and of a cluster that many may share other programs too. */
function usersText(
  cluster: ClusterInfo,
  { notebooks, programs }: ClusterUsers,
  trans: TranslationBundle
): string {
  const isShared = cluster.environment !== undefined;
  const names = [...shortNames(notebooks), ...(isShared ? programs : [])];
  if (names.length > 0) {
    return trans.__('used by %1', names.join(', '));
  }
  return isShared && cluster.state !== 'ended'
    ? trans.__('no notebook is connected')
    : '';
}
