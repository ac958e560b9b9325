/**
 * The embedded cluster and one of Dask beside each other: panels that are pinned and panels that follow, one work in one table, and a second
 * notebook whose cluster the open panels show. With SPANWISE_PICTURES=1 a picture becomes that of docs/compare.md.
 */
import { mkdirSync } from 'node:fs';
import * as path from 'node:path';
import type { Locator, TestInfo } from '@playwright/test';
import { expect, type Lab, test } from '../pages/lab';
import type { Panel } from '../pages/panel';
import { takePicture, takesPictures } from '../pages/pictures';

const ROOT = path.resolve(__dirname, '..', '..');
const OF_THE_DOCS = ['compare-clusters-light'];

const HERE = `import time
from spanwise import Client as Here, span

here = Here(n_workers=2, threads_per_worker=2, name="here")

def simulate(seed):
    time.sleep(0.05)
    return bytes(100_000 + seed)

def measure(result):
    time.sleep(0.02)
    return len(result)

def work(client):
    with span("simulation"):
        results = client.map(simulate, range(40), pure=False)
    with span("measuring"):
        sizes = client.map(measure, results, pure=False)
    return sum(client.gather(sizes))`;

const THERE = `from distributed import Client, LocalCluster

there = LocalCluster(
    name="there",
    n_workers=1,
    threads_per_worker=2,
    processes=False,
    protocol="tcp://",
    host="127.0.0.1",
    dashboard_address="127.0.0.1:0",
)
client = Client(there)`;

const ONLY = (where: string) => `def only_${where}(n):
    time.sleep(0.05)
    return n

`;

const CELLS = [
  HERE,
  `${ONLY('here')}work(here), here.submit(only_here, 1).result()`,
  THERE,
  `${ONLY('there')}work(client), client.submit(only_there, 1).result()`
];

