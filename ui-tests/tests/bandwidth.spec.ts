/** Who fetched how much of whom, after real transfers between two workers. */
import { expect, type Lab, test } from '../pages/lab';
import { takePicture } from '../pages/pictures';

const CLUSTER = 'moves';

const START = `import numpy as np
from spanwise import Client

client = Client(n_workers=2, threads_per_worker=1, name="${CLUSTER}")
first, second = sorted(client.scheduler_info()["workers"])
client`;

/** Large arrays one way, small texts back: a pair with a speed and one without. */
const MOVES = `def array(i):
    return np.full(500_000, float(i))

def text(i):
    return "x" * 1_000 + str(i)

def size(value):
    return len(value)

for make, source, target in ((array, first, second), (text, second, first)):
    made = client.map(make, range(6), workers=[source], pure=False)
    client.gather(client.map(size, made, workers=[target], pure=False))`;

test('the pairs and the types of real transfers, in both themes', async ({
  lab
}, info) => {
  const notebook = await lab.open('moves.ipynb', [START, MOVES]);
  const panel = lab.panel('Bandwidth', CLUSTER);
  await notebook.run(0);
  await lab.sidebar.show();
  await lab.sidebar.item('Bandwidth').click();
  await expect(panel.region.getByText('No tasks yet.')).toBeVisible();
  await notebook.run(1);

  await test.step('one speed, two amounts, and the type of what was large', async () => {
    const types = panel.region
      .getByRole('list', { name: 'By type of result' })
      .getByRole('listitem');
    await expect(types.first()).toContainText(/ndarray.*\/s/);
    await expect(squares(lab)).toHaveText(['small only', /\/s$/]);
    await takePicture(lab.page, info.outputPath('speed-light.png'));
    await panel.region.getByRole('radio', { name: 'Bytes' }).click();
    await expect(squares(lab)).toHaveText([/MiB$/, /KiB$/]);
    await takePicture(lab.page, info.outputPath('bytes-light.png'));
    await panel.region.getByRole('radio', { name: 'Speed' }).click();
  });

  await test.step('dark', async () => {
    await lab.setTheme('JupyterLab Dark');
    await expect(squares(lab)).toHaveText(['small only', /\/s$/]);
    await takePicture(lab.page, info.outputPath('speed-dark.png'));
  });

  await test.step('the table has the same, both ways', async () => {
    await panel.showTable(true);
    await expect
      .poll(async () => (await panel.rows()).map(row => row.slice(0, 3)))
      .toEqual(
        expect.arrayContaining([
          ['worker 0', 'worker 1', 'all'],
          ['worker 1', 'worker 0', 'all']
        ])
      );
    await takePicture(lab.page, info.outputPath('table.png'));
  });
  expect(lab.troubles.errors).toEqual([]);
});

/** Figures that are written on the squares. */
function squares(lab: Lab) {
  return lab
    .panel('Bandwidth', CLUSTER)
    .region.locator('.heatmap-label text')
    .filter({ hasText: /\S/ });
}
