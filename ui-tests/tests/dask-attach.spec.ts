/**
 * Dask clusters in notebooks that do not know Spanwise: found, offered, shown by one click, by none, or by Dask's own button; and what is said
 * where that cannot be. With SPANWISE_PICTURES=1 the pictures become those of docs/dask.md.
 */
import { mkdirSync } from 'node:fs';
import * as path from 'node:path';
import { galata } from '@jupyterlab/galata';
import type { Locator, TestInfo } from '@playwright/test';
import { expect, type Lab, test } from '../pages/lab';
import { type Panel, TITLES } from '../pages/panel';

const ROOT = path.resolve(__dirname, '..', '..');

/** In docs/pictures; the others stay with the results. */
const OF_THE_DOCS = ['dask-offer-light', 'dask-panels-light'];

const START = `from distributed import Client, LocalCluster

cluster = LocalCluster(
    name="survey",
    n_workers=2,
    threads_per_worker=2,
    processes=False,
    protocol="tcp://",
    host="127.0.0.1",
    dashboard_address="127.0.0.1:0",
)
client = Client(cluster)`;

/** The cell ends at once: a kernel that computes cannot be asked. */
const WORK = `import time
from distributed import span

def simulate(seed):
    time.sleep(0.1)
    return bytes(100_000 + seed)

def measure(result):
    time.sleep(0.05)
    return len(result)

with span("simulation"):
    results = client.map(simulate, range(ROUNDS), pure=False)
with span("measuring"):
    sizes = client.map(measure, results, pure=False)`;

/** So much that it runs until the test has seen enough, however slow the machine is. */
const work = (rounds: number) => WORK.replace('ROUNDS', String(rounds));

const ENOUGH = `client.cancel(results + sizes, force=True)
print("of Spanwise:", [name for name in globals() if "spanwise" in name.lower()])`;

/** Spanwise as if it were not installed. */
const WITHOUT = `import sys
sys.modules["spanwise"] = None`;

const OLD = `cluster.scheduler.handlers["versions"] = lambda **_: {
    "packages": {"distributed": "2023.1.0"}
}`;

test('a cluster of Dask is found in the notebook, and one click shows it', async ({
  lab
}, info) => {
  const take = picturesOf(lab, info);
  const notebook = await lab.open('dask.ipynb', [START, work(3000), ENOUGH]);
  await lab.sidebar.show();
  await expect(offer(lab)).toHaveCount(0);
  await notebook.run(0);
  await expect(offer(lab)).toContainText('2 workers, 4 threads');
  await take('dask-offer-light');
  await dark(lab);
  await take('dask-offer-dark');
  await light(lab);

  await notebook.run(1);
  await show(lab);
  await filled(lab, info, 'after one click');
  await expect(offer(lab)).toHaveCount(0);
  await expect(lab.sidebar.span('simulation')).toBeVisible();
  await take('dask-panels-light');
  await dark(lab);
  await take('dask-panels-dark');
  await notebook.run(2);
  expect(await notebook.output(2)).toContain('of Spanwise: []');

  await test.step('the card says what it is, and what cannot be done is not there', async () => {
    const card = lab.sidebar.root.getByRole('group', { name: /^Cluster / });
    await expect(card).toContainText('LocalCluster survey');
    await expect(card).toContainText('Dask cluster');
    await expect(card.getByTitle(/^tcp:\/\/127\.0\.0\.1:/u)).toBeVisible();
    await expect(card.locator('.sw-cluster-buttons')).toHaveText('NewAttach');
    await expect(
      lab.page.getByRole('button', { name: /^Spanwise: 2\sworkers, [\d.]+\s/u })
    ).toBeVisible();
  });
  expect(lab.troubles.errors).toEqual([]);
});

