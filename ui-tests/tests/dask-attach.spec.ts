/**
 * Dask clusters in notebooks that do not know Spanwise: found, offered, shown by one click, by none, or by Dask's own button; and what is said
 * where that cannot be. With SPANWISE_PICTURES=1 the pictures become those of docs/dask.md.
 */
import { mkdirSync } from 'node:fs';
import * as path from 'node:path';
import type { TestInfo } from '@playwright/test';
import { DaskClusters } from '../pages/dask-clusters';
import { fillTimes, noteFillTimes } from '../pages/fill-times';
import { expect, type Lab, test } from '../pages/lab';
import type { Panel } from '../pages/panel';
import { takePicture, takesPictures } from '../pages/pictures';
import { LATE } from '../pages/sidebar';

const ROOT = path.resolve(__dirname, '..', '..');

const ADDRESS = 'Address of the scheduler';
const AUTHORITY = 'Certificate authority';
/** In docs/pictures; the others stay with the results. */
const OF_THE_DOCS = ['dask-offer-light', 'dask-panels-light'];

const START = `from distributed import Client, LocalCluster

cluster = LocalCluster(
    name="survey",
    n_workers=2,
    threads_per_worker=2,
    dashboard_address="127.0.0.1:0",
)
client = Client(cluster)`;

/**
 * The cell ends when work has gone on for a second or so: Dask's workers tell samples of their stacks by whole seconds. While a cell runs,
 * the kernel cannot be asked.
 */
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
    sizes = client.map(measure, results, pure=False)
