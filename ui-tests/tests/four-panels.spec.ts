/** The main road: drag the panels out of the sidebar, see them fill, filter, reload, read the figures. */
import { readFile } from 'node:fs/promises';
import type { Locator } from '@playwright/test';
import { expect, type Lab, test } from '../pages/lab';
import type { Notebook } from '../pages/notebook';
import { type PanelTitle, TITLES } from '../pages/panel';
import { boxOf } from '../pages/sidebar';
import { CLUSTER, ENOUGH, START, WORK } from './orchard';
import { resolutionOf, secondsOf } from './shown-figures';

const FIGURES = `print(json.dumps({
    name: value
    for (context, name, activity, unit), value in sorted(
        client.fine_metrics(span="cider", unit="seconds").items())
    if context == "execute" and activity == "thread-cpu"
} | {"all functions": sum(
    value for (context, function, *_), value
    in client.fine_metrics(span="cider", unit="seconds").items()
    if context == "execute" and function != "N/A")}))`;

// As users have it: a page that has just been loaded.
test.use({ keepsPage: false });

test('four panels, from the drag to the figures', async ({ lab, page }) => {
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  const notebook = await lab.open('orchard.ipynb', [START, WORK, FIGURES]);
  const stream = lab.panel('Task Stream', CLUSTER);
  const metrics = lab.panel('Fine Performance Metrics', CLUSTER);
  const profile = lab.panel('Profile', CLUSTER);
  const memory = lab.panel('Memory Sampler', CLUSTER);
  const all = [stream, metrics, profile, memory];

  await notebook.run(0);
  await notebook.start(1);
  await lab.sidebar.show();

  await test.step('each panel docks where it is dropped', async () => {
    // The gallery stands below the tree: it moves until all spans are there.
    await expect(lab.sidebar.span('2 litres')).toBeVisible();
    await dragAll(lab, notebook);
    // (the last one has made room for itself among the others)
    await expect(async () => {
      const beside = await boxOf(stream.region);
      const below = await boxOf(metrics.region);
      const left = await boxOf(notebook.widget);
      expect(beside.x).toBeGreaterThanOrEqual(left.x + left.width);
      expect(below.y).toBeGreaterThanOrEqual(beside.y + beside.height);
      const right = await boxOf(profile.region);
      expect(right.x).toBeGreaterThanOrEqual(below.x + below.width);
      const under = await boxOf(memory.region);
      expect(under.y).toBeGreaterThanOrEqual(left.y + left.height);
      expect(under.x).toBeLessThan(beside.x);
    }).toPass({ timeout: 90_000 });
    for (const panel of all) {
      await expect(panel.tab).toBeVisible();
    }
  });

  await test.step('they fill while work goes on', async () => {
    await allMove(lab);
    await stream.expectBoxes();
  });

  await test.step('one click filters all four, Clear filter restores', async () => {
    await expect(functionsIn(lab, 'pick')).toHaveCount(2);
    await lab.sidebar.pick('cider');
    await allFiltered(lab);
    await expect.poll(() => lab.savedWorkspace()).toContain('cider');
    // Any panel's own button clears for all.
    await metrics.tool('Clear filter').click();
    for (const panel of all) {
      await expect(panel.chips).toHaveCount(0);
    }
    await expect(functionsIn(lab, 'pick')).toHaveCount(2);
  });

  await test.step('a reload while work goes on changes nothing', async () => {
    // Else the filter of the click before, which the server still has, would pass for that of the next one, and the cleared one come last.
    await expect.poll(() => lab.savedWorkspace()).not.toContain('cider');
    await lab.sidebar.pick('cider');
    await allFiltered(lab);
    const before = await places(lab);
    await page.evaluate(() => window.jupyterapp.restored.then(() => undefined));
    await workspaceSaved(lab);
    await lab.reload();
    await allFiltered(lab);
    await expect(async () => {
      for (const [title, box] of Object.entries(await places(lab))) {
        for (const side of ['x', 'y', 'width', 'height'] as const) {
          expect(
            Math.abs(box[side] - (before[title]?.[side] ?? NaN)),
            `${side} of ${title}`
          ).toBeLessThan(40);
        }
      }
    }).toPass({ timeout: 90_000 });
    await allMove(lab);
  });

  await test.step('the table shows what client.fine_metrics says', async () => {
    lab.writeFile(ENOUGH, '');
    await notebook.ready();
    await notebook.run(2);
    const exact = JSON.parse(await notebook.output(2)) as Record<
      string,
      number
    >;
    expect(Object.keys(exact)).toEqual(['press', 'all functions']);
    await metrics.showTable(true);
    await expect(async () => {
      const [header = [], ...rows] = await metrics.rows();
      const cell = (row: string, column: string) =>
        rows.find(([name]) => name === row)?.[header.indexOf(column)] ?? '';
      for (const [shown, value] of [
        [cell('press', 'thread-cpu'), exact['press']],
        [cell('all functions', 'Total'), exact['all functions']]
      ] as const) {
        expect(Math.abs(secondsOf(shown) - (value ?? NaN)), shown).toBeLessThan(
          resolutionOf(shown) * 0.501
        );
      }
    }).toPass({ timeout: 90_000 });
  });

  await test.step('the profile is a file that speedscope opens', async () => {
    await profile.tool('More').click();
    const coming = page.waitForEvent('download');
    await page
      .getByRole('menuitem', { name: 'Export profile for speedscope' })
      .click();
    const download = await coming;
    expect(download.suggestedFilename()).toBe(
      `profile ${CLUSTER}.speedscope.json`
    );
    const { shared, profiles } = JSON.parse(
      await readFile(await download.path(), 'utf8')
    ) as {
      shared: { frames: { name: string }[] };
      profiles: { unit: string; weights: number[] }[];
    };
    expect(shared.frames.map(({ name }) => name)).toContain('press');
    expect(profiles.map(({ unit }) => unit)).toEqual(['seconds']);
    expect(profiles[0]!.weights.length).toBeGreaterThan(0);
  });

  expect(lab.troubles.errors).toEqual([]);
});