test('the button of Dask’s client shows a cluster of processes', async ({
  lab
}, info) => {
  // Dask has its button where the extension of Dask is installed for Python. Here only a note says so.
  const start = `from pathlib import Path
note = Path("dask_labextension-7.0.0.dist-info")
note.mkdir(exist_ok=True)
(note / "METADATA").write_text("Metadata-Version: 2.1\\nName: dask-labextension\\nVersion: 7.0.0\\n")

from distributed import Client, LocalCluster
cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
client = Client(cluster)
client`;
  const notebook = await lab.open('dask-button.ipynb', [
    start,
    work(2000),
    ENOUGH
  ]);
  await lab.sidebar.show();
  await notebook.run(0);
  await expect(offer(lab)).toContainText('2 workers, 2 threads');
  await notebook.run(1);
  await notebook
    .cell(0)
    .getByRole('button', { name: 'Launch dashboard in JupyterLab' })
    .click();
  await filled(lab, info, 'after a click of Dask’s button');
  await notebook.run(2);
  expect(lab.troubles.errors).toEqual([]);
});

test.describe('by the setting', () => {
  test.use({
    mockSettings: {
      ...galata.DEFAULT_SETTINGS,
      '@spanwise/lab:dask': { attachToDask: 'at once' }
    }
  });

  test('a cluster fills the panels without a click, and again after a restart', async ({
    lab
  }, info) => {
    const notebook = await lab.open('dask-at-once.ipynb', [
      START,
      work(3000),
      ENOUGH
    ]);
    await lab.sidebar.show();
    await lab.sidebar.openDefaultLayout();
    await notebook.run(0);
    await notebook.run(1);
    await filled(lab, info, 'without a click');
    await notebook.restartKernel();
    const card = lab.sidebar.root.getByRole('group', { name: /^Cluster / });
    await expect(card).toContainText('ended');
    await notebook.run(0);
    await expect(card).toContainText('running');
    await expect(card).toContainText('LocalCluster survey');
    expect(lab.troubles.errors).toEqual([]);
  });
});

test('an offer says why its cluster is not shown; it is back after a restart, and stays when the notebook is renamed', async ({
  lab
}) => {
  const notebook = await lab.open('dask-why.ipynb', [START, WITHOUT, OLD]);
  await lab.sidebar.show();
  await notebook.run(0);
  await test.step('no Spanwise', async () => {
    await notebook.run(1);
    await show(lab);
    await expect(offer(lab).getByRole('alert')).toContainText(
      'Spanwise is not installed in this kernel’s environment.'
    );
  });
  await test.step('after a restart', async () => {
    await notebook.restartKernel();
    await expect(offer(lab)).toHaveCount(0);
    await notebook.run(0);
    await expect(offer(lab)).toBeVisible();
    await expect(offer(lab).getByRole('alert')).toHaveCount(0);
  });
  await test.step('under another name', async () => {
    await lab.page.evaluate(async from => {
      const { contents } = window.jupyterapp.serviceManager;
      await contents.rename(from, from.replace('dask-why', 'dask-because'));
    }, notebook.path);
    const renamed = lab.notebook('dask-because.ipynb');
    await expect(renamed.tab).toBeVisible();
    await expect(offer(lab)).toBeVisible();
    await renamed.run(2);
    await show(lab);
    await expect(offer(lab).getByRole('alert')).toContainText(
      'The scheduler has distributed 2023.1.0, which is older than'
    );
  });
});

