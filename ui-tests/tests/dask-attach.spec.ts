/** A Dask cluster in a notebook that does not know Spanwise: found, offered, shown by one click. */
import { expect, type Lab, test } from '../pages/lab';

const START = `from distributed import Client, LocalCluster

cluster = LocalCluster(
    n_workers=2,
    threads_per_worker=2,
    processes=False,
    dashboard_address="127.0.0.1:0",
)
client = Client(cluster)`;

const WORK = `import time
from distributed import span

def simulate(seed):
    time.sleep(0.02)
    return bytes(100_000 + seed)

def measure(result):
    time.sleep(0.01)
    return len(result)

with span("simulation"):
    results = client.map(simulate, range(60), pure=False)
with span("measuring"):
    sizes = client.gather(client.map(measure, results, pure=False))
import sys
print("spanwise in the notebook:", [n for n in globals() if "spanwise" in n.lower()])`;

test('a cluster of Dask is found in the notebook, and one click shows it', async ({
  lab
}, info) => {
  const notebook = await lab.open('dask.ipynb', [START, WORK]);
  await lab.sidebar.show();
  const offer = lab.sidebar.root.getByRole('group', { name: /^Dask cluster / });
  await expect(offer).toHaveCount(0);
  await notebook.run(0);
  await expect(offer).toContainText('2 workers, 4 threads');
  await lab.page.screenshot({ path: info.outputPath('offer-light.png') });
  await lab.setTheme('JupyterLab Dark');
  await lab.page.screenshot({ path: info.outputPath('offer-dark.png') });
  await lab.setTheme('JupyterLab Light');

  await offer.getByRole('button', { name: /^Show Dask cluster/ }).click();
  await expect(region(lab, 'Task Stream')).toBeVisible();
  await expect(offer).toHaveCount(0);
  await notebook.run(1);
  await test.step('the panels have its figures', async () => {
    await expect(
      region(lab, 'Task Stream').getByRole('list', { name: 'Legend' })
    ).toContainText('simulate');
    await expect(region(lab, 'Fine Performance Metrics')).toContainText(
      'measure'
    );
    await expect(lab.sidebar.span('simulation')).toBeVisible();
    await expect(lab.sidebar.root).toContainText('2 workers');
  });
  await lab.page.screenshot({ path: info.outputPath('panels-light.png') });
  await lab.setTheme('JupyterLab Dark');
  await lab.page.screenshot({ path: info.outputPath('panels-dark.png') });
  expect(lab.troubles.errors).toEqual([]);
});

test('an address at which nobody listens is said in a sentence', async ({
  lab
}) => {
  await lab.open('alone.ipynb', ['1 + 1']);
  await lab.page.evaluate(() => {
    void window.jupyterapp.commands.execute('spanwise:attach');
  });
  const dialog = lab.page.getByRole('dialog');
  await dialog.getByLabel('Address of the scheduler').fill('tcp://127.0.0.1:9');
  await dialog.getByRole('button', { name: 'Attach' }).click();
  await expect(
    lab.page.getByText('Nobody listens at tcp://127.0.0.1:9').first()
  ).toBeVisible({ timeout: 60_000 });
});

function region(lab: Lab, title: string) {
  return lab.page.getByRole('region', { name: new RegExp(`^${title}, `, 'u') });
}
