/**
 * The browser tests' `test`: a page of JupyterLab on the real server, with a folder of its own, the settings that it asks for, and a record
 * of everything that went wrong in it. Nothing is open in the page: it has just been loaded, or a test that passed has left it so
 * (`kept-page.ts`). All these pages are tabs of one browser window, whose cache has JupyterLab's files from the second page on, and of one
 * process (`--process-per-site`), which keeps what it has compiled of them. Nothing between page and server is caught: that would switch the
 * cache off.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import {
  type APIRequestContext,
  type Browser,
  type BrowserContext,
  expect,
  type Page,
  test as base
} from '@playwright/test';
import { notebookFolder, settingsFolder } from '../servers';
import { emptyPage, type LabPage } from './kept-page';
import { Notebook } from './notebook';
import { type FourPanels, Panel, panelsOf, type PanelTitle } from './panel';
import { Sidebar } from './sidebar';
import { started } from './started';
import { TroubleRecord } from './trouble';

export { expect };

/** By plugin, what a user has set. */
type Settings = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Cursors that do not blink, and fonts that are there on every machine, for the pictures. */
const SETTINGS: Settings = {
  '@jupyterlab/codemirror-extension:plugin': {
    defaultConfig: { cursorBlinkRate: 0 }
  },
  '@jupyterlab/terminal-extension:plugin': {
    cursorBlink: false,
    fontFamily: '"DejaVu Sans Mono"'
  },
  '@jupyterlab/apputils-extension:themes': {
    overrides: {
      'code-font-family': '"DejaVu Sans Mono"',
      'content-font-family': '"DejaVu Sans"',
      'ui-font-family': '"DejaVu Sans"'
    }
  }
};

/** The parts of a terminal's widget in the page that are used here. */
type OpenTerminal = {
  readonly content?: {
    readonly session?: { readonly connectionStatus: string };
  };
};

export class Lab {
  readonly sidebar: Sidebar;
  readonly page: Page;
  private readonly _workspace: string;

  constructor(
    { page, workspace }: LabPage,
    /** JupyterLab runs in it, and nothing is open. */
    private _isEmpty: boolean,
    readonly troubles: TroubleRecord,
    /** With a slash at the end. */
    private readonly _root: string,
    private readonly _folder: string
  ) {
    this.page = page;
    this._workspace = workspace;
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
    if (this._isEmpty) {
      this._isEmpty = false;
      return;
    }
    await this._goto(`lab/workspaces/${this._workspace}?reset`);
  }

  /** Open a copy of a notebook, whose text is given, in an empty workspace. */
  async openCopy(name: string, text: string): Promise<Notebook> {
    this.writeFile(name, text);
    return this._show(this.notebook(name));
  }

  private async _show(notebook: Notebook): Promise<Notebook> {
    if (this._isEmpty) {
      this._isEmpty = false;
      await this._openAlone(notebook);
    } else {
      await this._goto(
        `lab/workspaces/${this._workspace}/tree/${encodeURI(notebook.path)}?reset`
      );
    }
    await notebook.ready();
    return notebook;
  }

  /** Without the launcher, which an empty main area shows. */
  private async _openAlone(notebook: Notebook): Promise<void> {
    await this.page.evaluate(async path => {
      const { commands, shell } = window.jupyterapp;
      const opened: unknown = await commands.execute('docmanager:open', {
        path
      });
      for (const widget of [...shell.widgets('main')]) {
        if (widget !== opened) {
          widget.dispose();
        }
      }
    }, notebook.path);
  }

  private async _goto(address: string): Promise<void> {
    await this.page.goto(`${this._root}${address}`, {
      waitUntil: 'domcontentloaded'
    });
    await started(this.page);
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
    await this.page.reload({ waitUntil: 'domcontentloaded' });
    await started(this.page);
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
    await expect.poll(() => this.savedWorkspace()).toContain(text);
    await this.reload();
  }

  /** A file in the folder in which the test's notebooks run. */
  writeFile(name: string, text: string): void {
    writeFileSync(
      path.join(notebookFolder('laptop'), this._folder, name),
      text
    );
  }

  /** Open a terminal of JupyterLab and put a command into it: typed, each of its letters was drawn, for minutes on a busy machine. */
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
    await this.page.keyboard.insertText(command);
    await this.page.keyboard.press('Enter');
  }

  async setTheme(theme: 'JupyterLab Light' | 'JupyterLab Dark'): Promise<void> {
    await this.page.evaluate(
      name =>
        window.jupyterapp.commands
          .execute('apputils:change-theme', { theme: name })
          .then(() => undefined),
      theme
    );
    await expect(this.page.locator('body')).toHaveAttribute(
      'data-jp-theme-name',
      theme
    );
    await this.page
      .locator('#jupyterlab-splash')
      .waitFor({ state: 'detached' });
  }
}

