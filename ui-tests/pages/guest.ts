/** Somebody who signs in at the server `guarded`: a browser context of their own, and a record of every address that it asks for. */
import { type Browser, type BrowserContext, type Page } from '@playwright/test';
import { token } from '../servers';
import { Notebook } from './notebook';
import { type FourPanels, Panel, panelsOf, type PanelTitle } from './panel';
import { Sidebar } from './sidebar';
import { started } from './started';
import { TroubleRecord } from './trouble';

/** Found by the browser itself; nothing goes over a network. */
const LOCAL = /^(data|blob|about):/;

export class Guest {
  private readonly _asked = new Set<string>();

  private constructor(
    readonly context: BrowserContext,
    /** Of the server, without a slash at the end. */
    readonly origin: string
  ) {
    const note = (url: string) => this._asked.add(url);
    // Service workers' own requests come here too.
    context.on('request', request => note(request.url()));
    context.on('serviceworker', worker => note(worker.url()));
    context.on('page', page => {
      page.on('websocket', socket => note(socket.url()));
      page.on('worker', worker => note(worker.url()));
    });
  }

  static async enter(browser: Browser, origin: string): Promise<Guest> {
    const context = await browser.newContext({ serviceWorkers: 'allow' });
    return new Guest(context, origin);
  }

  /** Everything that any page of the context has asked another origin for. */
  get elsewhere(): string[] {
    const host = new URL(this.origin).host;
    return [...this._asked].filter(
      url => !LOCAL.test(url) && new URL(url).host !== host
    );
  }

  /** Addresses of this origin that it has asked for. */
  get asked(): string[] {
    return [...this._asked].map(url => new URL(url).pathname);
  }

  /** Through the login page, which JupyterLab shows in place of what was asked for. */
  async signIn(page: Page): Promise<void> {
    await page.getByLabel(/token/).first().fill(token());
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await started(page);
  }

  /** A tab with a workspace of its own, in which a notebook is opened. */
  async tab(workspace: string): Promise<Tab> {
    const page = await this.context.newPage();
    return new Tab(page, this.origin, workspace);
  }
}

export class Tab {
  readonly sidebar: Sidebar;
  readonly troubles: TroubleRecord;

  constructor(
    readonly page: Page,
    private readonly _origin: string,
    private readonly _workspace: string
  ) {
    this.sidebar = new Sidebar(page);
    this.troubles = new TroubleRecord(page);
  }

  /** A notebook in an empty workspace. */
  addressOf(notebook: string): string {
    return `${this._origin}/lab/workspaces/${this._workspace}/tree/${notebook}?reset`;
  }

  /** For who has signed in. */
  async goto(notebook: string): Promise<void> {
    await this.page.goto(this.addressOf(notebook), {
      waitUntil: 'domcontentloaded'
    });
    await started(this.page);
  }

  /** As a user does it: F5. */
  async reload(): Promise<void> {
    await this.page.reload({ waitUntil: 'domcontentloaded' });
    await started(this.page);
  }

  notebook(name: string): Notebook {
    return new Notebook(this.page, `${this._origin}/`, name);
  }

  panel(title: PanelTitle, cluster: string): Panel {
    return new Panel(this.page, title, cluster);
  }

  panels(cluster: string): FourPanels {
    return panelsOf(this.page, cluster);
  }

  /** The workspace as the server has it: layout and state database. */
  async savedWorkspace(): Promise<string> {
    const response = await this.page.request.get(
      `${this._origin}/lab/api/workspaces/${this._workspace}`
    );
    return response.text();
  }
}
