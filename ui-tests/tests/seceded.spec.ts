/** Tasks that wait for tasks of their own: what the Task Stream shows in the lanes of the threads that they held. */
import { expect, type Lab, test } from '../pages/lab';
import { takePicture, takesPictures } from '../pages/pictures';

const CLUSTER = 'errands';

const START = `import time
from spanwise import Client, get_client

client = Client(n_workers=1, threads_per_worker=2, name="${CLUSTER}")

def errand(n):
    time.sleep(0.3)
    return n

def plan(n):
    time.sleep(0.7)
    mine = get_client()
    done = mine.gather(mine.map(errand, range(4 * n, 4 * n + 4), pure=False))
    time.sleep(0.5)
    return sum(done)

client`;

/** The second has one of a stretch that goes on. */
const WORK = `client.gather(client.map(plan, range(3), pure=False))
rest = client.submit(plan, 5, pure=False)
time.sleep(1.2)`;

const HELD = 'held by a task that seceded';

async function lookAt(lab: Lab, path: (name: string) => string): Promise<void> {
  if (!takesPictures) {
    return;
  }
  for (const theme of ['Light', 'Dark'] as const) {
    await lab.setTheme(`JupyterLab ${theme}`);
    await expect(lab.page.locator('body')).toHaveAttribute(
      'data-sw-shade',
      theme.toLowerCase()
    );
    await takePicture(lab.page, path(`seceded-${theme.toLowerCase()}.png`));
  }
}

test('threads that tasks held which have seceded are no gaps', async ({
  lab
}, info) => {
  const notebook = await lab.open('errands.ipynb', [START, WORK]);
  await notebook.run(0);
  await lab.sidebar.show();
  await notebook.openPanels(0);
  const stream = lab.panel('Task Stream', CLUSTER);
  await expect(stream.region).toBeVisible();
  await notebook.run(1);
  const legend = stream.region.getByRole('list', { name: 'Legend' });
  await expect(legend.getByText(HELD)).toBeVisible();
  await stream.region.getByRole('button', { name: 'Fit', exact: true }).click();
  await lookAt(lab, name => info.outputPath(name));

  await test.step('such a box says whose it is, and leads to the task', async () => {
    const chart = stream.region.locator('.sw-TaskStream-lanes');
    const box = (await chart.boundingBox())!;
    const card = lab.page.locator('.sw-card');
    const held = card.filter({ hasText: 'held by plan' }).first();
    // Somewhere in the lane of the first thread; again where the chart was drawn anew meanwhile.
    await expect(async () => {
      for (let x = 120; x < box.width; x += 12) {
        await lab.page.mouse.move(box.x + x, box.y + 30);
        const isSeen = await held.waitFor({ timeout: 500 }).then(
          () => true,
          () => false
        );
        if (isSeen) {
          return;
        }
      }
      throw new Error('no box of that lane says that it is held by plan');
    }).toPass({ timeout: 120_000 });
    await expect(card.first()).toContainText('drawn on');
    await takePicture(lab.page, info.outputPath('seceded-card.png'));
    await lab.page.mouse.down();
    await lab.page.mouse.up();
    await expect(
      stream.region.getByRole('region', { name: 'Selected task' })
    ).toContainText('plan');
    await takePicture(lab.page, info.outputPath('seceded-selected.png'));
  });
});
