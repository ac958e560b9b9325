/**
 * A page of JupyterLab that a test leaves to the next one, as it was when it had been loaded: nothing open, nothing saved, no kernel. To load
 * one takes three seconds of a core. What only the page's memory knows stays (JupyterLab itself has no way back from it); of that, what
 * changes what Spanwise shows is put back here.
 */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { Page } from '@playwright/test';

export type LabPage = {
  readonly page: Page;
  /** Of JupyterLab, in the page's address. */
  readonly workspace: string;
};

/** The registry of plugins, of which JupyterLab gives nothing by name. */
type Registry = {
  readonly pluginRegistry: {
    readonly _plugins: ReadonlyMap<string, { readonly service: unknown }>;
  };
};

const FILE_BROWSER = '@jupyterlab/filebrowser-extension:default-file-browser';
const STATE = '@jupyterlab/apputils-extension:state';
/** Documents that were open: a page that is loaded again looks for each of them. */
const RECENTS = '@jupyterlab/docmanager-extension:recents';

/** As in an empty workspace. No dialog is open. */
export async function emptyPage({ page, workspace }: LabPage): Promise<void> {
  const byPath = page
    .locator('.sw-sidebar')
    .getByRole('radio', { name: 'By path' });
  if (
    (await byPath.isVisible()) &&
    (await byPath.getAttribute('aria-checked')) === 'false'
  ) {
    await byPath.click();
  }
  await page.mouse.move(0, 0);
  await page.evaluate(
    async ({ id, browserId, stateId, recentsId, light }) => {
      const app: JupyterFrontEnd = window.jupyterapp;
      const { commands, serviceManager, shell } = app;
      // Not closed: that asks whether to save. Those behind first: one that comes to the front only to go, JupyterLab would still resize.
      const open = [...shell.widgets('main')];
      open.sort((a, b) => Number(a.isVisible) - Number(b.isVisible));
      for (const widget of open) {
        widget.dispose();
      }
      await serviceManager.sessions.shutdownAll();
      await serviceManager.terminals.shutdownAll();
      if (document.body.dataset['jpThemeName'] !== light) {
        await commands.execute('apputils:change-theme', { theme: light });
      }
      shell.activateById('filebrowser');
      const { _plugins: plugins } = (app as unknown as Registry).pluginRegistry;
      const { model } = plugins.get(browserId)?.service as {
        readonly model: { readonly path: string; cd(): Promise<void> };
      };
      // The folder of the test goes. A refresh that begins on the way to the root, whose path is '', goes back to where it was.
      const leaveFolder = async () => {
        do {
          await commands.execute('filebrowser:go-to-path', { path: '/' });
          await model.cd();
        } while (model.path !== '');
      };
      await leaveFolder();
      const recents = plugins.get(recentsId)?.service as {
        clearRecents(): void;
      };
      recents.clearRecents();
      const state = plugins.get(stateId)?.service as {
        clear(): Promise<void>;
      };
      await state.clear();
      await serviceManager.workspaces.save(id, { data: {}, metadata: { id } });
      await leaveFolder();
      localStorage.clear();
    },
    {
      id: workspace,
      browserId: FILE_BROWSER,
      stateId: STATE,
      recentsId: RECENTS,
      light: 'JupyterLab Light'
    }
  );
}