/** The window of all tests in this process. */
let shared: BrowserContext | null = null;

/** Its first tab stays, with an answer of the server: with the last one the window would close, and the process of the server's pages end. */
async function openWindow(
  browser: Browser,
  root: string
): Promise<BrowserContext> {
  const context = await browser.newContext();
  const first = await context.newPage();
  await first.goto(`${root}api`);
  return context;
}

/** What the last test of this process has left to the next one. */
let kept: LabPage | null = null;

export const test = base.extend<{
  lab: Lab;
  settings: Settings;
  keepsPage: boolean;
}>({
  settings: [{}, { option: true }],
  /** False for a test of what happens at a page's start, or after which its page is not as it was. Such a test loads a page of its own. */
  keepsPage: [true, { option: true }],
  context: async ({ browser, baseURL }, use) => {
    shared ??= await openWindow(browser, rootOf(baseURL));
    await use(shared);
  },
  page: async ({ lab }, use) => {
    await use(lab.page);
  },
  lab: async ({ context, settings, keepsPage, baseURL }, use, info) => {
    // (settings are read when a page is loaded)
    const isKept = keepsPage && Object.keys(settings).length === 0;
    const root = rootOf(baseURL);
    const folder = path.basename(info.outputDir);
    const place = path.join(notebookFolder('laptop'), folder);
    mkdirSync(place, { recursive: true });
    writeSettings({ ...SETTINGS, ...settings });
    const had = isKept ? kept : null;
    const tab = had ?? {
      page: await context.newPage(),
      workspace: info.testId
    };
    // (a page that has crashed, or in which a test failed, is left to nobody)
    if (isKept) {
      kept = null;
    }
    const { page } = tab;
    const troubles = new TroubleRecord(page);
    let hasPassed = false;
    try {
      await use(new Lab(tab, had !== null, troubles, root, folder));
      // (a test that is skipped has opened nothing, and an empty page has no storage)
      if (!page.url().startsWith('http')) {
        return;
      }
      if (!isKept) {
        await page.evaluate(() => localStorage.clear());
      } else if (info.errors.length === 0) {
        kept = await emptied(tab, troubles);
      }
      hasPassed = info.errors.length === 0;
    } finally {
      troubles.end();
      if (!hasPassed) {
        // (what a test waited for in vain may have failed in the page long before)
        process.stdout.write(troubles.summary);
      }
      if (kept !== tab) {
        await page.close();
      }
      await endAll(context.request, root);
      // (a kernel that is ending may still write into it)
      rmSync(place, {
        recursive: true,
        force: true,
        maxRetries: 5,
        retryDelay: 200
      });
    }
  }
});

/**
 * The page, with nothing open; null: it cannot be kept, and the next test loads another one. What goes wrong in it meanwhile, as in a panel
 * that ends, is the test's own: its page is left to nobody.
 */
async function emptied(
  tab: LabPage,
  troubles: TroubleRecord
): Promise<LabPage | null> {
  if ((await tab.page.getByRole('dialog').count()) > 0) {
    process.stdout.write('The page is not kept: a dialog is open.\n');
    return null;
  }
  const before = troubles.errors.length;
  await emptyPage(tab);
  expect(
    troubles.errors.slice(before),
    'Closing what the test had opened'
  ).toEqual([]);
  return tab;
}

/** With a slash at the end. */
function rootOf(baseURL: string | undefined): string {
  return new URL('/', baseURL).href;
}

/** In place of what the test before has set. */
function writeSettings(settings: Settings): void {
  const folder = settingsFolder('laptop');
  rmSync(folder, { recursive: true, force: true });
  for (const [id, values] of Object.entries(settings)) {
    const [plugin = '', name = ''] = id.split(':');
    const file = path.join(folder, plugin, `${name}.jupyterlab-settings`);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(values));
  }
}

/** Kernels with their notebooks, and terminals; with a kernel ends its cluster. */
async function endAll(request: APIRequestContext, root: string): Promise<void> {
  for (const [kind, name] of [
    ['sessions', 'id'],
    ['terminals', 'name']
  ] as const) {
    const found = await request.get(`${root}api/${kind}`);
    for (const each of (await found.json()) as Record<string, string>[]) {
      await request.delete(`${root}api/${kind}/${each[name]}`);
    }
  }
}
