/**
 * The notebook of the README in four panels, while it runs and afterwards. With SPANWISE_PICTURES=1 its pictures become the README's
 * (docs/pictures); otherwise they stay with the results, and it does a tenth of the work.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, type Lab, test } from '../pages/lab';
import { TITLES } from '../pages/panel';
import { takePicture } from '../pages/pictures';
import { boxOf } from '../pages/sidebar';

const ROOT = path.resolve(__dirname, '..', '..');
const EXAMPLES = path.join(ROOT, 'examples');
const CLUSTER = 'first-look';

test('the first look, in pictures', async ({ lab }, info) => {
  const isForDocs = process.env['SPANWISE_PICTURES'] === '1';
  const folder = isForDocs
    ? path.join(ROOT, 'docs', 'pictures')
    : info.outputPath('pictures');
  mkdirSync(folder, { recursive: true });
  const take = async (name: string) => {
    // No hover card, no tooltip, no button that waits to be pressed.
    await lab.page.mouse.move(800, 4);
    await takePicture(lab.page, path.join(folder, `${name}.png`));
  };

  const source = (name: string) =>
    readFileSync(path.join(EXAMPLES, name), 'utf8');
  lab.writeFile('first_look.py', source('first_look.py'));
  const notebook = await lab.openCopy(
    'first-look.ipynb',
    isForDocs ? source('first-look.ipynb') : quick(source('first-look.ipynb'))
  );
  const cell = (part: string) => notebook.find(part);
  await notebook.run(await cell('client = Client('));
  await lab.page.getByRole('button', { name: 'Open the panels' }).click();
  await expect(lab.sidebar.gallery).toBeVisible();
  for (const title of TITLES) {
    await expect(lab.panel(title, CLUSTER).region).toBeVisible();
  }

  await notebook.run(await cell('dd.from_map('));
  await notebook.run(await cell('calibrated.groupby('));
  await notebook.run(await cell('make_features('));

  await test.step('one span, in both themes', async () => {
    await lab.sidebar.pick('ML preprocessing');
    for (const title of TITLES) {
      await expect(lab.panel(title, CLUSTER).chips).toContainText(
        'ML preprocessing'
      );
    }
    // The legend names the twelve longest functions of 42. Which these are, with a tenth of the data, depends on the machine; some of the
    // span's largest are always among them.
    await expect(legend(lab)).toContainText(
      /rechunk-merge|groupby_apply_funcs|blockwisemerge|fillna|smooth/
    );
    await expect(legend(lab)).not.toContainText('read_day');
    await take('filtered-light');
    await dark(lab);
    await take('filtered-dark');
    await lab.sidebar.clearFilter();
    await expect(legend(lab)).toContainText('read_day');
  });

  await test.step('a range, by Shift-drag', async () => {
    const { page } = lab;
    const chart = await boxOf(
      lab
        .panel('Task Stream', CLUSTER)
        .region.getByRole('application', { name: 'Task Stream chart' })
    );
    const y = chart.y + chart.height / 2;
    await page.keyboard.down('Shift');
    await page.mouse.move(chart.x + chart.width * 0.5, y);
    await page.mouse.down();
    await page.mouse.move(chart.x + chart.width * 0.8, y, { steps: 6 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    for (const title of TITLES) {
      await expect(lab.panel(title, CLUSTER).chips).toContainText('time');
    }
    await takePicture(page, info.outputPath('range.png'));
    await lab.sidebar.clearFilter();
    await expect(lab.panel('Profile', CLUSTER).chips).toHaveCount(0);
  });

  await test.step('all spans while tasks run, in both themes', async () => {
    const training = await cell('fit_fold, [');
    await notebook.start(training);
    await expect(legend(lab)).toContainText('fit_fold');
    await take('running-dark');
    await lab.setTheme('JupyterLab Light');
    await expect(lab.page.locator('body')).toHaveAttribute(
      'data-sw-shade',
      'light'
    );
    await take('running-light');
    await notebook.finished(training);
  });

  await notebook.run(await cell('frequencies('));
  await expect(lab.sidebar.span("Bob's workflow")).toBeVisible();
  expect(lab.troubles.errors).toEqual([]);
});

/** On a tenth of the data, with a tenth of the training. */
function quick(notebook: string): string {
  const [rows, steps] = ['60_000', '[600] * FOLDS'];
  expect(notebook).toContain(rows);
  expect(notebook).toContain(steps);
  return notebook.replaceAll(rows, '6_000').replace(steps, '[60] * FOLDS');
}

async function dark(lab: Lab): Promise<void> {
  await lab.setTheme('JupyterLab Dark');
  await expect(lab.page.locator('body')).toHaveAttribute(
    'data-sw-shade',
    'dark'
  );
}

function legend(lab: Lab) {
  return lab
    .panel('Task Stream', CLUSTER)
    .region.getByRole('list', { name: 'Legend' });
}