test('Attach takes an address, and says in a sentence of its own what is wrong with it', async ({
  lab
}, info) => {
  const take = picturesOf(lab, info);
  await lab.open('alone.ipynb', ['1 + 1']);
  await lab.sidebar.show();
  await lab.sidebar.root
    .getByRole('button', { name: 'Attach to a Dask cluster' })
    .click();
  const dialog = lab.page.getByRole('dialog');
  const field = (label: string) => dialog.getByLabel(label, { exact: true });
  const address = field('Address of the scheduler');
  await take('dask-dialog-light');
  const files = { 'Certificate authority': 'nowhere.pem' };
  const sentences: [string, RegExp, Record<string, string>?][] = [
    ['tcp://127.0.0.1:9', /Nobody listens at .* the scheduler runs\./u],
    ['carrier-pigeon://roof', /is no address of a scheduler .* give one like/u],
    ['tls://127.0.0.1:9', /is reached by TLS, for which certificates are/u],
    [
      'tls://localhost:9',
      /There is no file 'nowhere\.pem' for the kernel/u,
      files
    ]
  ];
  for (const [wish, sentence, fields = {}] of sentences) {
    await test.step(wish, async () => {
      await address.fill(wish);
      for (const [label, file] of Object.entries(fields)) {
        await field(label).fill(file);
      }
      await dialog.getByRole('button', { name: 'Attach' }).click();
      // It comes again, with what was typed.
      await expect(dialog.getByRole('alert')).toHaveText(sentence);
      await expect(address).toHaveValue(wish);
    });
  }
  await expect(field('Certificate authority')).toHaveValue('nowhere.pem');
  await take('dask-problem-light');
  await dark(lab);
  await take('dask-problem-dark');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(dialog).toHaveCount(0);
  expect(lab.troubles.errors).toEqual([]);
});

function offer(lab: Lab): Locator {
  return lab.sidebar.root.getByRole('group', { name: /^Dask cluster / });
}

function show(lab: Lab): Promise<void> {
  return offer(lab)
    .getByRole('button', { name: /^Show Dask cluster/ })
    .click();
}

/** All four panels have figures of the work; says how long that took from now on. */
async function filled(lab: Lab, info: TestInfo, how: string): Promise<void> {
  const began = Date.now();
  const told: string[] = [];
  const [stream, metrics, profile, memory] = TITLES.map(title =>
    lab.page.getByRole('region', { name: new RegExp(`^${title}, `, 'u') })
  ) as [Locator, Locator, Locator, Locator];
  const seconds = async (what: string, figure: Promise<void>) => {
    await figure;
    told.push(`${what} ${((Date.now() - began) / 1000).toFixed(1)} s`);
  };
  await Promise.all([
    seconds('panels', expect(stream).toBeVisible()),
    seconds(
      'Task Stream',
      expect(stream.getByRole('list', { name: 'Legend' })).toContainText(
        'simulate'
      )
    ),
    seconds(
      'Fine Performance Metrics',
      expect(metrics.getByRole('list', { name: 'By function' })).toContainText(
        'simulate'
      )
    ),
    seconds(
      'Memory Sampler',
      expect(
        memory.locator('.scatterlayer path.js-line').first()
      ).toHaveAttribute('d', /L/u)
    ),
    seconds(
      'Profile',
      expect(
        profile.getByRole('application', { name: 'Profile chart' })
        // Samples are taken each 5 s, or 20 times the time that it took: on a busy machine the first may be of nothing.
      ).toBeVisible({ timeout: 300_000 })
    )
  ]);
  const [, cluster = ''] =
    /^Profile, (.*)$/u.exec((await profile.getAttribute('aria-label')) ?? '') ??
    [];
  const panel: Panel = lab.panel('Profile', cluster);
  await panel.showTable(true);
  await expect(panel.frames('simulate').first()).toBeVisible();
  await panel.showTable(false);
  info.annotations.push({ type: how, description: told.join(', ') });
  process.stdout.write(`figures ${how}: ${told.join(', ')}\n`);
}

function picturesOf(lab: Lab, info: TestInfo): (name: string) => Promise<void> {
  const isForDocs = process.env['SPANWISE_PICTURES'] === '1';
  return async name => {
    const folder =
      isForDocs && OF_THE_DOCS.includes(name)
        ? path.join(ROOT, 'docs', 'pictures')
        : info.outputPath('pictures');
    mkdirSync(folder, { recursive: true });
    await lab.page.mouse.move(800, 4);
    await lab.page.screenshot({ path: path.join(folder, `${name}.png`) });
  };
}

function dark(lab: Lab): Promise<void> {
  return lab.setTheme('JupyterLab Dark');
}

function light(lab: Lab): Promise<void> {
  return lab.setTheme('JupyterLab Light');
}
