/** Two notebooks with a cluster each; what their panels say when a cluster ends, and when the next one comes. */
import { expect, test } from '../pages/lab';

function cells(name: string, functionName: string): string[] {
  return [
    `import time
from spanwise import Client, span
client = Client(n_workers=1, threads_per_worker=2, name="${name}")
client`,
    `def ${functionName}(n):
    time.sleep(0.05)
    return n

with span("${name}'s span"):
    total = sum(client.gather(client.map(${functionName}, range(8), pure=False)))
total`,
    `client.close()`
  ];
}

test('clusters stay apart, end and are followed', async ({ lab }) => {
  const north = await lab.open('north.ipynb', cells('north', 'row'));
  await north.run(0);
  await lab.sidebar.show();
  await north.run(1);
  await lab.sidebar.item('Fine Performance Metrics').click();
  const northern = lab.panel('Fine Performance Metrics', 'north');
  await expect(northern.region).toContainText('row');

  const south = lab.notebook('south.ipynb');
  await south.write(cells('south', 'sail'));
  await north.activate();
  await south.openHere();
  await south.run(0);
  await south.run(1);
  await expect(lab.sidebar.span("south's span")).toBeVisible();
  await expect(lab.sidebar.span("north's span")).toHaveCount(0);
  const stay = 'The open panels show north.';
  await expect(lab.sidebar.card('south')).toContainText(stay);
  await lab.sidebar.item('Fine Performance Metrics').press('Control+Enter');
  await expect(lab.sidebar.card('south')).not.toContainText(stay);
  const southern = lab.panel('Fine Performance Metrics', 'south');
  const functions = (panel: typeof southern) =>
    panel.region.getByRole('list', { name: 'By function' });
  await expect(functions(southern)).toContainText('sail');
  await expect(functions(southern)).not.toContainText('row');

  await test.step('a filter of one does not touch the other', async () => {
    await lab.sidebar.pick("south's span");
    await expect(southern.chips).toContainText("south's span");
    await northern.tab.click();
    await expect(functions(northern)).toContainText('row');
    await expect(functions(northern)).not.toContainText('sail');
    await expect(northern.chips).toHaveCount(0);
    await expect(lab.sidebar.span("north's span")).toBeVisible();
  });

  await test.step('client.close(): ended, with its history', async () => {
    await north.activate();
    await north.run(2);
    await northern.tab.click();
    await expect(northern.region).toContainText(/Ended at .*client was closed/);
    await expect(northern.tab).toContainText('(ended)');
    await expect(functions(northern)).toContainText('row');
  });

  await test.step('a kernel restart: ended, with its history', async () => {
    await south.activate();
    await south.restartKernel();
    await southern.tab.click();
    await expect(southern.region).toContainText(/Ended at .*kernel/);
    await expect(functions(southern)).toContainText('sail');
  });

  await test.step('a rerun is followed by itself', async () => {
    await south.activate();
    await south.run(0);
    await southern.tab.click();
    await expect(southern.region).not.toContainText('Ended');
    await south.activate();
    await south.run(1);
    await southern.tab.click();
    await expect(functions(southern)).toContainText('sail');
    await expect(southern.tab).not.toContainText('(ended)');
  });
  expect(lab.troubles.errors).toEqual([]);
});
