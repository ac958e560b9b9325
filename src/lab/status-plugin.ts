/** Adds the cluster's line to the status bar. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { newestOf } from '../feed/cluster-ref';
import type { IFeed } from '../feed/feed-types';
import { SIDEBAR_ID } from './default-layout';
import { StatusItem } from './status-item';
import {
  type IClusterInFront,
  IClusterInFrontToken,
  IFeedToken
} from './tokens';

export const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: '@spanwise/lab:status',
  description: 'Shows workers, running tasks and memory in the status bar.',
  autoStart: true,
  requires: [IFeedToken],
  optional: [IStatusBar, ITranslator, IClusterInFrontToken],
  activate: (
    app: JupyterFrontEnd,
    feed: IFeed,
    statusBar: IStatusBar | null,
    translator: ITranslator | null,
    front: IClusterInFront | null
  ) => {
    if (statusBar === null) {
      return;
    }
    const item = new StatusItem(
      // Without a sidebar nothing says which is in front.
      front ?? {
        get cluster() {
          return newestOf(feed.clusters);
        },
        get running() {
          const newest = newestOf(feed.clusters);
          return newest?.state === 'ended' ? null : newest;
        },
        notOf: undefined,
        ownedBy: undefined,
        changed: feed.clustersChanged
      },
      (translator ?? nullTranslator).load('spanwise'),
      () => app.shell.activateById(SIDEBAR_ID)
    );
    statusBar.registerStatusItem('@spanwise/lab:status', {
      item,
      align: 'left',
      rank: 90,
      isActive: () => item.hasCluster,
      activeStateChanged: item.hasClusterChanged
    });
  }
};
