/**
 * What panels say while something is missing: a cluster that the page has not heard of, an observer or a scheduler that was killed; and what
 * chips and orders say after a filter.
 */
import type { Locator } from '@playwright/test';
import { observerLink } from '../pages/held';
import { expect, test } from '../pages/lab';
import { sentencesFrom } from '../pages/sentences';
import { boxOf } from '../pages/sidebar';
import { sumsIn } from './shown-sums';

const CLUSTER = 'mill';
const START = `import os, psutil, time
from contextlib import suppress
from spanwise import Client, span
client = Client(n_workers=1, threads_per_worker=2, name="${CLUSTER}")
client`;
const WORK = `def grind(n):
    time.sleep(0.2)

def sift(n):
    time.sleep(0.05)

for who, work, count in ("Alice", grind, 12), ("Bob", sift, 2):
    with span(who, "data loading"):
        client.gather(client.map(work, range(count), pure=False))`;

/** Kills the program of this name (\`observer\`, \`scheduler\`) below a process. */
function kill(program: string, root: string): string {
  return `found = []
for each in psutil.Process(${root}).children(recursive=True):
    # (others may end meanwhile)
    with suppress(psutil.Error):
        if "spanwise.cjs ${program}" in " ".join(each.cmdline()):
            each.kill()
            found.append(each)
assert found`;
}

test.describe('in a page of its own', () => {
  // An observer is killed; what it sends is held back from the start.
  test.use({ keepsPage: false });

  test('chips, orders, and the death of observer and scheduler', async ({
    lab
  }) => {
    const notebook = await lab.open('mill.ipynb', [
      START,
      WORK,
      kill('observer', 'int(os.environ["JPY_PARENT_PID"])'),
      kill('scheduler', 'os.getpid()')
    ]);
    await notebook.run(0);
    await notebook.run(1);
    await notebook.openPanels(0);
    const metrics = lab.panel('Fine Performance Metrics', CLUSTER);
    const stream = lab.panel('Task Stream', CLUSTER);
    const names = metrics.region
      .getByRole('list', { name: 'By function' })
      .locator('.sw-metric-name');
    await expect(names).toHaveText(['grind', 'sift']);

    await test.step('rows are sorted again when the pointer has gone', async () => {
      await names.nth(1).click();
      await expect(names).toHaveText(['sift']);
      await metrics.tool('Clear filter').click();
      await metrics.region.getByRole('radio', { name: 'Count' }).click();
      await metrics.region.getByRole('radio', { name: 'Time' }).click();
      await expect(names).toHaveText(['grind', 'sift']);
    });

    await test.step('a chip says which span it means', async () => {
      await lab.sidebar.show();
      const chip = stream.chips.getByRole('listitem');
      await lab.sidebar.pick('data loading');
      await expect(chip).toHaveText(/any\s*Alice › data loading/);
      await lab.sidebar.clearFilter();
      await lab.sidebar.root.getByRole('radio', { name: 'By tag' }).click();
      await lab.sidebar.pick('data loading');
      await expect(chip).toHaveText(/any\s*data loading \(by tag\)/);
      await lab.sidebar.clearFilter();
    });

    const said = await sentencesFrom(lab.page);
    await test.step('the next observer hears of the cluster: reconnecting till then', async () => {
      await notebook.run(2);
      // The second where the page asks while the server starts the next one: the cluster may be there by the time it asks again.
      await expect
        .poll(said)
        .toMatch(
          /Reconnecting|The observer stopped and is being started again/
        );
      await notebook.run(1);
      for (const panel of lab.panels(CLUSTER)) {
        await expect(panel.region).not.toContainText(
          /Reconnecting|The observer stopped/
        );
      }
      await metrics.showTable(true);
      // Of both runs: the observer that was killed knew only the first.
      await expect
        .poll(async () => (await sumsIn(metrics)).counts)
        .toEqual(
          new Map([
            ['grind', 24],
            ['sift', 4]
          ])
        );
      expect(await said()).not.toMatch(/No cluster|known here/);
    });

    await test.step('a killed scheduler is told at once', async () => {
      const saidNow = await sentencesFrom(lab.page);
      await notebook.run(3);
      await expect(stream.region).toContainText('The scheduler stopped at');
      // A cluster whose process cannot be looked at is waited for, ten seconds long.
      expect(await saidNow()).not.toMatch(/Reconnecting|goes on/);
    });
  });

  test('a button opens its own notebook’s panels, however late the page hears of the cluster', async ({
    lab
  }) => {
    const link = await observerLink(lab.page);
    const cells = (name: string) => [START.replace(CLUSTER, name)];
    const north = await lab.open('north.ipynb', cells('north'));
    await north.run(0);
    await lab.sidebar.show();
    await expect(lab.sidebar.card('north')).toBeVisible();

    const south = lab.notebook('south.ipynb');
    await south.write(cells('south'));
    await south.openHere();
    link.hold();
    await south.run(0);
    await south.openPanels(0);
    const panels = lab.page.locator('.sw-panel');
    await expect(panels).toHaveCount(4);
    await expect(panels.first()).toContainText(
      /Waiting for the cluster of .*south\.ipynb…/
    );
    link.release();
    for (const panel of lab.panels('south')) {
      await expect(panel.region).toBeVisible();
    }
    await expect(lab.panel('Task Stream', 'north').region).toHaveCount(0);
    await expect(panels.first()).not.toContainText('Waiting');
    expect(lab.troubles.errors).toEqual([]);
  });
});

