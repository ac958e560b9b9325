/** The HTML file of `visualize`, opened from the disk by a browser without network. No JupyterLab takes part. */
import { expect, type Page, test } from '@playwright/test';
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { openOffline, type PageRecord } from '../pages/offline-file';
import { takePicture } from '../pages/pictures';

const root = path.resolve(__dirname, '..', '..');

/** The part of plotly's element that this test uses: where a point of the data lies in the window. */
type PlotlyAxis = { _offset: number; l2p(value: number): number };
type PlotlyElement = HTMLElement & {
  _fullLayout: Record<string, PlotlyAxis & { range: [number, number] }>;
};

let file: string;

test.beforeAll(({}, info) => {
  const run = (...args: string[]) =>
    execFileSync(process.execPath, args, { cwd: root, timeout: 300_000 });
  const program = path.join(root, '.build', 'profile-file.mjs');
  file = info.outputPath('profile.html');
  run(
    'scripts/bundle-node-programs.mjs',
    '.build/node-programs',
    'visualize-page.js'
  );
  execFileSync(
    path.join(root, 'node_modules', '.bin', 'esbuild'),
    [
      'ui-tests/programs/profile-file.ts',
      '--bundle',
      '--platform=node',
      '--format=esm',
      '--log-level=warning',
      `--outfile=${program}`
    ],
    { cwd: root, timeout: 300_000 }
  );
  run(program, file);
});

async function openFile(page: Page): Promise<PageRecord> {
  const record = await openOffline(page, file);
  await expect(figure(page)).toHaveAttribute('data-drawn', /^0 10 /);
  return record;
}

function figure(page: Page) {
  return page.locator('#figure');
}

/** Pixels in the window of a point of the plot whose left axis is named. */
function place(page: Page, yaxis: string, x: number, y: number) {
  return figure(page).evaluate(
    (element, [axis, atX, atY]) => {
      const { _fullLayout: layout } = element as PlotlyElement;
      const box = element.getBoundingClientRect();
      const horizontal = layout['xaxis']!;
      const vertical = layout[axis]!;
      return {
        x: box.left + horizontal._offset + horizontal.l2p(atX),
        y: box.top + vertical._offset + vertical.l2p(atY)
      };
    },
    [yaxis, x, y] as const
  );
}

/** The page's text about a point; asked again while the plot is still being drawn and the point moves. */
async function expectAt(
  page: Page,
  [yaxis, x, y]: readonly [yaxis: string, x: number, y: number],
  ...texts: readonly (string | RegExp)[]
) {
  const hover = page.locator('.hoverlayer .hovertext');
  await expect(async () => {
    const { x: left, y: top } = await place(page, yaxis, x, y);
    await page.mouse.move(left, top - 1);
    await page.mouse.move(left, top);
    for (const text of texts) {
      await expect(hover).toContainText(text, { timeout: 3_000 });
    }
  }).toPass({ timeout: 90_000 });
}

/** Turns the wheel over a plot until at most `seconds` are in view. */
async function zoomIn(page: Page, yaxis: string, seconds: number) {
  const { x, y } = await place(page, yaxis, 5, 0);
  await page.mouse.move(x, y - 30);
  await expect(async () => {
    // plotly zooms by a tenth per step, however large.
    await Promise.all(
      Array.from({ length: 15 }, () => page.mouse.wheel(0, -200))
    );
    const [from, to] = await drawnRange(page);
    expect(to - from).toBeLessThan(seconds);
  }).toPass({ timeout: 120_000, intervals: [400] });
}

async function drawnRange(page: Page): Promise<[number, number]> {
  const text = await figure(page).getAttribute('data-drawn');
  const [from, to] = text!.split(' ').map(Number);
  return [from!, to!];
}

/** The numbers under the time axis. */
async function ticks(page: Page): Promise<number[]> {
  const texts = await page.locator('.xtick text').allTextContents();
  return texts.map(text => Number(text.replace('−', '-')));
}