test('panels of two clusters are pinned, titled and compared', async ({
  lab
}, info) => {
  const take = picturesOf(lab, info);
  const notebook = await lab.open('both.ipynb', CELLS);
  await lab.sidebar.show();
  await notebook.run(0);
  await notebook.run(1);
  const dask = 'LocalCluster there';
  const own = lab.panel('Task Stream', 'here');
  const other = lab.panel('Task Stream', dask);

  await test.step('the pin in the card pins the open panels', async () => {
    await lab.sidebar.item('Task Stream').click();
    await expect(legend(own)).toContainText('only_here');
    const pin = lab.sidebar
      .card('here')
      .getByRole('button', { name: 'Pin panels to this cluster' });
    await expect(pin).toHaveAttribute('aria-pressed', 'false');
    await pin.click();
    await expect(pin).toHaveAttribute('aria-pressed', 'true');
    await own.tab.hover();
    await expect(own.tab).toHaveAttribute('title', /Pinned to here\./u);
  });

  await test.step('the cluster of Dask has panels of its own', async () => {
    await notebook.activate();
    await notebook.run(2);
    await lab.sidebar.showOffer();
    await expect(other.tab).toBeVisible();
    await notebook.run(3);
    await expect(legend(other)).toContainText('only_there');
    await expect(own.tab).toBeVisible();
  });

  await test.step('side by side each shows its own tasks only', async () => {
    await notebook.activate();
    await lab.sidebar.item('Task Stream').press('Control+Enter');
    await own.tab.click();
    await expect(own.region).toBeVisible();
    await expect(other.region).toBeVisible();
    await expect(legend(own)).toContainText('only_here');
    await expect(legend(own)).not.toContainText('only_there');
    await expect(legend(other)).toContainText('only_there');
    await expect(legend(other)).not.toContainText('only_here');
    await take('two-task-streams-light');
  });

  const compare = lab.panel('Compare', `here, ${dask}`);
  await test.step('the same work in one table', async () => {
    await notebook.activate();
    // Behind the wide Task Stream.
    await own.tab.click();
    await choose(lab, 'here', dask);
    await lab.sidebar.item('Compare').click({ button: 'right' });
    await lab.page
      .getByRole('menuitem', { name: 'Open in a new tab here' })
      .click();
    const figures = compare.region.getByRole('table', { name: 'Figures' });
    const cells = (figure: string) =>
      figures.getByRole('row').filter({ hasText: figure }).getByRole('cell');
    await expect(cells('Task runs')).toHaveText(['81', '81', 'same', '']);
    await expect(cells('Executions').nth(0)).toHaveText('81');
    // Of both: Dask's workers add up what their tasks used.
    await expect(cells('CPU').nth(0)).toHaveText(/\d/u);
    await expect(cells('CPU').nth(1)).toHaveText(/\d/u);
    await expect(cells('Waiting for the GIL').nth(1)).toHaveText('not known');
    await expect(
      compare.region.getByRole('list', { name: 'Not known' })
    ).toContainText(
      `Waiting for the GIL of ${dask}: Dask does not tell what threads wait for.`
    );
    const names = compare.region.getByRole('table', {
      name: 'Thread time, by Function'
    });
    await expect(row(names, 'only_here')).toContainText('only in here');
    await expect(row(names, 'only_there')).toContainText(`only in ${dask}`);
    await compare.region.getByRole('radio', { name: 'Span' }).click();
    await compare.region
      .getByRole('combobox', { name: 'Figure' })
      .selectOption('tasks');
    const spans = compare.region.getByRole('table', {
      name: 'Task runs, by Span'
    });
    for (const span of ['simulation', 'measuring']) {
      await expect(row(spans, span).getByRole('cell')).toHaveText([
        '40',
        '40',
        '',
        'same',
        ''
      ]);
    }
    await compare.region
      .getByRole('combobox', { name: 'Figure' })
      .selectOption('thread');
    await test.step('scrolled, nothing is seen beside what stays', async () => {
      for (const width of [230, 260, 440]) {
        await compare.inSize({ width, height: 240 }, async () => {
          const view = compare.region.locator('.sw-Compare');
          const table = compare.region.getByRole('table', { name: 'Figures' });
          const setWidth = (least: string) =>
            table.evaluate(({ style }, text) => {
              style.minWidth = text;
            }, least);
          const isWider = () =>
            view.evaluate(
              ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth
            );
          expect([width, await isWider()]).toEqual([width, false]);
          if (width === 440) {
            // As figures make it that are longer than these.
            await setWidth('600px');
          }
          expect({ width, ...(await view.evaluate(edgesOfWhatStays)) }).toEqual(
            {
              width,
              above: 0,
              beside: 0,
              scrolled: true,
              sideways: width === 440
            }
          );
          await setWidth('');
        });
      }
    });
    await test.step('in a narrow panel the differences are seen, and cover nothing', async () => {
      for (const width of [
        230, 300, 320, 360, 420, 440, 450, 499, 560, 650, 700, 760, 850
      ]) {
        await compare.inSize({ width }, async () => {
          const found = await compare.region
            .locator('.sw-Compare')
            .evaluate(coveredCells);
          expect(found.differences).toBeGreaterThan(3);
          expect({ width, ...found }).toMatchObject({
            width,
            covered: [],
            cut: [],
            unseen: []
          });
        });
      }
    });
    await take('compare-clusters-light');
    if (takesPictures) {
      await lab.setTheme('JupyterLab Dark');
      await take('compare-clusters-dark');
      await lab.setTheme('JupyterLab Light');
    }
  });

  const swapped = lab.panel('Compare', `${dask}, here`);
  await test.step('the other way round', async () => {
    await compare.tool('Swap').click();
    await expect(swapped.region.getByRole('heading', { level: 3 })).toHaveText(
      /^here (?:is|takes|took) /u
    );
  });

  await test.step('who follows turns to the cluster that is chosen; pins stay, also after a reload', async () => {
    await notebook.activate();
    await choose(lab, dask, 'here');
    const metrics = lab.panel('Fine Performance Metrics', 'here');
    await expect(metrics.region).toContainText('only_here');
    await expect(lab.panel('Profile', 'here').tab).toBeVisible();
    await expect(lab.panel('Profile', dask).tab).toHaveCount(0);
    await expect(other.tab).toBeVisible();
    await expect(own.tab).toBeVisible();

    // The pins were saved long ago: what came last is waited for.
    await expect
      .poll(async () => {
        const { data } = JSON.parse(await lab.savedWorkspace()) as {
          data: Record<string, unknown>;
        };
        return JSON.stringify(data['layout-restorer:data']);
      })
      .toContain('spanwise-compare-');
    await expect
      .poll(() => lab.savedWorkspace())
      .toMatch(
        /"panel": "fine-metrics", "id": "[^"]*", "target": \{[^}]*"name": "here"/u
      );
    await lab.reload();
    await expect(own.tab).toHaveAttribute('title', /Pinned to here\./u);
    await expect(other.tab).toBeVisible();
    await expect(metrics.tab).toBeVisible();
    await expect(swapped.tab).toBeVisible();
    await expect(legend(other)).toContainText('only_there');
  });
  expect(lab.troubles.errors).toEqual([]);
});

