import { expect, test } from '../pages/lab';

test.use({ keepsPage: false });

test('JupyterLab starts with the extension and its sidebar tab', async ({
  lab
}) => {
  await lab.openEmpty();
  await expect(
    lab.page.getByRole('tab', { name: 'Spanwise', exact: true })
  ).toBeVisible();
  const plugins = await lab.page.evaluate(() =>
    window.jupyterapp
      .listPlugins()
      .filter((id: string) => id.startsWith('@spanwise/lab:'))
  );
  expect(plugins).not.toHaveLength(0);
});
