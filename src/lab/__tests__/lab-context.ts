/** A context pool over a fake feed and a state database in memory. */
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { readPalette } from '../../charts/theme';
import { FakeFeed } from '../../feed/__tests__/fake-feed';
import type { NotebookOf } from '../../feed/cluster-ref';
import type { ITheme } from '../../panels/panel-context';
import { ContextPool } from '../context-pool';

function fakeTheme(): ITheme {
  const theme = { palette: readPalette(document.body) } as {
    palette: ITheme['palette'];
    changed: ITheme['changed'];
  };
  theme.changed = new Signal<ITheme, ITheme['palette']>(theme);
  return theme;
}

export function labContext(
  saved = new Map<string, unknown>(),
  notebookOf: NotebookOf = user => user.notebook?.path
) {
  const feed = new FakeFeed();
  const contexts = new ContextPool({
    feed,
    notebookOf,
    theme: fakeTheme(),
    translator: nullTranslator,
    state: {
      fetch: key => Promise.resolve(saved.get(key) as never),
      save: (key, value) => {
        saved.set(key, value);
        return Promise.resolve();
      }
    }
  });
  return { feed, contexts, saved };
}
