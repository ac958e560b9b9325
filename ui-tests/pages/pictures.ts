/**
 * Pictures are for people: no test reads them. A run of all tests leaves them out (SPANWISE_PICTURES=0), for who looks at pictures runs one
 * file. With SPANWISE_PICTURES=1 some become those of the README and of docs.
 */
import type { Page } from '@playwright/test';

/** Somebody will look at them. */
export const takesPictures = process.env['SPANWISE_PICTURES'] !== '0';

export async function takePicture(
  page: Page,
  path: string,
  options: { readonly fullPage?: boolean } = {}
): Promise<void> {
  if (takesPictures) {
    await page.screenshot({ path, ...options });
  }
}
