/** What processes take, of a real cluster of which one worker holds a large array. */
import { expect, test } from '../pages/lab';
import { takePicture } from '../pages/pictures';

const CLUSTER = 'gauges';

const START = `import numpy as np
from spanwise import Client

client = Client(n_workers=2, threads_per_worker=1, name="${CLUSTER}")
first, second = sorted(client.scheduler_info()["workers"])
client`;

/** 300 MiB that are written to, so that the system has to give them. */
const HOLD = `held = client.submit(np.ones, 300 * 2**17, workers=[first])
_ = client.submit(len, held, workers=[first]).result()
client.scheduler_info()["workers"][first]["name"]`;

test('processes and their host, in both themes', async ({ lab }, info) => {
  const notebook = await lab.open('gauges.ipynb', [START, HOLD]);
  const panel = lab.panel('System', CLUSTER);
  await notebook.run(0);
  await lab.sidebar.show();
  await lab.sidebar.item('System').click();
  const chart = (name: RegExp) => panel.region.getByRole('img', { name });
  // Its words are said to a screen reader, too.
  const title = panel.region.locator('.sw-System-title');

  await test.step('what they take is there before the first task', async () => {
    await expect(chart(/^Resident memory: at most .*iB, /)).toBeVisible();
    await expect(title).toContainText('What 3 processes take');
  });

  await test.step('the one that holds an array is the highest', async () => {
    await notebook.run(1);
    await expect(
      chart(/^Resident memory: at most [3-9]\d\d MiB, worker \d/)
    ).toBeVisible();
    const legend = panel.region.getByRole('list', { name: 'Legend' });
    await expect(legend.getByRole('listitem')).toHaveText([
      'scheduler',
      'worker 0',
      'worker 1'
    ]);
    const lines = panel.region.locator('.sw-System-figure').first();
    await expect(lines.locator('.scatterlayer .trace')).toHaveCount(3);
    await legend.getByRole('button', { name: 'Hide scheduler' }).click();
    await expect(lines.locator('.scatterlayer .trace')).toHaveCount(2);
    await legend.getByRole('button', { name: 'Hide scheduler' }).click();
    await expect(lines.locator('.scatterlayer .trace')).toHaveCount(3);
    await takePicture(lab.page, info.outputPath('processes-light.png'));
  });

  await test.step('the host of all has one line', async () => {
    await panel.region.getByRole('radio', { name: 'Hosts' }).click();
    await expect(title).toContainText('What all on 1 host take');
    await expect(chart(/^Sent by the host: at most .*\/s/)).toBeVisible();
    await takePicture(lab.page, info.outputPath('hosts-light.png'));
  });

  await test.step('dark', async () => {
    await lab.setTheme('JupyterLab Dark');
    await takePicture(lab.page, info.outputPath('hosts-dark.png'));
    await panel.region.getByRole('radio', { name: 'Processes' }).click();
    await expect(chart(/^Descriptors: at most \d/)).toBeVisible();
    await takePicture(lab.page, info.outputPath('processes-dark.png'));
  });

  await test.step('the table has each process and the host', async () => {
    await panel.showTable(true);
    await expect
      .poll(async () => (await panel.rows()).slice(1).map(([name]) => name))
      .toEqual([
        'scheduler',
        'worker 0',
        'worker 1',
        expect.stringMatching(/^all on ./)
      ]);
    await takePicture(lab.page, info.outputPath('table.png'));
  });
  expect(lab.troubles.errors).toEqual([]);
});
