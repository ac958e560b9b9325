/** Opens the page's link to the observer. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Feed } from '../feed/feed';
import type { IFeed } from '../feed/feed-types';
import { isObserverRunning, serverSocket } from '../feed/server-socket';
import { TileCache } from '../feed/tile-cache';
import { notices } from '../panels/notices';
import { IFeedToken } from './tokens';

const MEBIBYTE = 2 ** 20;

export const feedPlugin: JupyterFrontEndPlugin<IFeed> = {
  id: '@spanwise/lab:feed',
  description: 'Provides the link of the page to the observer.',
  autoStart: true,
  provides: IFeedToken,
  optional: [ISettingRegistry, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    settings: ISettingRegistry | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('spanwise');
    const { serverSettings } = app.serviceManager;
    const tiles = new TileCache();
    const feed = new Feed(serverSocket(serverSettings, trans), tiles);
    // After the kernels' notebooks are known, so that panels find their notebook's cluster at the first look.
    void Promise.all([app.started, app.serviceManager.sessions.ready])
      .then(() => isObserverRunning(serverSettings))
      .then(isRunning => {
        if (isRunning) {
          feed.reconnect();
        }
      });
    void settings?.load(feedPlugin.id).then(
      loaded => {
        const apply = () =>
          tiles.setBudget(
            Number(loaded.get('tileCacheMebibytes').composite) * MEBIBYTE
          );
        loaded.changed.connect(apply);
        apply();
      },
      (error: unknown) => {
        notices.warning(
          trans.__(
            'Spanwise could not read its settings and uses the defaults: %1',
            String(error)
          ),
          // Without it JupyterLab lists the notification and does not show it.
          { autoClose: false }
        );
      }
    );
    return feed;
  }
};
