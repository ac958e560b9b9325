import { expect, test } from '@jupyterlab/galata';

test('JupyterLab starts with the extension and its sidebar tab', async ({
  page
}) => {
  await expect(
    page.getByRole('tab', { name: 'Spanwise', exact: true })
  ).toBeVisible();
  const plugins = await page.evaluate(() =>
    window.jupyterapp
      .listPlugins()
      .filter((id: string) => id.startsWith('@spanwise/lab:'))
  );
  expect(plugins).not.toHaveLength(0);
});