test('the cluster of a second notebook is shown in the open panels', async ({
  lab
}, info) => {
  const take = picturesOf(lab, info);
  const first = await lab.open('north.ipynb', [HERE, CELLS[1]!]);
  await lab.sidebar.show();
  await first.run(0);
  await first.run(1);
  await lab.sidebar.openDefaultLayout();
  await expect(legend(lab.panel('Task Stream', 'here'))).toContainText(
    'only_here'
  );

  const second = lab.notebook('south.ipynb');
  await second.write([
    `import time\n${THERE}`,
    `${ONLY('there')}client.submit(only_there, 1).result()`
  ]);
  await first.activate();
  await second.openHere();
  await second.run(0);
  await lab.sidebar.showOffer();
  const stream = lab.panel('Task Stream', 'LocalCluster there');
  await expect(stream.tab).toBeVisible();
  await second.run(1);
  await expect(legend(stream)).toContainText('only_there');
  const tabs = lab.page.locator('#jp-main-dock-panel').getByRole('tab');
  await expect(tabs.filter({ hasText: ' · ' })).toHaveCount(4);
  await expect(tabs.filter({ hasText: ' · here' })).toHaveCount(0);
  await take('second-notebook-light');
  expect(lab.troubles.errors).toEqual([]);
});

test('panels of a notebook without a cluster show by a button what runs in another', async ({
  lab
}, info) => {
  const take = picturesOf(lab, info);
  const first = await lab.open('empty.ipynb', ['1 + 1']);
  await lab.sidebar.show();
  await lab.page.evaluate(
    notebook =>
      window.jupyterapp.commands.execute('spanwise:open-layout', { notebook }),
    first.path
  );
  const second = lab.notebook('busy.ipynb');
  await second.write([HERE, CELLS[1]!]);
  await first.activate();
  await second.openHere();
  await second.run(0);
  await second.run(1);
  const button = lab.page.getByRole('button', { name: 'Show here here' });
  await expect(button).toHaveCount(4);
  await take('empty-panels-light');
  await lab.setTheme('JupyterLab Dark');
  await take('empty-panels-dark');
  await lab.setTheme('JupyterLab Light');
  // The sidebar's turns the one that is there, and still says of the others.
  await lab.sidebar.item('Task Stream').click();
  await expect(button).toHaveCount(3);
  await expect(lab.sidebar.card('here')).toContainText(
    'Some open panels show no cluster.'
  );
  await button.first().click();
  await expect(button).toHaveCount(0);
  const tabs = lab.page.locator('#jp-main-dock-panel').getByRole('tab');
  await expect(tabs.filter({ hasText: ' · here' })).toHaveCount(4);
  await expect(tabs.filter({ hasText: 'Task Stream' })).toHaveCount(1);
  await take('empty-panels-shown-light');
  expect(lab.troubles.errors).toEqual([]);
});

