/**
 * The browser tests' `test`: Galata's, with a workspace of its own on the real server (so that a reload restores what JupyterLab itself has
 * saved), and a record of everything that went wrong in the page.
 */
import {
  expect,
  type IJupyterLabPageFixture,
  JupyterLabPage,
  test as galataTest
} from '@jupyterlab/galata';
import { Notebook } from './notebook';
import { type FourPanels, Panel, panelsOf, type PanelTitle } from './panel';
import { Sidebar } from './sidebar';
import { TroubleRecord } from './trouble';

export { expect };

/** Galata's own 15 s are too few for the first page of JupyterLab on a slow, busy machine. */
const PATIENCE_MS = 240_000;
const { waitForCondition } = JupyterLabPage.prototype;
JupyterLabPage.prototype.waitForCondition = function (
  condition,
  timeout = PATIENCE_MS
) {
  return waitForCondition.call(this, condition, timeout);
};

/** The parts of a terminal's widget in the page that are used here. */
type OpenTerminal = {
  readonly content?: {
    readonly session?: { readonly connectionStatus: string };
  };
};

export class Lab {
  readonly sidebar: Sidebar;

  constructor(
    readonly page: IJupyterLabPageFixture,
    readonly troubles: TroubleRecord,
    /** With a slash at the end. */
    private readonly _root: string,
    private readonly _folder: string,
    private readonly _workspace: string
  ) {
    this.sidebar = new Sidebar(page);
  }

  /** Write a notebook of these cells and open it in an empty workspace. */
  async open(name: string, cells: readonly string[]): Promise<Notebook> {
    const notebook = this.notebook(name);
    await notebook.write(cells);
    return this._show(notebook);
  }

  /** Open an empty workspace. */
  async openEmpty(): Promise<void> {
    await this.page.goto(
      `${this._root}lab/workspaces/${this._workspace}?reset`
    );
    await this.page
      .locator('#jupyterlab-splash')
      .waitFor({ state: 'detached' });
  }

  /** Open a copy of a notebook, whose text is given, in an empty workspace. */
  async openCopy(name: string, text: string): Promise<Notebook> {
    await this.writeFile(name, text);
    return this._show(this.notebook(name));
  }

  private async _show(notebook: Notebook): Promise<Notebook> {
    await this.page.goto(
      `${this._root}lab/workspaces/${this._workspace}/tree/${encodeURI(notebook.path)}?reset`
    );
    await notebook.ready();
    return notebook;
  }

  /** A notebook of the test's folder. */
  notebook(name: string): Notebook {
    return new Notebook(this.page, this._root, `${this._folder}/${name}`);
  }

  panel(title: PanelTitle, cluster: string): Panel {
    return new Panel(this.page, title, cluster);
  }

  panels(cluster: string): FourPanels {
    return panelsOf(this.page, cluster);
  }

  /** As a user does it: F5. */
  async reload(): Promise<void> {
    await this.page.reload();
  }

  /** The workspace as the server has it: layout and state database. */
  async savedWorkspace(): Promise<string> {
    const response = await this.page.request.get(
      `${this._root}lab/api/workspaces/${this._workspace}`
    );
    return response.text();
  }

  /** Reload as soon as the server has a workspace with `text` in it: JupyterLab saves layout and state a moment after they change. */
  async reloadOnceSaved(text: string): Promise<void> {
    await expect
      .poll(() => this.savedWorkspace(), { timeout: 60_000 })
      .toContain(text);
    await this.reload();
  }

  /** A file in the folder in which the test's notebooks run. */
  async writeFile(name: string, text: string): Promise<void> {
    await this.page.contents.uploadContent(
      text,
      'text',
      `${this._folder}/${name}`
    );
  }

  /** Open a terminal of JupyterLab and type a command into it. */
  async runInTerminal(command: string): Promise<void> {
    await this.page.evaluate(async () => {
      const { commands } = window.jupyterapp;
      await commands.execute('terminal:create-new');
    });
    await this.page.waitForFunction(
      () =>
        (window.jupyterapp.shell.currentWidget as OpenTerminal | null)?.content
          ?.session?.connectionStatus === 'connected'
    );
    await this.page.locator('.jp-Terminal').click();
    await this.page.keyboard.type(`${command}\n`);
  }

  async setTheme(theme: 'JupyterLab Light' | 'JupyterLab Dark'): Promise<void> {
    await this.page.theme.setTheme(theme);
  }
}

export const test = galataTest.extend<{ lab: Lab }>({
  autoGoto: false,
  // Galata's own condition is a launcher in front.
  waitForApplication: async ({ baseURL: _ }, use) => {
    await use(async page => {
      await page.locator('#jupyterlab-splash').waitFor({ state: 'detached' });
    });
  },
  mockState: false,
  // Galata's stand-in for the kernels' API takes a restart for an end. Its sessions, which it ends after each test, have the same kernels.
  kernels: null,
  lab: async ({ page, tmpPath, baseURL }, use, info) => {
    const root = new URL('/', baseURL).href;
    const troubles = new TroubleRecord(page);
    await use(new Lab(page, troubles, root, tmpPath, info.testId));
  }
});
