/** Behind a hub, with all of JupyterLab's extensions, as users have them: the other tests' JupyterLab leaves some out. */
import { expect, test } from '@playwright/test';
import { Notebook } from '../pages/notebook';
import { Panel } from '../pages/panel';
import { started } from '../pages/started';
import { TroubleRecord } from '../pages/trouble';
import { addressOf } from '../servers';
import { CLUSTER, FUNCTIONS, START } from './orchard';

test.use({ baseURL: addressOf('hub'), contextOptions: {} });

test('a panel fills under a base_url', async ({ page, baseURL }) => {
  const troubles = new TroubleRecord(page);
  const notebook = new Notebook(page, baseURL ?? '', 'behind-a-hub.ipynb');
  await notebook.write([START, FUNCTIONS, 'a_round()']);
  await page.goto(`lab/tree/${notebook.path}?reset`, {
    waitUntil: 'domcontentloaded'
  });
  await started(page);
  await expect(
    page.getByRole('tab', { name: 'Spanwise', exact: true })
  ).toBeVisible();
  expect(new URL(page.url()).pathname).toMatch(/^\/user\/a\/lab/);
  await notebook.ready();
  for (const cell of [0, 1, 2]) {
    await notebook.run(cell);
  }
  await notebook.openPanels(0);
  const { region } = new Panel(page, 'Fine Performance Metrics', CLUSTER);
  await expect(region.getByRole('list', { name: 'By function' })).toContainText(
    'press'
  );
  expect(troubles.errors).toEqual([]);
  await notebook.shutDown();
});
