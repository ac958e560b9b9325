/** The arguments of `spanwise:open`, which come from menus, notebooks' buttons, other extensions and saved layouts. */
import type { JSONObject, ReadonlyPartialJSONObject } from '@lumino/coreutils';
import type { Widget } from '@lumino/widgets';
import type { Trans } from '../base/trans';
import {
  belongsTo,
  type ClusterTarget,
  followingTarget,
  newestOf,
  notebooksOf,
  type NotebookOf,
  targetOf
} from '../feed/cluster-ref';
import { SpanwisePanel } from '../panels/panel';
import type { PanelName } from '../panels/panel-context';
import type { ClusterInfo } from '../wire/panel-link';
import { PANELS } from './panel-list';

type OpenArguments = {
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

type NamedTarget = {
  readonly target: ClusterTarget;
  /** The cluster that was asked for, by id or name, while the page has not heard of it. */
  readonly awaited?: string;
};

/**
 * The target that `{notebook}`, `{cluster}` or both name; undefined if they name none: then the target is what is in front.
 *
 * A client's button in a notebook can be clicked before the page has heard of its cluster. The cluster is that of the button's kernel, or
 * of the notebook that the button is in; never just some other one.
 *
 * @throws Error for a cluster of which neither is known.
 */
export function namedTarget(
  args: ReadonlyPartialJSONObject,
  page: {
    readonly clusters: readonly ClusterInfo[];
    readonly notebookOf: NotebookOf;
    readonly notebookOfKernel: (kernel: string) => string | undefined;
    /** The notebook in front: a click on its button has brought it there. */
    readonly notebook: string | undefined;
    readonly trans: Trans;
  }
): NamedTarget | undefined {
  const notebook = text(args.notebook);
  const cluster = text(args.cluster);
  if (notebook !== undefined) {
    // It may have joined another one later.
    const meant = page.clusters.find(
      info =>
        info.cluster === cluster &&
        belongsTo(info, { notebook }, page.notebookOf)
    );
    return {
      target:
        meant === undefined
          ? { notebook }
          : followingTarget(meant, page.clusters, page.notebookOf, { notebook })
    };
  }
  if (cluster === undefined) {
    return undefined;
  }
  const known =
    page.clusters.find(info => info.cluster === cluster) ??
    newestOf(page.clusters.filter(info => info.name === cluster));
  const kernel = text(args.kernel);
  const own =
    (kernel === undefined ? undefined : page.notebookOfKernel(kernel)) ??
    page.notebook;
  if (known?.environment !== undefined && own !== undefined) {
    const isHere = notebooksOf(known, page.notebookOf).some(
      ({ path }) => path === own
    );
    if (isHere || kernel !== undefined) {
      const target = { notebook: own };
      // One that the page has not heard this notebook of is the one that it joined last.
      return isHere
        ? {
            target: followingTarget(
              known,
              page.clusters,
              page.notebookOf,
              target
            )
          }
        : { target };
    }
  }
  if (known !== null) {
    return { target: followingTarget(known, page.clusters, page.notebookOf) };
  }
  if (own === undefined) {
    throw new Error(
      page.trans.__(
        'This page has not heard of that cluster. Try again in a moment, or choose it in the sidebar under Cluster.'
      )
    );
  }
  return { target: { notebook: own }, awaited: cluster };
}

function readTarget(value: unknown): ClusterTarget | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  const notebook = text(value.notebook);
  const name = text(value.name);
  const cluster = text(value.cluster);
  return {
    ...(notebook !== undefined && { notebook }),
    ...(name !== undefined && { name }),
    ...(cluster !== undefined && { cluster })
  };
}

/**
 * What "this cluster" means: the cluster of the panel or notebook in front; else the newest one; if there is none, the first that comes.
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