function legend(panel: Panel): Locator {
  return panel.region.getByRole('list', { name: 'Legend' });
}

function row(table: Locator, name: string): Locator {
  return table.getByRole('row').filter({
    has: table.page().getByRole('rowheader', { name, exact: true })
  });
}

/** By the menu of the cluster card. */
async function choose(lab: Lab, from: string, to: string): Promise<void> {
  const entry = await lab.sidebar.clusterEntry(from, `${to} · running`);
  await entry.click();
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

/** In pixels: what is above the heads and at the right of the differences of the first table, when it has scrolled down and sideways. */
function edgesOfWhatStays(view: Element): {
  above: number;
  beside: number;
  scrolled: boolean;
  sideways: boolean;
} {
  const table = view.querySelector('table')!;
  const inTable = table.getBoundingClientRect().top + 40;
  view.scrollTop += inTable - view.getBoundingClientRect().top;
  view.scrollLeft = 1;
  const { left, top } = view.getBoundingClientRect();
  // (a narrow panel displays no changes)
  const boxes = (cells: string) =>
    [...table.querySelectorAll(cells)]
      .map(cell => cell.getBoundingClientRect())
      .filter(box => box.width > 0);
  const largest = (gaps: number[]) =>
    Math.max(...gaps.map(gap => Math.abs(Math.round(gap))));
  // (in two lines a row the heads stay together, and there is nothing at the sides)
  const areTogether = getComputedStyle(table.tHead!).position === 'sticky';
  const sideways = view.scrollLeft > 0;
  const found = {
    above: largest(
      boxes(areTogether ? 'thead' : 'thead th').map(box => box.top - top)
    ),
    beside: areTogether
      ? 0
      : largest(
          boxes('.sw-Compare-difference').map(
            box => left + view.clientWidth - box.right
          )
        ),
    scrolled: view.scrollTop > 0,
    sideways
  };
  view.scrollTo(0, 0);
  return found;
}

/** Cells that lie over one another, figures that are not whole, and differences that are not seen, as the panel is before it is scrolled. */
function coveredCells(view: Element): {
  covered: string[];
  cut: string[];
  differences: number;
  unseen: string[];
} {
  const { left: begin, right: edge } = view.getBoundingClientRect();
  const differences = [
    ...view.querySelectorAll('td.sw-Compare-difference')
  ].filter(cell => cell.textContent !== '');
  const rows = [...view.querySelectorAll('tr')].map(row =>
    [...row.cells]
      .map(cell => ({
        text: cell.textContent ?? '',
        isFigure: cell.matches('td:not(.sw-Compare-only), th.sw-Compare-sides'),
        isWhole: cell.scrollWidth <= cell.clientWidth,
        box: cell.getBoundingClientRect()
      }))
      // (one pixel is for screen readers)
      .filter(({ box }) => box.width > 1)
  );
  return {
    differences: differences.length,
    unseen: differences
      .filter(cell => {
        const { left, right, width } = cell.getBoundingClientRect();
        return width === 0 || left < begin - 0.5 || right > edge + 0.5;
      })
      .map(cell => cell.textContent ?? ''),
    covered: rows.flatMap(cells =>
      cells
        .filter(
          ({ box }, i) =>
            box.right > edge + 0.5 ||
            cells
              .slice(0, i)
              .some(
                ({ box: before }) =>
                  Math.min(box.right, before.right) -
                    Math.max(box.left, before.left) >
                    0.5 &&
                  Math.min(box.bottom, before.bottom) -
                    Math.max(box.top, before.top) >
                    0.5
              )
        )
        .map(({ text }) => text)
    ),
    cut: rows.flatMap(cells =>
      cells
        .filter(({ isFigure, isWhole }) => isFigure && !isWhole)
        .map(({ text }) => text)
    )
  };
}
