/** Collects what must not happen in a page: uncaught errors, console errors, dialogs that a text has opened. */
import type { Page } from '@playwright/test';

/** JupyterLab's debugger asks each new kernel for its state, and complains when a restart comes before the answer. */
const DEBUGGER_CUT_SHORT =
  /^Could not restore the debugger state: Canceled future for debug_request/;

/** Jupyter cannot list its kernels in the moment in which one is known and has no `last_activity` yet. JupyterLab asks again: a page may see it once. */
const KERNEL_JUST_STARTS = {
  text: /status of 500/,
  address: /\/api\/kernels\?\d+$/
};

export class TroubleRecord {
  private readonly _errors: string[] = [];
  private _hasKernelJustStarted = false;
  private readonly _dialogs: string[] = [];

  constructor(page: Page) {
    page.on('pageerror', error => {
      this._errors.push(`uncaught: ${error.message}`);
    });
    page.on('console', message => {
      const text = message.text();
      const { url } = message.location();
      if (message.type() !== 'error' || DEBUGGER_CUT_SHORT.test(text)) {
        return;
      }
      if (
        !this._hasKernelJustStarted &&
        KERNEL_JUST_STARTS.text.test(text) &&
        KERNEL_JUST_STARTS.address.test(url)
      ) {
        this._hasKernelJustStarted = true;
        return;
      }
      this._errors.push(`console: ${text} (${url})`);
    });
    page.on('dialog', dialog => {
      // JupyterLab asks before a page with unsaved notebooks is left.
      if (dialog.type() === 'beforeunload') {
        void dialog.accept();
      } else {
        this._dialogs.push(dialog.message());
        void dialog.dismiss();
      }
    });
  }

  get errors(): readonly string[] {
    return this._errors;
  }

  get dialogs(): readonly string[] {
    return this._dialogs;
  }
}
