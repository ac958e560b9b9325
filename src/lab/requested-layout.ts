/**
 * `…/lab/tree/playground/first-look.ipynb?spanwise=default-layout` opens the notebook with the four panels beside it; `scripts/run` prints
 * such an address.
 */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { CommandIDs } from './command-ids';

/** How long to wait for the notebook of the address; without one, the panels come alone. */
const NOTEBOOK_LIMIT_MS = 15_000;

export function isLayoutAsked(search: string): boolean {
  return new URLSearchParams(search).get('spanwise') === 'default-layout';
}

/** The notebook that the page's address names, below the server's root; undefined if it names none. */
export function notebookInAddress(path: string): string | undefined {
  const found = /\/tree\/(.+\.ipynb)$/.exec(path)?.[1];
  return found === undefined ? undefined : decodeURIComponent(found);
}

export function openLayoutWhenAsked(
  app: Pick<JupyterFrontEnd, 'restored' | 'commands'>,
  notebooks: INotebookTracker,
  address: Pick<Location, 'search' | 'pathname'>
): void {
  // Read at once: JupyterLab rewrites the address while it starts.
  if (!isLayoutAsked(address.search)) {
    return;
  }
  const notebook = notebookInAddress(address.pathname);
  void app.restored
    .then(() => notebookOpened(notebooks, notebook))
    .then(panel => panel?.revealed)
    .then(() => app.commands.execute(CommandIDs.openLayout, { notebook }));
}

function notebookOpened(
  notebooks: INotebookTracker,
  path: string | undefined
): Promise<NotebookPanel | undefined> {
  const find = () =>
    notebooks.find(
      ({ context }) => path === undefined || context.path === path
    );
  const found = find();
  if (found !== undefined || path === undefined) {
    return Promise.resolve(found);
  }
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer);
      notebooks.widgetAdded.disconnect(onAdded);
      resolve(find());
    };
    const onAdded = () => {
      if (find() !== undefined) {
        done();
      }
    };
    const timer = setTimeout(done, NOTEBOOK_LIMIT_MS);
    notebooks.widgetAdded.connect(onAdded);
  });
}