test('shows tasks, resources and cache, and neither asks nor says anything', async ({
  page
}, info) => {
  const record = await openFile(page);
  await expect(page.locator('.gtitle')).toContainText('Known & <b>drawn</b>');
  await expect(page.locator('.gtitle-subtitle')).toContainText(
    '10,001 tasks on 2 workers in 10.00 s, 95 % of the time busy'
  );
  for (const title of [
    'Worker ID',
    '% CPU',
    'Memory (MB)',
    'Cache Size (bytes)',
    'Time (s)'
  ]) {
    await expect(
      page.locator('.infolayer').getByText(title, { exact: true }).first()
    ).toBeVisible();
  }
  // Ten thousand tasks are a few hundred rectangles.
  const rectangles = await page.locator('.barlayer .point').count();
  expect(rectangles).toBeGreaterThan(200);
  expect(rectangles).toBeLessThan(3000);
  await expect(page.locator('.scatterlayer .trace')).toHaveCount(4);
  await expect(page.locator('.infolayer .traces')).toHaveCount(4);
  expect(record.messages).toEqual([]);
  expect(record.requests).toEqual([pathToFileURL(file).href]);
  expect(await page.title()).toBe('Known & <b>drawn</b>');
  await takePicture(page, info.outputPath('light.png'));
});

test('the pointer shows key and task, and names as text', async ({ page }) => {
  const record = await openFile(page);
  // Row 0 is the worker whose first task was longest.
  await expectAt(
    page,
    ['yaxis', 5, 0],
    'Key: <img src=x onerror=alert(1)></script>first',
    'Task: load()'
  );
  await expectAt(
    page,
    ['yaxis', 5, 1],
    /Key: \d+ tasks, zoom in to tell them apartTask: mostly sum\(_, \*\)/
  );
  await expectAt(page, ['yaxis3', 5, 50], '% CPU: 50 %');
  // Two seconds of results of a megabyte each millisecond.
  await expectAt(page, ['yaxis5', 5, 2000e6], 'Task: sum(_, *)');
  expect(record.messages).toEqual([]);
});

test('zooming in one plot zooms all, and shows the single tasks', async ({
  page
}, info) => {
  const record = await openFile(page);
  expect((await ticks(page)).at(-1)).toBe(10);
  // Over the cache plot, at the bottom.
  await zoomIn(page, 'yaxis5', 0.05);
  const [from, to] = await drawnRange(page);
  expect(from).toBeGreaterThan(4.5);
  expect(to).toBeLessThan(5.5);
  const after = await ticks(page);
  expect(Math.min(...after)).toBeGreaterThanOrEqual(from - 0.001);
  expect(Math.max(...after)).toBeLessThanOrEqual(to + 0.001);
  // In the plot of tasks at the top the same stretch, task by task.
  const task = Math.round(((from + to) / 2) * 1000);
  await expectAt(
    page,
    ['yaxis', task / 1000 + 0.00045, 1],
    `Key: ('sum', ${task})`,
    'Task: sum(_, *)'
  );
  await takePicture(page, info.outputPath('zoomed.png'));
  // A double click goes back to everything. The two clicks of a busy page may be too far apart for plotly.
  await expect(async () => {
    const { x, y } = await place(page, 'yaxis3', (from + to) / 2, 20);
    await page.mouse.dblclick(x, y);
    await expect(figure(page)).toHaveAttribute('data-drawn', /^0 10 /, {
      timeout: 5_000
    });
  }).toPass({ timeout: 90_000 });
  expect(record.messages).toEqual([]);
});

test('follows the colours of the system', async ({ page }, info) => {
  await page.emulateMedia({ colorScheme: 'dark' });
  const record = await openFile(page);
  const background = page.locator('.main-svg').first();
  await expect(background).toHaveCSS('background-color', 'rgb(30, 30, 30)');
  await takePicture(page, info.outputPath('dark.png'));
  await page.emulateMedia({ colorScheme: 'light' });
  await expect(background).toHaveCSS('background-color', 'rgb(255, 255, 255)');
  expect(record.messages).toEqual([]);
});