/** Names of a panel's tools that lie outside its toolbar when it is so wide. */
function cutOff(region: Locator, width: number): Promise<string[]> {
  return region.evaluate((section, pixels) => {
    const panel = section.parentElement as HTMLElement;
    const before = panel.style.width;
    panel.style.width = `${pixels}px`;
    const bar = section.querySelector('.sw-toolbar') as HTMLElement;
    const edge = bar.getBoundingClientRect();
    const names = [...bar.querySelectorAll('button, select, input')]
      .map(tool => ({ tool, box: tool.getBoundingClientRect() }))
      .filter(
        ({ box }) =>
          box.width > 0 && (box.right > edge.right || box.bottom > edge.bottom)
      )
      .map(({ tool }) => tool.getAttribute('aria-label') ?? '');
    panel.style.width = before;
    return edge.width > pixels ? ['the toolbar itself'] : names;
  }, width);
}

test('a pause is told above each panel, until it is over', async ({ lab }) => {
  const notebook = await lab.open('full.ipynb', [
    `import builtins, dask, numpy, pandas
from spanwise import Client
dask.config.set({"spanwise.worker.import-ahead": False})
client = Client(n_workers=2, threads_per_worker=1, memory_limit="400 MiB", name="${CLUSTER}")
client`,
    // The first task of each worker imports what its function names.
    `def grind(n):
    return pandas.Series(numpy.arange(1_000_000)).sum()

client.gather(client.map(grind, range(40), pure=False))`,
    `def fill():
    builtins.kept = numpy.ones(300 * 2**17)

client.run(fill, workers=[0])`,
    `def let_go():
    del builtins.kept

client.run(let_go, workers=[0])`,
    `stuck = client.map(abs, [1, 2, 3], resources={"GPU": 1})`,
    `client.cancel(stuck)`
  ]);
  await notebook.run(0);
  await notebook.run(1);
  await notebook.openPanels(0);
  const panels = lab.panels(CLUSTER);
  const [stream] = panels;
  await expect(
    stream.region.getByRole('list', { name: 'Legend' })
  ).toContainText('importing modules');
  const told = '1 of 2 workers paused: memory full.';
  for (const panel of panels) {
    await expect(panel.region).not.toContainText('paused: memory full');
  }
  await notebook.run(2);
  for (const panel of panels) {
    await expect(panel.region.getByText(told)).toBeVisible();
  }
  const lane = stream.region.locator('.sw-TaskStream-loneLane', {
    hasText: 'worker 0'
  });
  await expect(lane.getByText('paused', { exact: true })).toBeVisible();
  await expect(lane).toHaveAttribute('title', /paused: memory full/);
  await stream.tool('What to do').click();
  await expect(stream.region).toContainText('of 400 MiB are in use');
  await stream.tool('What to do').click();
  await test.step('and every tool can be reached, however narrow a panel is', async () => {
    for (const panel of panels) {
      for (const width of [260, 300, 340, 480]) {
        expect(await cutOff(panel.region, width)).toEqual([]);
        await panel.inSize({ width }, async () => {
          const strip = panel.region.locator('.sw-strip').first();
          expect((await boxOf(strip)).height).toBe(30);
        });
      }
    }
  });
  await notebook.run(3);
  for (const panel of panels) {
    await expect(panel.region).not.toContainText('paused: memory full');
  }
  await test.step('as is that tasks wait in vain', async () => {
    await notebook.run(4);
    const waits = '3 tasks wait: no worker has the resources that they need';
    for (const panel of panels) {
      await expect(panel.region.getByText(waits)).toBeVisible();
    }
    const status = lab.page.getByRole('button', { name: /^Spanwise: / });
    await expect(status).toContainText('0 running, 3 waiting');
    await stream.tool('What to do').click();
    await expect(stream.region).toContainText('--resources GPU=1');
    // What was opened has the room of a low panel, and ends within it.
    const memory = lab.panel('Memory Sampler', CLUSTER);
    await memory.inSize({ width: 340, height: 160 }, async () => {
      await memory.tool('What to do').click();
      const lines = await boxOf(memory.region.locator('.sw-strip-details'));
      const whole = await boxOf(memory.region);
      expect(lines.height).toBeGreaterThanOrEqual(64);
      expect(lines.y + lines.height).toBeLessThanOrEqual(
        whole.y + whole.height
      );
      await memory.tool('What to do').click();
    });
    await notebook.run(5);
    for (const panel of panels) {
      await expect(panel.region).not.toContainText('3 tasks wait');
    }
    await expect(status).not.toContainText('waiting');
  });
});
