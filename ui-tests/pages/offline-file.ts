/** An HTML file of ours, opened from the disk by a browser without network. */
import type { Page } from '@playwright/test';
import { pathToFileURL } from 'node:url';

/** Everything that the page says, asks for or opens. */
export type PageRecord = { messages: string[]; requests: string[] };

export async function openOffline(
  page: Page,
  file: string
): Promise<PageRecord> {
  const record: PageRecord = { messages: [], requests: [] };
  page.on('console', message => record.messages.push(message.text()));
  page.on('pageerror', error => record.messages.push(error.message));
  page.on('dialog', dialog => {
    record.messages.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', request => record.requests.push(request.url()));
  await page.context().setOffline(true);
  await page.goto(pathToFileURL(file).href);
  return record;
}
