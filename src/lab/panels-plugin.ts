/**
 * Panels in JupyterLab: commands, palette, launcher, restoring after a reload, and which cluster a notebook's panels show.
 */
import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, WidgetTracker } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import type { ClusterTarget } from '../feed/cluster-ref';
import type { IFeed } from '../feed/feed-types';
import { notices } from '../panels/notices';
import type { SpanwisePanel } from '../panels/panel';
import type { ITheme } from '../panels/panel-context';
import { offersOf } from './cluster-offers';
import { CommandIDs } from './command-ids';
import { ContextPool } from './context-pool';
import { NotebookKernels, pathOfUri } from './notebook-kernels';
import {
  namedTarget,
  readOpenArguments,
  targetInFront
} from './open-arguments';
import { PANELS } from './panel-list';
import { PanelOpener } from './panel-opener';
import { openLayoutWhenAsked } from './requested-layout';
import {
  IDaskClustersToken,
  type IDaskClusters,
  IFeedToken,
  type IPanels,
  IPanelsToken,
  IThemeToken
} from './tokens';

export const panelsPlugin: JupyterFrontEndPlugin<IPanels> = {
  id: '@spanwise/lab:panels',
  description: 'Opens, lays out and restores the Spanwise panels.',
  autoStart: true,
  provides: IPanelsToken,
  requires: [IFeedToken, IThemeToken, ILabShell],
  optional: [
    IDaskClustersToken,
    INotebookTracker,
    ILayoutRestorer,
    ICommandPalette,
    ILauncher,
    IStateDB,
    ITranslator
  ],
  activate: (
    app: JupyterFrontEnd,
    feed: IFeed,
    theme: ITheme,
    shell: ILabShell,
    dask: IDaskClusters | null,
    notebooks: INotebookTracker | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    state: IStateDB | null,
    translator: ITranslator | null
  ): IPanels => {
    const trans = (translator ?? nullTranslator).load('spanwise');
    const kernels = new NotebookKernels(
      app.serviceManager.sessions,
      pathOfUri(PageConfig.getOption('rootUri'))
    );
    const contexts = new ContextPool({
      feed,
      theme,
      state,
      notebookOf: cluster => kernels.notebookOf(cluster),
      translator: translator ?? nullTranslator,
      offers: dask === null ? undefined : offersOf(dask),
      turnPanels: cluster => opener.turn(contexts.targetOf(cluster, 'follows'))
    });
    kernels.changed.connect(() => contexts.refresh());
    const tracker = new WidgetTracker<SpanwisePanel>({
      namespace: 'spanwise-panels'
    });
    const opener = new PanelOpener({
      shell,
      tracker,
      contexts,
      panels: PANELS
    });
    const inFront = () =>
      targetInFront({
        current: shell.currentWidget,
        notebook: notebooks?.currentWidget?.context.path,
        clusters: feed.clusters,
        notebookOf: cluster => kernels.notebookOf(cluster)
      });

    /** The target that the arguments name, else the one in front. */
    const targetBy = (args: ReadonlyPartialJSONObject): ClusterTarget => {
      const named = namedTarget(args, {
        clusters: feed.clusters,
        notebookOf: cluster => kernels.notebookOf(cluster),
        notebookOfKernel: kernel => kernels.notebookOfKernel(kernel),
        notebook:
          shell.currentWidget === notebooks?.currentWidget
            ? notebooks?.currentWidget?.context.path
            : undefined,
        trans
      });
      if (named?.awaited !== undefined) {
        contexts.get(named.target).cluster.await(named.awaited);
      }
      return named?.target ?? inFront();
    };

    app.commands.addCommand(CommandIDs.open, {
      label: args => {
        const panel = PANELS.find(({ name }) => name === args.panel);
        return panel?.title(trans) ?? trans.__('Open Spanwise Panel');
      },
      caption: args =>
        PANELS.find(({ name }) => name === args.panel)?.question(trans) ?? '',
      icon: args =>
        args.isPalette === true
          ? undefined
          : PANELS.find(({ name }) => name === args.panel)?.icon,
      describedBy: {
        args: {
          type: 'object',
          required: ['panel'],
          properties: {
            panel: {
              type: 'string',
              enum: PANELS.map(({ name }) => name),
              description: 'Which panel to open, or to show if it is open.'
            },
            notebook: {
              type: 'string',
              description:
                'Path of the notebook whose cluster it shows; the one in front if left out.'
            },
            cluster: {
              type: 'string',
              description: 'Id or name of the cluster it shows.'
            }
          }
        }
      },
      execute: async args => {
        const asked = readOpenArguments(args);
        const target = asked.target ?? targetBy(args);
        if (asked.id === undefined) {
          return opener.show(asked.panel, target);
        }
        // A reload: the filter is in place before the first question.
        await contexts.restored(target);
        return opener.restore({ ...asked, id: asked.id, target });
      }
    });

    app.commands.addCommand(CommandIDs.openLayout, {
      label: trans.__('Spanwise: Default Layout'),
      caption: trans.__('Notebook left, the four panels beside it'),
      describedBy: {
        args: {
          type: 'object',
          properties: {
            notebook: {
              type: 'string',
              description: 'Path of the notebook whose cluster is shown.'
            },
            cluster: {
              type: 'string',
              description: 'Id or name of the cluster.'
            },
            kernel: {
              type: 'string',
              description:
                'Id of the kernel that started it, for a page that has not heard of the cluster yet.'
            },
            withoutCluster: {
              type: 'boolean',
              description: 'Only if no cluster of the notebook is known.'
            }
          }
        }
      },
      execute: args => {
        const target = orSaidWhyNot(() => targetBy(args));
        if (
          target === null ||
          (args['withoutCluster'] === true &&
            contexts.clusterOf(target) !== null)
        ) {
          return false;
        }
        const front =
          notebooks?.find(({ context }) => context.path === target.notebook) ??
          notebooks?.currentWidget ??
          null;
        const isLaidOut = opener.layOut(target, front);
        // (else who asks opens them a moment later, with the cluster)
        if (!isLaidOut && args['withoutCluster'] !== true) {
          notices.refusal(
            trans.__(
              'JupyterLab has no place for panels at this moment. Try again.'
            )
          );
        }
        return isLaidOut;
      }
    });

    app.commands.addCommand(CommandIDs.clearFilter, {
      label: trans.__('Spanwise: Clear Filter'),
      describedBy: { args: { type: 'object', properties: {} } },
      execute: () => contexts.clearFilter(inFront())
    });

    if (restorer !== null) {
      void restorer.restore(tracker, {
        command: CommandIDs.open,
        name: panel => panel.id,
        args: panel =>
          ({
            panel: panel.face.name,
            id: panel.id,
            target: panel.clusterTarget,
            state: panel.savedState()
          }) as unknown as ReadonlyPartialJSONObject
      });
    }

    const category = trans.__('Spanwise');
    PANELS.forEach(({ name }, rank) => {
      launcher?.add({
        command: CommandIDs.open,
        args: { panel: name },
        category,
        rank
      });
      palette?.addItem({
        command: CommandIDs.open,
        args: { panel: name, isPalette: true },
        category
      });
    });
    palette?.addItem({ command: CommandIDs.openLayout, category });
    palette?.addItem({ command: CommandIDs.clearFilter, category });

    if (notebooks !== null) {
      openLayoutWhenAsked(app, notebooks, window.location);
    }
    return { contexts, opener, kernels };
  }
};

/** Shows the error to the user who clicked: JupyterLab writes errors of commands to the console only. */
function orSaidWhyNot(find: () => ClusterTarget): ClusterTarget | null {
  try {
    return find();
  } catch (error) {
    notices.refusal(error instanceof Error ? error.message : String(error));
    return null;
  }
}
