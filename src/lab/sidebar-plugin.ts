/** Puts the Spanwise tab into JupyterLab's left sidebar. */
import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { IFeed } from '../feed/feed-types';
import { SpanwisePanel } from '../panels/panel';
import { ClusterActions } from './cluster-actions';
import { ClusterControls } from './cluster-controls';
import { CommandIDs } from './command-ids';
import { keepArrange } from './kept-arrange';
import { PANELS } from './panel-list';
import { Sidebar } from './sidebar';
import { SidebarModel } from './sidebar-model';
import { widenOnce } from './sidebar-width';
import {
  type IClusterInFront,
  IClusterInFrontToken,
  type IDaskClusters,
  IDaskClustersToken,
  IFeedToken,
  type IPanels,
  IPanelsToken
} from './tokens';

/** After the file browser and the running kernels, before the table of contents. */
const RANK = 300;

/** In the state database: the sidebar has had its width. */
const WIDENED = 'spanwise:sidebar-widened';

export const sidebarPlugin: JupyterFrontEndPlugin<IClusterInFront> = {
  id: '@spanwise/lab:sidebar',
  description: 'Adds the Spanwise tab to the left sidebar.',
  autoStart: true,
  provides: IClusterInFrontToken,
  requires: [IFeedToken, IPanelsToken, ILabShell],
  optional: [
    INotebookTracker,
    ILayoutRestorer,
    IStateDB,
    ITranslator,
    IDaskClustersToken
  ],
  activate: (
    app: JupyterFrontEnd,
    feed: IFeed,
    panels: IPanels,
    shell: ILabShell,
    notebooks: INotebookTracker | null,
    restorer: ILayoutRestorer | null,
    state: IStateDB | null,
    translator: ITranslator | null,
    dask: IDaskClusters | null
  ): IClusterInFront => {
    const { contexts, opener, kernels } = panels;
    const model = new SidebarModel({
      feed,
      contexts,
      notebookOf: cluster => kernels.notebookOf(cluster),
      inPanels: () => opener.lastTarget,
      isInPanels: cluster => opener.showing(cluster).length > 0
    });
    const trans = (translator ?? nullTranslator).load('spanwise');
    const { serverSettings, kernelspecs } = app.serviceManager;
    const sidebar = new Sidebar({
      model,
      opener,
      panels: PANELS,
      dask,
      trans,
      actions: new ClusterActions({
        controls: new ClusterControls(serverSettings, trans),
        kernels: () =>
          Object.values(kernelspecs.specs?.kernelspecs ?? {}).flatMap(spec =>
            spec?.language === 'python'
              ? [{ name: spec.name, title: spec.display_name }]
              : []
          ),
        notebook: () => model.notebookInFront,
        trans,
        letGo: (notebook, cluster) =>
          dask?.clusters.letGo(notebook, cluster) ?? Promise.resolve(''),
        started: cluster => model.showWhenHeardOf(cluster)
      }),
      choose: cluster => {
        model.choose(cluster);
        opener.turn(model.target);
      },
      openPanel: (name, place) => {
        opener.show(
          name,
          model.target,
          place,
          shell.currentWidget ?? undefined
        );
      },
      openLayout: () => {
        const { notebook, name } = model.target;
        // A cluster without a notebook is identified by its name, whatever notebook is open.
        void app.commands.execute(
          CommandIDs.openLayout,
          notebook === undefined && name === undefined
            ? { notebook: notebooks?.currentWidget?.context.path }
            : { notebook, cluster: name }
        );
      },
      docked: () => shell.widgets('main')
    });
    shell.add(sidebar, 'left', { rank: RANK });
    restorer?.add(sidebar, sidebar.id);

    dask?.shown.connect((_, cluster) => model.showWhenHeardOf(cluster));

    const turn = (isNew: boolean) => {
      const widget = shell.currentWidget;
      if (widget instanceof SpanwisePanel) {
        model.turnTo(widget.clusterTarget, widget.disposed, isNew);
      } else if (widget instanceof NotebookPanel) {
        const target = { notebook: widget.context.path };
        model.turnTo(target, widget.disposed, isNew);
      } else if (widget === null) {
        model.forgetFront();
      }
    };
    const lookAgain = () => {
      model.lookAtPanels();
      sidebar.update();
    };
    shell.currentChanged.connect(() => turn(true));
    kernels.changed.connect(() => {
      turn(false);
      // With nothing in front too: the notebooks of the panels, and of the cluster that is shown, are known by their kernels.
      lookAgain();
    });
    if (state !== null) {
      void keepArrange(model, state);
      const widen = async () => {
        if ((await state.fetch(WIDENED)) !== true && widenOnce(sidebar)) {
          await state.save(WIDENED, true);
        }
      };
      void app.restored.then(widen);
      sidebar.shown.connect(() => void app.restored.then(widen));
    }
    // Panels that were opened or closed are marked in the gallery.
    shell.layoutModified.connect(lookAgain);
    opener.changed.connect(() => sidebar.update());
    return model;
  }
};
