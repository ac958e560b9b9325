/**
 * Dask clusters that notebooks are connected to: found in their kernels, offered in the sidebar, shown by a click, by the setting, by the
 * dialog *Attach…*, or by the button in the representation of Dask's own client.
 */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import {
  INotebookTracker,
  NotebookActions,
  type NotebookPanel
} from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { loadPlotly } from '../charts/load-plotly';
import type { IFeed } from '../feed/feed-types';
import { notices } from '../panels/notices';
import { askForAddress, type AttachWish } from './attach-dialog';
import { CommandIDs } from './command-ids';
import { type AttachWay, readAttachWay } from './dask-settings';
import { KernelClusters } from './kernel-clusters';
import { askKernelOf } from './kernel-of-notebook';
import type { Attached, TlsFiles } from './kernel-snippet';
import { IDaskClustersToken, type IDaskClusters, IFeedToken } from './tokens';

export const daskPlugin: JupyterFrontEndPlugin<IDaskClusters> = {
  id: '@spanwise/lab:dask',
  description: 'Finds the Dask clusters of open notebooks and shows them.',
  autoStart: true,
  provides: IDaskClustersToken,
  requires: [IFeedToken, INotebookTracker],
  optional: [ICommandPalette, ISettingRegistry, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    feed: IFeed,
    notebooks: INotebookTracker,
    palette: ICommandPalette | null,
    settings: ISettingRegistry | null,
    translator: ITranslator | null
  ): IDaskClusters => {
    const trans = (translator ?? nullTranslator).load('spanwise');
    const clusters = new KernelClusters({
      ask: askKernelOf(notebooks),
      trans
    });
    let way: AttachWay = 'ask';

    const look = (panel: NotebookPanel | null) => {
      if (panel !== null && way !== 'never') {
        clusters.look(panel.context.path);
      }
    };
    NotebookActions.executed.connect((_, { notebook }) => {
      look(notebooks.find(({ content }) => content === notebook) ?? null);
    });
    notebooks.currentChanged.connect((_, panel) => look(panel));
    notebooks.widgetAdded.connect((_, panel) => {
      const { sessionContext, context } = panel;
      let path = context.path;
      void sessionContext.ready.then(() => look(panel));
      sessionContext.statusChanged.connect((_, status) => {
        if (status === 'restarting' || status === 'autorestarting') {
          clusters.forget(path);
        }
      });
      sessionContext.kernelChanged.connect(() => clusters.forget(path));
      context.pathChanged.connect((_, renamed) => {
        clusters.rename(path, renamed);
        path = renamed;
      });
      panel.disposed.connect(() => clusters.forget(path));
    });

    /** Panels of the notebook that are open turn to the cluster by themselves. */
    const attach = async (
      notebook: string,
      address: string,
      tls?: TlsFiles
    ) => {
      // The observer may have to start: beside the kernel, which imports and connects.
      feed.reconnect();
      const attached = await clusters.attach(notebook, address, tls);
      if (attached !== null && 'cluster' in attached) {
        feed.reconnect();
      }
      return attached;
    };
    const shown = new Signal<object, string>({});
    const openPanels = async (notebook: string, cluster: string) => {
      // The notebook may have begun another cluster since this one: which one is meant can be told when the page knows both.
      await heardOf(feed, cluster);
      await app.commands.execute(CommandIDs.openLayout, { notebook, cluster });
      shown.emit(cluster);
    };
    const show = async (notebook: string, address: string) => {
      if (clusters.isUnderWay(notebook, address)) {
        return;
      }
      const attaching = attach(notebook, address);
      loadCharts();
      // A notebook whose kernel cannot be asked has said so after this.
      await new Promise(resolve => setTimeout(resolve));
      // The panels open while the kernel connects, and say that it does. They follow the notebook.
      const areOpen =
        clusters.isUnderWay(notebook, address) &&
        (await app.commands.execute(CommandIDs.openLayout, {
          notebook,
          withoutCluster: true
        })) === true;
      const attached = await attaching;
      if (!areOpen && attached !== null && 'cluster' in attached) {
        await openPanels(notebook, attached.cluster);
      }
    };

    clusters.changed.connect(() => {
      const notebook = notebooks.currentWidget?.context.path;
      if (way !== 'at once' || notebook === undefined) {
        return;
      }
      for (const { address } of clusters.firstOffers(notebook)) {
        void attach(notebook, address);
      }
    });
    void settings?.load(daskPlugin.id).then(
      loaded => {
        const apply = () => {
          way = readAttachWay(loaded.get('attachToDask').composite);
          look(notebooks.currentWidget);
        };
        loaded.changed.connect(apply);
        apply();
      },
      (error: unknown) => {
        notices.warning(
          trans.__(
            'Spanwise could not read its settings and uses the defaults: %1',
            String(error)
          ),
          { autoClose: false }
        );
      }
    );

    app.commands.addCommand(CommandIDs.attach, {
      label: trans.__('Spanwise: Attach to a Dask Cluster…'),
      caption: trans.__('By the kernel of the notebook in front'),
      describedBy: {
        args: {
          type: 'object',
          properties: {
            address: {
              type: 'string',
              description: 'Address of the scheduler; asked for if left out.'
            }
          }
        }
      },
      execute: async args => {
        const notebook = notebooks.currentWidget?.context.path;
        if (notebook === undefined) {
          notices.refusal(
            trans.__(
              'Open a Python notebook first: its kernel connects to the cluster.'
            )
          );
          return;
        }
        let wish: AttachWish | null =
          typeof args['address'] === 'string'
            ? { address: args['address'], tls: undefined }
            : await askForAddress(trans);
        while (wish !== null) {
          const { address, tls } = wish;
          const notice = notices.begin(trans.__('Attaching to %1…', address), {
            autoClose: false
          });
          loadCharts();
          let attached: Attached | null;
          try {
            attached = await attach(notebook, address, tls);
            if (attached !== null && 'cluster' in attached) {
              await openPanels(notebook, attached.cluster);
            }
          } finally {
            notices.dismiss(notice);
          }
          if (attached === null || 'cluster' in attached) {
            return;
          }
          const { problem } = attached;
          wish = await askForAddress(trans, { wish, problem });
        }
      }
    });
    palette?.addItem({
      command: CommandIDs.attach,
      category: trans.__('Spanwise')
    });

    // The button “Launch dashboard in JupyterLab” of Dask's client. The extension of Dask has a command of this name, too, and keeps it.
    void app.restored.then(() => {
      if (app.commands.hasCommand(CommandIDs.daskLayout)) {
        return;
      }
      app.commands.addCommand(CommandIDs.daskLayout, {
        label: trans.__('Spanwise: Show the Dask Cluster'),
        describedBy: {
          args: {
            type: 'object',
            properties: {
              url: {
                type: 'string',
                description: 'Address of the dashboard of the cluster.'
              }
            }
          }
        },
        execute: args => {
          const notebook = notebooks.currentWidget?.context.path;
          const seen = clusters.seen(notebook);
          const found =
            seen.find(
              ({ dashboard }) => dashboard !== '' && dashboard === args['url']
            ) ?? (seen.length === 1 ? seen[0] : undefined);
          if (notebook === undefined || found === undefined) {
            notices.refusal(
              trans.__(
                'No Dask cluster is known in this notebook. Run a cell that makes a client, and try again.'
              )
            );
            return;
          }
          void show(notebook, found.address);
        }
      });
    });
    return {
      clusters,
      show: (notebook, address) => void show(notebook, address),
      attach: () => void app.commands.execute(CommandIDs.attach),
      shown
    };
  }
};

/** Beside what takes its time. A chart tries again, and says why not. */
function loadCharts(): void {
  loadPlotly().catch(() => undefined);
}

/** How long the page may take to hear of a cluster; after that the panels wait for it. */
const ARRIVAL_LIMIT_MS = 5000;

function heardOf(feed: IFeed, cluster: string): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(() => done(), ARRIVAL_LIMIT_MS);
    const done = () => {
      clearTimeout(timer);
      feed.clustersChanged.disconnect(look);
      resolve();
    };
    const look = () => {
      if (feed.clusters.some(info => info.cluster === cluster)) {
        done();
      }
    };
    feed.clustersChanged.connect(look);
    look();
  });
}
