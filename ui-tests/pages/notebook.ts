/** A notebook in JupyterLab: written through the contents service, run and read through the page. */
import { expect, type Locator, type Page } from '@playwright/test';

/** A kernel and a cluster start; on a busy machine that takes its time. */
const RUN_LIMIT = 120_000;

/** The parts of a notebook's widget in the page that the tests use. */
type OpenNotebook = {
  readonly id: string;
  readonly content?: {
    activeCellIndex: number;
    readonly widgets: readonly {
      readonly model: {
        readonly type: string;
        readonly sharedModel: {
          readonly source: string;
          setSource(source: string): void;
        };
      };
    }[];
  };
  readonly context?: { readonly path: string; readonly isReady: boolean };
  readonly sessionContext?: {
    readonly isReady: boolean;
    readonly session?: {
      readonly kernel?: {
        readonly status: string;
        readonly connectionStatus: string;
        restart(): Promise<void>;
        requestKernelInfo(): Promise<unknown>;
      } | null;
    } | null;
  };
};

export class Notebook {
  constructor(
    private readonly _page: Page,
    private readonly _root: string,
    /** As the contents service writes it. */
    readonly path: string
  ) {}

  get name(): string {
    return this.path.split('/').pop() ?? '';
  }

  async write(cells: readonly string[]): Promise<void> {
    const response = await this._page.request.put(
      `${this._root}api/contents/${encodeURI(this.path)}`,
      {
        headers: await xsrfHeader(this._page),
        data: {
          type: 'notebook',
          format: 'json',
          content: {
            nbformat: 4,
            nbformat_minor: 5,
            metadata: {
              kernelspec: {
                name: 'python3',
                display_name: 'Python 3',
                language: 'python'
              }
            },
            cells: cells.map((source, index) => ({
              id: `cell-${index}`,
              cell_type: 'code',
              metadata: {},
              source,
              outputs: [],
              execution_count: null
            }))
          }
        }
      }
    );
    expect(response.ok(), await response.text()).toBe(true);
  }

  /** Open it in a tab of its own. */
  async openHere(): Promise<void> {
    await this._page.evaluate(
      path =>
        window.jupyterapp.commands
          .execute('docmanager:open', { path })
          .then(() => undefined),
      this.path
    );
    await this.ready();
  }

  /** Its kernel is connected and idle: what is run earlier, JupyterLab drops without a word. */
  async ready(): Promise<void> {
    await expect(this.tab).toBeVisible({ timeout: RUN_LIMIT });
    await this._page.waitForFunction(
      path => {
        const open = [...window.jupyterapp.shell.widgets('main')].find(
          widget => (widget as OpenNotebook).context?.path === path
        ) as OpenNotebook | undefined;
        const kernel = open?.sessionContext?.session?.kernel;
        return (
          open?.context?.isReady === true &&
          open.sessionContext?.isReady === true &&
          kernel?.connectionStatus === 'connected' &&
          kernel.status === 'idle'
        );
      },
      this.path,
      { polling: 100, timeout: RUN_LIMIT }
    );
  }

  get tab(): Locator {
    return this._page
      .locator('#jp-main-dock-panel')
      .getByRole('tab', { name: this.name });
  }

  /** The notebook's widget in the main area. */
  get widget(): Locator {
    return this._page.getByRole('tabpanel', { name: this.name, exact: true });
  }

  /** By its place among all cells, also when JupyterLab draws only some of them. */
  cell(index: number): Locator {
    return this.widget.locator(
      `.jp-CodeCell[data-windowed-list-index="${index}"]`
    );
  }

  /** Scroll to a cell, and make it the active one. */
  async show(index: number): Promise<void> {
    await this.activate();
    await this._page.evaluate(number => {
      const open = window.jupyterapp.shell.currentWidget as OpenNotebook | null;
      if (open?.content === undefined) {
        throw new Error('The notebook is not in front.');
      }
      open.content.activeCellIndex = number;
    }, index);
    await this.cell(index).scrollIntoViewIfNeeded();
  }

  /** By the button in what the cell shows of a client or an observation. */
  async openPanels(index: number): Promise<void> {
    await this.cell(index)
      .getByRole('button', { name: 'Open the panels' })
      .click();
  }

