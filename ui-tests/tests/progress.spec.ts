/** How far tasks are by function, while some run, one has failed and others wait, and once the cluster has ended. */
import { expect, type Lab, test } from '../pages/lab';
import { takePicture } from '../pages/pictures';

const CLUSTER = 'bars';

const START = `from spanwise import Client

client = Client(n_workers=2, threads_per_worker=1, name="${CLUSTER}")
client`;

/** Twenty of \`smooth\` end, one of them with an error; two are held until a file is there, and eighteen wait for them. */
const WORK = `import os, time
from spanwise import span, wait

GO = os.path.abspath("go-${CLUSTER}")

def load(i):
    return i

def smooth(x, go):
    while x >= 20 and not os.path.exists(go):
        time.sleep(0.01)
    if x == 3:
        raise ValueError("broken")
    return x

with span("read"):
    loaded = client.map(load, range(40))
with span("work"):
    # (else one that is held may begin while one that is to end is still queued)
    smoothed = client.map(smooth, loaded[:20], go=GO)
    wait(smoothed)
    smoothed += client.map(smooth, loaded[20:], go=GO)`;

const GO = `open(GO, "w").close()
len(client.gather(smoothed, errors="skip"))`;

const CLOSE = `os.remove(GO)
client.close()`;

test('bars by function, in both themes, while tasks run and afterwards', async ({
  lab
}, info) => {
  const notebook = await lab.open('bars.ipynb', [START, WORK, GO, CLOSE]);
  const panel = lab.panel('Progress', CLUSTER);
  await notebook.run(0);
  await lab.sidebar.show();
  await lab.sidebar.item('Progress').click();
  await expect(panel.region.getByText('No tasks yet.')).toBeVisible();
  await notebook.run(1);

  await test.step('what is done, runs, waits and failed, as the scheduler knows it', async () => {
    await expect(bars(lab)).toHaveText([
      /^load\s*40 of 40$/,
      /^smooth\s*19 of 40 · 2 running · 18 waiting · 1 failed$/
    ]);
    await expect(panel.region.getByText('59 of 80 tasks done')).toBeVisible();
    await takePicture(lab.page, info.outputPath('running-light.png'));
    await lab.setTheme('JupyterLab Dark');
    await takePicture(lab.page, info.outputPath('running-dark.png'));
    await lab.setTheme('JupyterLab Light');
  });

  await test.step('of one span alone, exactly', async () => {
    await lab.sidebar.pick('read');
    await expect(bars(lab)).toHaveText([/^load\s*40 of 40$/]);
    await expect(panel.region.getByText('exact')).toBeVisible();
    await panel.region
      .getByRole('button', { name: 'Clear filter' })
      .first()
      .click();
    await expect(bars(lab)).toHaveCount(2);
  });

  await test.step('as a table', async () => {
    await panel.showTable(true);
    await expect
      .poll(async () => (await panel.rows()).slice(1))
      .toEqual([
        ['load', '40', '40', '0', '0', '0', '0', '40'],
        ['smooth', '40', '19', '2', '18', '1', '0', '19']
      ]);
    await panel.showTable(false);
  });

  await test.step('to their end, and after the end of the cluster', async () => {
    await notebook.run(2);
    expect(await notebook.output(2)).toContain('39');
    await expect(bars(lab).nth(1)).toHaveText(/^smooth\s*39 of 40 · 1 failed$/);
    await notebook.run(3);
    await expect(panel.region.getByText(/^Ended at/)).toBeVisible();
    await expect(bars(lab)).toHaveText([
      /^load\s*40 of 40$/,
      /^smooth\s*39 of 40 · 1 failed$/
    ]);
    await takePicture(lab.page, info.outputPath('ended-light.png'));
  });
  expect(lab.troubles.errors).toEqual([]);
});

function bars(lab: Lab) {
  return lab
    .panel('Progress', CLUSTER)
    .region.getByRole('list', { name: 'By function' })
    .getByRole('listitem');
}
