/** The arguments of `spanwise:open`, which come from menus, notebooks' buttons, other extensions and saved layouts. */
import type { JSONObject, ReadonlyPartialJSONObject } from '@lumino/coreutils';
import type { Widget } from '@lumino/widgets';
import {
  belongsTo,
  type ClusterTarget,
  newestOf,
  type NotebookOf,
  targetOf
} from '../feed/cluster-ref';
import { SpanwisePanel } from '../panels/panel';
import type { PanelName } from '../panels/panel-context';
import type { ClusterInfo } from '../wire/panel-link';
import { PANELS } from './panel-list';

export type OpenArguments = {
  readonly panel: PanelName;
  /** Given by a saved layout only. */
  readonly id?: string;
  readonly target?: ClusterTarget;
  readonly state: JSONObject;
};

/**
 * @throws Error naming the panels there are, for a name that is none of them.
 */
export function readOpenArguments(
  args: ReadonlyPartialJSONObject
): OpenArguments {
  const panel = PANELS.find(({ name }) => name === args.panel)?.name;
  if (panel === undefined) {
    const names = PANELS.map(({ name }) => name).join(', ');
    throw new Error(
      `spanwise:open needs {panel}, one of ${names}; it was given ${JSON.stringify(args.panel)}.`
    );
  }
  return {
    panel,
    id: text(args.id),
    target: readTarget(args.target),
    state: isRecord(args.state) ? (args.state as JSONObject) : {}
  };
}

/**
 * The target that `{notebook}` or `{cluster}` name; undefined if they name none that is known, and then what is in front counts: a
 * client's button in a notebook can be clicked before the page has heard of its cluster.
 */
export function namedTarget(
  args: ReadonlyPartialJSONObject,
  clusters: readonly ClusterInfo[],
  notebookOf: NotebookOf
): ClusterTarget | undefined {
  const notebook = text(args.notebook);
  if (notebook !== undefined) {
    return { notebook };
  }
  const cluster = text(args.cluster);
  const known =
    clusters.find(info => info.cluster === cluster) ??
    newestOf(clusters.filter(info => info.name === cluster));
  return known ? targetOf(known, notebookOf) : undefined;
}

function readTarget(value: unknown): ClusterTarget | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  const notebook = text(value.notebook);
  const name = text(value.name);
  return {
    ...(notebook !== undefined && { notebook }),
    ...(name !== undefined && { name })
  };
}

/**
 * What "this cluster" means: that of the panel or notebook in front; else, the newest there is; else, whatever comes first.
 */
export function targetInFront(options: {
  readonly current: Widget | null;
  /** Path of the notebook last worked in. */
  readonly notebook: string | undefined;
  readonly clusters: readonly ClusterInfo[];
  readonly notebookOf: NotebookOf;
}): ClusterTarget {
  const { current, notebook, clusters, notebookOf } = options;
  if (current instanceof SpanwisePanel) {
    return current.clusterTarget;
  }
  const ofNotebook =
    notebook === undefined ? undefined : ({ notebook } as ClusterTarget);
  if (
    ofNotebook !== undefined &&
    clusters.some(info => belongsTo(info, ofNotebook, notebookOf))
  ) {
    return ofNotebook;
  }
  const newest = newestOf(clusters);
  return newest !== null && newest.state !== 'ended'
    ? targetOf(newest, notebookOf)
    : (ofNotebook ?? (newest === null ? {} : targetOf(newest, notebookOf)));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