  /** The place of the first code cell that holds this text. */
  async find(part: string): Promise<number> {
    await this.activate();
    return this._page.evaluate(text => {
      const open = window.jupyterapp.shell.currentWidget as OpenNotebook | null;
      const index = (open?.content?.widgets ?? []).findIndex(
        ({ model }) =>
          model.type === 'code' && model.sharedModel.source.includes(text)
      );
      if (index < 0) {
        throw new Error(`No cell holds ${text}`);
      }
      return index;
    }, part);
  }

  /** As if somebody had typed it. */
  async edit(index: number, source: string): Promise<void> {
    await this.activate();
    await this._page.evaluate(
      ([number, text]) => {
        const open = window.jupyterapp.shell
          .currentWidget as OpenNotebook | null;
        open?.content?.widgets[number]?.model.sharedModel.setSource(text);
      },
      [index, source] as const
    );
    await expect(this.cell(index).locator('.cm-content')).toContainText(
      source.slice(source.lastIndexOf('\n') + 1)
    );
  }

  /** Start a cell, and do not wait for its end. */
  async start(index: number): Promise<void> {
    await this.activate();
    // By command: JupyterLab moves the focus about for a while after a notebook was opened, and keys would be lost.
    await this._page.evaluate(number => {
      const { commands, shell } = window.jupyterapp;
      const open = shell.currentWidget as OpenNotebook | null;
      if (open?.content === undefined) {
        throw new Error('The notebook is not in front.');
      }
      open.content.activeCellIndex = number;
      void commands.execute('notebook:run-cell');
    }, index);
    await expect(this.cell(index).locator('.jp-InputPrompt')).toHaveText(
      /\[(\*|\d+)\]/
    );
  }

  /** Run a cell to its end; an error in it fails the test. */
  async run(index: number): Promise<void> {
    await this.start(index);
    await this.finished(index);
  }

  async finished(index: number): Promise<void> {
    await expect(this.cell(index).locator('.jp-InputPrompt')).toHaveText(
      /\[\d+\]/,
      { timeout: RUN_LIMIT }
    );
    const error = this.cell(index).locator(
      '[data-mime-type="application/vnd.jupyter.error"], [data-mime-type="application/vnd.jupyter.stderr"]'
    );
    expect(await error.allInnerTexts()).toEqual([]);
  }

  /** The text that a cell has printed. */
  async output(index: number): Promise<string> {
    return (
      await this.cell(index).locator('.jp-OutputArea-output').allInnerTexts()
    ).join('\n');
  }

  /** Bring it to the front; JupyterLab's commands then mean it. */
  async activate(): Promise<void> {
    await this._page.evaluate(path => {
      const { shell } = window.jupyterapp;
      for (const widget of shell.widgets('main')) {
        if ((widget as OpenNotebook).context?.path === path) {
          shell.activateById(widget.id);
        }
      }
    }, this.path);
    await this._page.waitForFunction(
      path =>
        (window.jupyterapp.shell.currentWidget as OpenNotebook | null)?.context
          ?.path === path,
      this.path
    );
  }

  /**
   * Restart, and wait until the new kernel answers. Its status says nothing then: JupyterLab counts no answer to its own requests and
   * shows "Starting" until the first cell is run.
   */
  async restartKernel(): Promise<void> {
    await this._page.evaluate(async path => {
      const open = [...window.jupyterapp.shell.widgets('main')].find(
        widget => (widget as OpenNotebook).context?.path === path
      ) as OpenNotebook | undefined;
      const kernel = open?.sessionContext?.session?.kernel;
      if (kernel === undefined || kernel === null) {
        throw new Error(`${path} has no kernel.`);
      }
      await kernel.restart();
      await kernel.requestKernelInfo();
    }, this.path);
  }

  /** By the command behind JupyterLab's button. */
  async interruptKernel(): Promise<void> {
    await this.activate();
    await this._page.evaluate(() =>
      window.jupyterapp.commands
        .execute('notebook:interrupt-kernel')
        .then(() => undefined)
    );
  }

  /** End its kernel, and with that its cluster; Galata's tests have that done for them. */
  async shutDown(): Promise<void> {
    await this._page.evaluate(
      path =>
        window.jupyterapp.serviceManager.sessions
          .stopIfNeeded(path)
          .then(() => undefined),
      this.path
    );
  }
}

/** The token that JupyterLab sends beside its cookie; nothing where the server gives none. */
async function xsrfHeader(page: Page): Promise<Record<string, string>> {
  const cookies = await page.context().cookies();
  const found = cookies.find(({ name }) => name === '_xsrf');
  return found === undefined ? {} : { 'X-XSRFToken': found.value };
}