while sum(each.done() for each in results) < 50:
    time.sleep(0.05)`;

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
  await expect(lab.sidebar.offer).toHaveCount(0);
  await notebook.run(0);
  await expect(lab.sidebar.offer).toContainText('2 workers, 4 threads');
  await take('dask-offer-light');
  await dark(lab);
  await take('dask-offer-dark');
  await light(lab);

  await notebook.run(1);
  await noteFillTimes(lab.page, 'simulate', 'LocalCluster survey');
  await lab.sidebar.showOffer();
  await filled(lab, info, 'after one click');
  await expect(lab.sidebar.offer).toHaveCount(0);
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
    await expect(card.locator('.sw-cluster-buttons')).toHaveText(
      'NewAttachLet go'
    );
    await expect(
      lab.page.getByRole('button', { name: /^Spanwise: 2\sworkers, [\d.]+\s/u })
    ).toBeVisible();
  });
  await test.step('it is let go, and offered again', async () => {
    await letGo(lab, 'LocalCluster survey');
    await expect(lab.sidebar.offer).toContainText('2 workers, 4 threads');
    await take('dask-let-go-dark');
    await light(lab);
    await take('dask-let-go-light');
    await lab.sidebar.showOffer();
    await expect(lab.sidebar.offer).toHaveCount(0);
    await expect(lab.sidebar.card('LocalCluster survey')).toContainText(
      'running'
    );
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
  await expect(lab.sidebar.offer).toContainText('2 workers, 2 threads');
  await notebook.run(1);
  await noteFillTimes(lab.page, 'simulate');
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
    settings: { '@spanwise/lab:dask': { attachToDask: 'at once' } }
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
    await noteFillTimes(lab.page, 'simulate');
    await notebook.run(1);
    await filled(lab, info, 'without a click');
    await test.step('a part of the time is looked at, until a double click', async () => {
      const memory = lab.page.getByRole('region', {
        name: /^Memory Sampler, /
      });
      const all = memory.getByRole('button', { name: 'Show all' });
      // It is there once a part has been drawn out; *Show all* while the time is the Task Stream's, too.
      const own = memory.locator('.sw-Memory-title .sw-link', {
        hasText: 'Use as time filter'
      });
      const chart = memory.locator('.nsewdrag').first();
      // The chart may be drawn again within, and the two clicks of a busy page be too far apart.
      await expect(async () => {
        const { x, y, width, height } = (await chart.boundingBox())!;
        const middle = y + height / 2;
        await lab.page.mouse.move(x + 0.2 * width, middle);
        await lab.page.mouse.down();
        await lab.page.mouse.move(x + 0.6 * width, middle, { steps: 5 });
        await lab.page.mouse.up();
        await expect(own).toBeVisible({ timeout: 5000 });
      }).toPass();
      await expect(async () => {
        await chart.dblclick();
        await expect(all).toHaveCount(0, { timeout: 5000 });
      }).toPass();
    });
    await notebook.restartKernel();
    const card = lab.sidebar.root.getByRole('group', { name: /^Cluster / });
    // The cluster was the kernel's own: it may have been seen to end.
    await expect(card).toContainText(/ended|not watched/u);
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
    await lab.sidebar.showOffer();
    await expect(lab.sidebar.offer.getByRole('alert')).toContainText(
      'Spanwise is not installed in this kernel’s environment.'
    );
  });
  await test.step('after a restart', async () => {
    await notebook.restartKernel();
    await expect(lab.sidebar.offer).toHaveCount(0);
    await notebook.run(0);
    await expect(lab.sidebar.offer).toBeVisible();
    await expect(lab.sidebar.offer.getByRole('alert')).toHaveCount(0);
  });
  await test.step('under another name', async () => {
    await lab.page.evaluate(async from => {
      const { contents } = window.jupyterapp.serviceManager;
      await contents.rename(from, from.replace('dask-why', 'dask-because'));
    }, notebook.path);
    const renamed = lab.notebook('dask-because.ipynb');
    await expect(renamed.tab).toBeVisible();
    await expect(lab.sidebar.offer).toBeVisible();
    await renamed.run(2);
    await lab.sidebar.showOffer();
    await expect(lab.sidebar.offer.getByRole('alert')).toContainText(
      'The scheduler has distributed 2023.1.0, which is older than'
    );
  });
});

test.describe('clusters that a shell has started', () => {
  let clusters: DaskClusters;

  test.beforeAll(async ({}, info) => {
    clusters = await DaskClusters.start(info.outputPath('clusters'));
  });
  test.afterAll(() => clusters.end());

  test('Attach takes an address and files, and says in a sentence of its own what is wrong; what is lost is waited for', async ({
    lab
  }, info) => {
    const take = picturesOf(lab, info);
    const { plain, secure, old, worker } = clusters.addresses;
    const own = {
      [ADDRESS]: secure,
      [AUTHORITY]: clusters.file('own.pem'),
      Certificate: clusters.file('client.pem'),
      Key: clusters.file('client.key')
    };
    const none = { [AUTHORITY]: '', Certificate: '', Key: '' };
    const wishes: [string, RegExp, Record<string, string>][] = [
      [
        'nobody',
        /^Nobody listens at .* the scheduler runs\./u,
        { [ADDRESS]: 'tcp://127.0.0.1:9' }
      ],
      [
        'no address',
        /is no address of a scheduler .* give one like/u,
        { [ADDRESS]: 'carrier-pigeon://roof' }
      ],
      [
        'no files',
        /is reached by TLS, for which certificates are/u,
        { [ADDRESS]: secure }
      ],
      [
        'a file that is not there',
        /There is no file 'nowhere\.pem' for the kernel/u,
        { [ADDRESS]: secure, [AUTHORITY]: 'nowhere.pem' }
      ],
      [
        'a worker',
        /is not a Dask scheduler but a /u,
        { ...own, [ADDRESS]: worker }
      ],
      [
        'a certificate of another authority',
        /has a certificate that was not issued by the authority given/u,
        { ...own, [AUTHORITY]: clusters.file('other.pem') }
      ],
      [
        'a certificate that the cluster does not take',
        /The TLS connection to .* failed/u,
        {
          ...own,
          Certificate: clusters.file('stranger.pem'),
          Key: clusters.file('stranger.key')
        }
      ],
      [
        'no TLS',
        /its address begins with tls:/u,
        { ...none, [ADDRESS]: secure.replace('tls', 'tcp') }
      ],
      [
        'TLS without need',
        /The TLS connection to .* failed/u,
        { ...own, [ADDRESS]: plain.replace('tcp', 'tls') }
      ],
      [
        'an old release',
        /has distributed 2022\.1\.0, which is older than/u,
        { ...none, [ADDRESS]: old }
      ]
    ];
    // A kernel that imports distributed while it attaches may be too slow.
    const notebook = await lab.open('alone.ipynb', [
      'import distributed, spanwise.dask_bridge.in_kernel'
    ]);
    await notebook.run(0);
    await lab.sidebar.show();
    const dialog = await attachDialog(lab);
    await take('dask-dialog-light');
    const said = new Set<string>();
    for (const [what, sentence, fields] of wishes) {
      await test.step(what, async () => {
        const began = Date.now();
        await dialog.refused(fields, sentence);
        await expect(dialog.problem).toHaveText(sentence);
        // It comes again, with what was typed.
        for (const [label, text] of Object.entries(fields)) {
          await expect(dialog.field(label)).toHaveValue(text);
        }
        said.add((await dialog.problem.textContent()) ?? '');
        tell(info, what, `said after ${secondsSince(began)}`);
      });
    }
    expect(said.size).toBe(wishes.length);
    await take('dask-problem-light');

    await test.step('by TLS', async () => {
      await dialog.attach(own, secure);
      await filled(lab, info, 'after attaching by TLS');
      await letGo(lab, secure);
    });
    await test.step('by TCP', async () => {
      const again = await attachDialog(lab);
      await again.attach({ ...none, [ADDRESS]: plain }, plain);
      await filled(lab, info, 'after attaching by TCP');
    });
    const card = lab.sidebar.card(plain);
    await test.step('the scheduler is killed', async () => {
      await clusters.have('kill');
      const lost =
        /Reconnecting: the scheduler has not answered since \d\d:\d\d:\d\d \(nobody listens at /u;
      await expect(card).toContainText(lost);
      for (const { region } of lab.panels(plain)) {
        await expect(region).toContainText(lost);
      }
      await take('dask-killed-light');
    });
    await test.step('another one at its address is shown without a click', async () => {
      await clusters.have('restart');
      await expect(card).toContainText('running');
      // Until then they show the figures of the killed one.
      for (const { region } of lab.panels(plain)) {
        await expect(region).not.toContainText('Reconnecting');
      }
      await noteFillTimes(lab.page, 'simulate', plain);
      await filled(lab, info, 'after the restart');
    });
    await test.step('it is closed', async () => {
      await clusters.have('close');
      const ended =
        /Ended at \d\d:\d\d:\d\d: the cluster was closed\. The history is kept\./u;
      await expect(card).toContainText(ended);
      for (const { region } of lab.panels(plain)) {
        await expect(region).toContainText(ended);
      }
      await noteFillTimes(lab.page, 'simulate', plain);
      await filled(lab, info, 'when it is closed');
      await take('dask-closed-light');
    });
    await test.step('what the killed one had is there, and what is missing is said', async () => {
      // (the one that is shown is no plain item)
      const killed = await lab.sidebar.clusterEntry(plain, `${plain} · ended`);
      await killed.click();
      const { region } = lab.panel('Task Stream', plain);
      await expect(region).toContainText(
        'another scheduler answers at its address. The history is kept.'
      );
      await expect(region).toContainText('What ran while nobody watched');
    });
    expect(lab.troubles.errors).toEqual([]);
  });
});

/** Opens the dialog of *Attach*, for the kernel of the notebook in front. */
async function attachDialog(lab: Lab) {
  await lab.sidebar.root
    .getByRole('button', { name: 'Attach to a Dask cluster' })
    .click();
  const dialog = lab.page.getByRole('dialog');
  const field = (label: string) => dialog.getByLabel(label, { exact: true });
  const problem = dialog.getByRole('alert');
  /** It may come again at once, with a sentence. */
  const accept = async (fields: Readonly<Record<string, string>>) => {
    for (const [label, text] of Object.entries(fields)) {
      await field(label).fill(text);
    }
    await dialog.evaluate(node => node.setAttribute('data-accepted', ''));
    await dialog.getByRole('button', { name: 'Attach' }).click();
    await expect(lab.page.locator('[data-accepted]')).toHaveCount(0);
  };
  return {
    field,
    problem,
    /** Until the sentence is said. On a busy machine an answer may be too late for the kernel, which says so. */
    refused: async (
      fields: Readonly<Record<string, string>>,
      sentence: RegExp
    ) => {
      let said = '';
      do {
        await accept(fields);
        said = (await problem.textContent()) ?? '';
      } while (!sentence.test(said) && LATE.test(said));
    },
    /** Until the panels show the cluster. */
    attach: async (
      fields: Readonly<Record<string, string>>,
      cluster: string
    ): Promise<void> => {
      const { region } = lab.panel('Task Stream', cluster);
      await noteFillTimes(lab.page, 'simulate', cluster);
      do {
        await accept(fields);
        await expect(problem.or(region).first()).toBeVisible();
      } while (
        !(await region.isVisible()) &&
        LATE.test((await problem.textContent()) ?? '')
      );
    }
  };
}

/** By the button of the card, which then says what remains. */
async function letGo(lab: Lab, cluster: string): Promise<void> {
  const card = lab.sidebar.card(cluster);
  await card.getByRole('button', { name: 'Let go' }).click();
  await expect(card).toContainText(
    /not watched.*Not watched since \d\d:\d\d:\d\d: the cluster was let go and went on\. The history is kept\./u
  );
}

function secondsSince(began: number): string {
  return `${((Date.now() - began) / 1000).toFixed(1)} s`;
}

function tell(info: TestInfo, type: string, description: string): void {
  info.annotations.push({ type, description });
  process.stdout.write(`${type}: ${description}\n`);
}

/** All four panels have figures of the work; says how long that took since the last click after `noteFillTimes`. */
async function filled(lab: Lab, info: TestInfo, how: string): Promise<void> {
  // Samples are taken each 5 s, or 20 times the time that it took: on a busy machine the first may be of nothing.
  const times = await fillTimes(lab.page, 300_000);
  const told = Object.entries(times).map(
    ([title, seconds]) => `${title} ${seconds.toFixed(2)} s`
  );
  const profile = lab.page.getByRole('region', { name: /^Profile, /u });
  const [, cluster = ''] =
    /^Profile, (.*)$/u.exec((await profile.getAttribute('aria-label')) ?? '') ??
    [];
  const panel: Panel = lab.panel('Profile', cluster);
  await panel.showTable(true);
  await expect(panel.frames('simulate').first()).toBeVisible();
  await panel.showTable(false);
  tell(info, `figures ${how}`, told.join(', '));
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
    await takePicture(lab.page, path.join(folder, `${name}.png`));
  };
}

/** For the pictures: what is shown in both themes, other files look at. */
async function dark(lab: Lab): Promise<void> {
  if (takesPictures) {
    await lab.setTheme('JupyterLab Dark');
  }
}

async function light(lab: Lab): Promise<void> {
  if (takesPictures) {
    await lab.setTheme('JupyterLab Light');
  }
}
