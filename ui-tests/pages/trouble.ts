/** Collects what must not happen in a page: uncaught errors, console errors, dialogs that a text has opened. */
import type { ConsoleMessage, Dialog, Page, Request } from '@playwright/test';

/** JupyterLab's debugger asks each new kernel for its state, and complains when a restart comes before the answer. */
const DEBUGGER_CUT_SHORT =
  /^Could not restore the debugger state: Canceled future for debug_request/;

/**
 * Jupyter cannot list its kernels while one starts: from when it is known until it has a `last_activity`, seconds on a busy machine. JupyterLab
 * asks again. A page may see it as often as it asks while it starts a kernel itself, and once of one that another page starts.
 */
const KERNEL_JUST_STARTS = {
  text: /status of 500/,
  address: /\/api\/kernels\?\d+$/
};
const STARTS_KERNEL = /\/api\/(?:sessions|kernels)(?:\?\d+)?$/;

export class TroubleRecord {
  private readonly _errors: string[] = [];
  private _hasKernelJustStarted = false;
  private readonly _starts = new Set<Request>();
  private readonly _dialogs: string[] = [];

  constructor(private readonly _page: Page) {
    _page.on('pageerror', this._onError);
    _page.on('console', this._onMessage);
    _page.on('dialog', this._onDialog);
    _page.on('request', this._onRequest);
    _page.on('requestfinished', this._onAnswer);
    _page.on('requestfailed', this._onAnswer);
  }

  /** What comes later belongs to another test. */
  end(): void {
    this._page.off('pageerror', this._onError);
    this._page.off('console', this._onMessage);
    this._page.off('dialog', this._onDialog);
    this._page.off('request', this._onRequest);
    this._page.off('requestfinished', this._onAnswer);
    this._page.off('requestfailed', this._onAnswer);
  }

  get errors(): readonly string[] {
    return this._errors;
  }

  get dialogs(): readonly string[] {
    return this._dialogs;
  }

  /** A line for each, for whoever reads why a test failed; empty: nothing went wrong in the page. */
  get summary(): string {
    return [...this._errors, ...this._dialogs.map(text => `dialog: ${text}`)]
      .map(line => `In the page: ${line}\n`)
      .join('');
  }

  private readonly _onError = (error: Error) => {
    this._errors.push(`uncaught: ${error.message}`);
  };

  private readonly _onMessage = (message: ConsoleMessage) => {
    const text = message.text();
    const { url } = message.location();
    if (message.type() !== 'error' || DEBUGGER_CUT_SHORT.test(text)) {
      return;
    }
    if (
      KERNEL_JUST_STARTS.text.test(text) &&
      KERNEL_JUST_STARTS.address.test(url)
    ) {
      if (this._starts.size > 0) {
        return;
      }
      if (!this._hasKernelJustStarted) {
        this._hasKernelJustStarted = true;
        return;
      }
    }

    this._errors.push(`console: ${text} (${url})`);
  };

  private readonly _onRequest = (request: Request) => {
    if (request.method() === 'POST' && STARTS_KERNEL.test(request.url())) {
      this._starts.add(request);
    }
  };

  private readonly _onAnswer = (request: Request) => {
    this._starts.delete(request);
  };

  private readonly _onDialog = (dialog: Dialog) => {
    // JupyterLab asks before a page with unsaved notebooks is left.
    if (dialog.type() === 'beforeunload') {
      void dialog.accept();
    } else {
      this._dialogs.push(dialog.message());
      void dialog.dismiss();
    }
  };
}