/** The default layout, by hand. */
async function dragAll(lab: Lab, notebook: Notebook): Promise<void> {
  const region = (title: PanelTitle) => lab.panel(title, CLUSTER).region;
  const drops: [PanelTitle, Locator, { x: number; y: number }][] = [
    ['Task Stream', notebook.widget, { x: 0.9, y: 0.5 }],
    ['Fine Performance Metrics', region('Task Stream'), { x: 0.5, y: 0.8 }],
    ['Profile', region('Fine Performance Metrics'), { x: 0.8, y: 0.5 }],
    ['Memory Sampler', notebook.widget, { x: 0.5, y: 0.8 }]
  ];
  for (const [title, target, at] of drops) {
    await lab.sidebar.drag(title, target, at);
    await expect(region(title)).toBeVisible();
  }
}

/** Rows and legend items of a function, in the two panels that name functions beside their charts. */
function functionsIn(lab: Lab, name: string): Locator {
  return lab.page
    .getByRole('list', { name: /^(By function|Legend)$/ })
    .getByRole('listitem')
    .filter({ has: lab.page.getByText(name, { exact: true }) });
}

async function allFiltered(lab: Lab): Promise<void> {
  for (const title of TITLES) {
    const { chips } = lab.panel(title, CLUSTER);
    await expect(chips.getByRole('listitem')).toHaveText(
      /any\s*Alice's workflow › cider/
    );
  }
  await expect(functionsIn(lab, 'press')).toHaveCount(2);
  await expect(functionsIn(lab, 'pick')).toHaveCount(0);
  // The profile's frames are told by their table. A stack that was taken between two tasks may stray.
  const profile = lab.panel('Profile', CLUSTER);
  await profile.showTable(true);
  await expect(profile.frames('press').first()).toBeVisible();
  await expect.poll(() => percentOf(profile.frames('pick'))).toBeLessThan(2);
  await profile.showTable(false);
  const why = lab
    .panel('Memory Sampler', CLUSTER)
    .region.getByText('not filtered');
  await expect(why).toBeVisible();
  // The sentence is there to its end.
  await expect
    .poll(() => why.evaluate(each => each.scrollWidth - each.clientWidth))
    .toBeLessThanOrEqual(0);
}

/** Share of all samples in these rows of the profile's table; unfiltered, `pick` has some 20 %. */
async function percentOf(rows: Locator): Promise<number> {
  const texts = await rows.evaluateAll(all =>
    all.map(row => row.children[3]?.textContent ?? '')
  );
  return texts.reduce(
    (sum, text) => sum + parseFloat(text.replace('<', '')),
    0
  );
}

/** What each panel draws, as something that can be compared. */
async function drawings(lab: Lab): Promise<string[]> {
  const panel = (title: PanelTitle) => lab.panel(title, CLUSTER);
  return Promise.all([
    panel('Task Stream')
      .region.getByRole('list', { name: 'Legend' })
      .innerText(),
    panel('Fine Performance Metrics')
      .region.getByRole('list', { name: 'By function' })
      .innerText(),
    panel('Profile').canvas.evaluateAll(all =>
      all.map(one => (one as HTMLCanvasElement).toDataURL()).join()
    ),
    panel('Memory Sampler')
      .region.locator('.scatterlayer path.js-line')
      .first()
      .getAttribute('d')
      .then(path => path ?? '')
  ]);
}

/** Every panel draws something else than a moment ago. */
async function allMove(lab: Lab): Promise<void> {
  let before: string[] = [];
  await expect(async () => {
    before = await drawings(lab);
    expect(before.every(text => text !== '')).toBe(true);
  }).toPass({ timeout: 90_000 });
  await expect(async () => {
    const now = await drawings(lab);
    now.forEach((text, index) =>
      expect(text === before[index], TITLES[index]).toBe(false)
    );
  }).toPass({ timeout: 90_000 });
}

async function places(lab: Lab) {
  const boxes: Record<string, Awaited<ReturnType<typeof boxOf>>> = {};
  for (const title of TITLES) {
    boxes[title] = await boxOf(lab.panel(title, CLUSTER).region);
  }
  return boxes;
}

/** JupyterLab saves its layout and state a moment after they change. */
async function workspaceSaved(lab: Lab): Promise<void> {
  await expect(async () => {
    const saved = await lab.savedWorkspace();
    for (const part of ['task-stream', 'fine-metrics', 'profile', 'memory']) {
      expect(saved).toContain(`spanwise-${part}-`);
    }
    expect(saved).toContain('cider');
  }).toPass({ timeout: 90_000 });
}
