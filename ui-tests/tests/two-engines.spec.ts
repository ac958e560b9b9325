/**
 * The notebook of docs/two-engines.md on both engines, for its pictures: SPANWISE_PICTURES=1. What it learns, Python's tests compare on every
 * run, and two-clusters.spec.ts has the panels of both engines.
 */
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import type { Locator } from '@playwright/test';
import { expect, type Lab, test } from '../pages/lab';
import type { Notebook } from '../pages/notebook';
import { TITLES } from '../pages/panel';

const DOCS = path.resolve(__dirname, '..', '..', 'docs');
const EMBEDDED = 'Client(n_workers=2, threads_per_worker=2)';

/** Run in the first notebook, below what the picture shows. Workers are processes, as elsewhere. */
const CLUSTER = `from distributed import LocalCluster

elsewhere = LocalCluster(
    name="elsewhere",
    n_workers=2,
    threads_per_worker=2,
    dashboard_address="127.0.0.1:0",
    scheduler_kwargs={"dashboard": False},
)
print(elsewhere.scheduler_address)`;

const CELLS = [
  ...readFileSync(path.join(DOCS, 'two-engines.md'), 'utf8').matchAll(
    /^```python\n(.*?)\n```$/gmsu
  )
].map(([, cell]) => cell!);

test('one notebook fills the same panels on both engines', async ({ lab }) => {
  test.skip(
    process.env['SPANWISE_PICTURES'] !== '1',
    'It is there for pictures.'
  );
  expect(CELLS[0]).toContain(EMBEDDED);
  const cells = [...CELLS, CLUSTER];
  const notebook = await lab.open('embedded.ipynb', cells);
  const embedded = await shown(lab, notebook);
  await take(lab, 'engine-embedded-light');
  await notebook.run(CELLS.length);
  const address = (await notebook.output(CELLS.length)).trim();

  const [first = '', ...others] = CELLS;
  const changed = first.replace(EMBEDDED, `Client("${address}")`);
  const onDask = await shown(
    lab,
    await lab.open('dask.ipynb', [changed, ...others])
  );
  await take(lab, 'engine-dask-light');
  expect(onDask).toEqual(embedded);
  expect(lab.troubles.errors).toEqual([]);
});

/** Run the page's cells, and wait until the panels have them; returns how many spans the sidebar lists. */
async function shown(lab: Lab, notebook: Notebook): Promise<number> {
  await lab.sidebar.show();
  for (const index of CELLS.keys()) {
    await notebook.run(index);
    if (index === 0) {
      await lab.sidebar.openDefaultLayout();
    }
  }
  const [stream, metrics, profile, memory] = TITLES.map(title =>
    lab.page.getByRole('region', { name: new RegExp(`^${title}, `, 'u') })
  ) as [Locator, Locator, Locator, Locator];
  const legend = stream.getByRole('list', { name: 'Legend' });
  const byFunction = metrics.getByRole('list', { name: 'By function' });
  for (const each of ['read', 'fit', 'score']) {
    await expect(legend).toContainText(each);
    await expect(byFunction).toContainText(each);
  }
  await expect(
    profile.getByRole('application', { name: 'Profile chart' })
  ).toBeVisible();
  await expect(
    memory.locator('.scatterlayer path.js-line').first()
  ).toHaveAttribute('d', /L/u);
  for (const span of ['load', 'model', 'fit', 'score', 'average']) {
    await expect(lab.sidebar.span(span)).toBeVisible();
  }
  // The first cell is what the pictures differ in.
  await notebook.show(0);
  return lab.sidebar.tree.getByRole('treeitem').count();
}

async function take(lab: Lab, name: string): Promise<void> {
  await lab.page.mouse.move(800, 4);
  await lab.page.screenshot({
    path: path.join(DOCS, 'pictures', `${name}.png`)
  });
}
