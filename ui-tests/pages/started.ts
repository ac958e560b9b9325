/** The start of JupyterLab in a page. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { Page } from '@playwright/test';

declare global {
  // oxlint-disable-next-line house/role-names -- The browser's own.
  interface Window {
    /** As `expose_app_in_browser` of the servers has it. */
    readonly jupyterapp: JupyterFrontEnd;
  }
}

/** JupyterLab's first page on a slow, busy machine. */
const PATIENCE_MS = 240_000;

/** It has laid out what it had saved: before that, a new workspace may still bring its file browser to the front. */
export async function started(page: Page): Promise<void> {
  // One wait, which outlives a navigation on the way.
  await page.waitForFunction(
    () => (window as Partial<Window>).jupyterapp?.restored.then(() => true),
    null,
    { polling: 100, timeout: PATIENCE_MS }
  );
  await page
    .locator('#jupyterlab-splash')
    .waitFor({ state: 'detached', timeout: PATIENCE_MS });
}
