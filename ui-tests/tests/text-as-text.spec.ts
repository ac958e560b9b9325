/** Names that would run a script if they were HTML: key, tag, function, cluster and notebook. */
import { expect, test } from '../pages/lab';
import { TITLES } from '../pages/panel';

const EVIL = '<img src=x onerror=alert(1)>';

// A function is named by its tasks' keys, from which Dask takes a bracket at the beginning: hence the x.
const CELLS = [
  `import time
from spanwise import Client, MemorySampler, span

EVIL = "${EVIL}"
client = Client(n_workers=1, threads_per_worker=2, name=EVIL)
client`,
  `def wait():
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        sum(range(1000))

wait.__name__ = wait.__qualname__ = EVIL
wait.__code__ = wait.__code__.replace(co_name=EVIL, co_qualname=EVIL)
with span(EVIL), MemorySampler().sample(EVIL, interval=0.1):
    client.gather([client.submit(wait, key=f"x{EVIL}-{n}") for n in range(4)])`
];

test('markup in names is shown as text', async ({ lab, page }) => {
  // A file's name cannot hold a slash; everything else of it can.
  const notebook = await lab.open(`${EVIL}.ipynb`, CELLS);
  await notebook.run(0);
  await lab.sidebar.show();
  await notebook.run(1);
  await notebook.openPanels(0);

  await expect(lab.sidebar.span(EVIL)).toBeVisible();
  await expect(lab.sidebar.card(EVIL)).toContainText(`${EVIL}.ipynb`);
  await lab.sidebar.pick(EVIL);
  for (const title of TITLES) {
    const panel = lab.panel(title, EVIL);
    await expect(panel.tab).toBeVisible();
    await expect(panel.chips).toContainText(EVIL);
  }
  const inside = (title: (typeof TITLES)[number]) =>
    lab.panel(title, EVIL).region;
  await expect(
    inside('Task Stream').getByRole('list', { name: 'Legend' })
  ).toContainText(EVIL);
  await expect(
    inside('Fine Performance Metrics').getByRole('list', {
      name: 'By function'
    })
  ).toContainText(EVIL);
  await expect(
    inside('Memory Sampler').getByRole('table', { name: 'Runs' })
  ).toContainText(EVIL);

  // Keys stand in the table of tasks, frames in the profile's.
  await lab.panel('Task Stream', EVIL).showTable(true);
  await expect(
    inside('Task Stream').getByRole('cell', { name: `x${EVIL}-3` })
  ).toBeVisible();
  await lab.panel('Profile', EVIL).showTable(true);
  await expect(
    inside('Profile').getByText(EVIL, { exact: false }).nth(1)
  ).toBeVisible();

  expect(await page.locator('img[src="x"]').count()).toBe(0);
  expect(lab.troubles.dialogs).toEqual([]);
  expect(lab.troubles.errors).toEqual([]);
});
