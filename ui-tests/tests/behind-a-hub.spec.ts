/**
 * Without Galata's page: its requests to the server always go to the root.
 */
import { expect, test } from '@playwright/test';

test('the extension starts under a base_url', async ({ page }) => {
  await page.goto('lab');
  await expect(
    page.getByRole('tab', { name: 'Spanwise', exact: true })
  ).toBeVisible({ timeout: 120_000 });
  expect(new URL(page.url()).pathname).toMatch(/^\/user\/a\/lab/);
});
