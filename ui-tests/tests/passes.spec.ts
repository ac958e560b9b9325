/** A cell that was run, edited and run again: Compare says what the edit did. With SPANWISE_PICTURES=1 a picture becomes that of docs/compare.md. */
import { mkdirSync } from 'node:fs';
import * as path from 'node:path';
import type { Locator } from '@playwright/test';
import { expect, test } from '../pages/lab';
import { takePicture, takesPictures } from '../pages/pictures';

const OF_THE_DOCS = 'compare-passes-light';

const CLUSTER = 'pruned';
const SETUP = `import time
from spanwise import Client, span
client = Client(n_workers=1, threads_per_worker=2, name="${CLUSTER}")
def prune(tree, seconds):
    time.sleep(seconds)
    return tree
def weigh(tree):
    time.sleep(0.005)
    return tree`;
const WORK = (seconds: number) => `# prune and weigh
with span("pruning"):
    trees = client.map(prune, range(20), [${seconds}] * 20, pure=False)
with span("weighing"):
    fruit = client.map(weigh, trees, pure=False)
_ = client.gather(fruit)`;

test('a cell that was edited and run again is compared with the time before', async ({
  lab
}, info) => {
  const take = async (name: string) => {
    const folder =
      process.env['SPANWISE_PICTURES'] === '1' && name === OF_THE_DOCS
        ? path.resolve(__dirname, '..', '..', 'docs', 'pictures')
        : info.outputPath('pictures');
    mkdirSync(folder, { recursive: true });
    await lab.page.mouse.move(800, 4);
    await takePicture(lab.page, path.join(folder, `${name}.png`));
  };
  const notebook = await lab.open('pruned.ipynb', [SETUP, WORK(0.1)]);
  await lab.sidebar.show();
  await notebook.run(0);
  await notebook.run(1);
  await notebook.edit(1, WORK(0.02));
  await notebook.run(1);
  await lab.sidebar.item('Compare').click();

  const cell = '# prune and weigh';
  const region = lab.page.getByRole('region', { name: /^Compare, /u });
  const headline = region.getByRole('heading', { level: 3 });
  // (a machine that pauses makes the second pass the slower one)
  await expect(headline).toHaveText(
    /^# prune and weigh \[3\] (?:is .* (?:faster|slower): .* instead of|takes as long as # prune and weigh \[2\]: |took about the same as # prune and weigh \[2\] \()/u
  );
  await expect(region).toHaveAccessibleName(`Compare, ${cell} [2], [3]`);
  const figures = region.getByRole('table', { name: 'Figures' });
  const cells = (of: Locator, name: string) =>
    of
      .getByRole('row')
      .filter({
        has: lab.page.getByRole('rowheader', { name, exact: true })
      })
      .getByRole('cell');
  await expect(cells(figures, 'Task runs')).toHaveText([
    '40',
    '40',
    'same',
    ''
  ]);
  const names = region.getByRole('table', {
    name: 'Thread time, by Function'
  });
  const seconds = async (at: number) =>
    Number.parseFloat((await cells(names, 'prune').nth(at).innerText()) || '0');
  expect(await seconds(0)).toBeGreaterThanOrEqual(2);
  await region.getByRole('radio', { name: 'Span' }).click();
  await region.getByRole('combobox', { name: 'Figure' }).selectOption('tasks');
  const spans = region.getByRole('table', { name: 'Task runs, by Span' });
  for (const span of ['pruning', 'weighing']) {
    for (const side of [0, 1]) {
      await expect(cells(spans, span).nth(side)).toHaveText('20');
    }
  }
  await region.getByRole('combobox', { name: 'Figure' }).selectOption('thread');
  await take('compare-passes-light');
  if (takesPictures) {
    await lab.setTheme('JupyterLab Dark');
    await take('compare-passes-dark');
    await lab.setTheme('JupyterLab Light');
  }

  await test.step('either side is any pass, or the whole run', async () => {
    await region
      .getByRole('combobox', { name: 'First run' })
      .selectOption({ index: 0 });
    await expect(headline).toHaveText(/\[3\] held threads .* less: /u);
    await expect(region).toHaveAccessibleName(
      /^Compare, pruned · .*, # prune and weigh \[3\]$/u
    );
  });
  expect(lab.troubles.errors).toEqual([]);
});
