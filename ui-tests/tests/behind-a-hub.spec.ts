import { expect, test } from '@jupyterlab/galata';

test('the extension starts under a base_url', async ({ page }) => {
  await expect(
    page.getByRole('tab', { name: 'Spanwise', exact: true })
  ).toBeVisible();
  expect(new URL(page.url()).pathname).toMatch(/^\/user\/a\/lab/);
});
