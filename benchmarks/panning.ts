/**
 * Panning the Task Stream over a million runs, end to end: a source that sends them, the real observer behind a real Jupyter server, and
 * headless Chromium without a GPU, with 100 ms added to everything that the relay sends to the page.
 *
 *     python -m benchmarks panning [-- --runs 1000000 --seconds 6 --picture FILE]     where Spanwise and JupyterLab are installed
 *
 * Environment: SPANWISE_TEST_PYTHON, SPANWISE_CHROMIUM.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from '@playwright/test';
import { argument, figuresNamed, handOver, textArgument } from './findings';
import { JupyterServer, residentMegabytes } from './panning-server';
import { SyntheticSource } from './panning-source';
import { RelayWatch } from './panning-relay';

const ADDED_MILLISECONDS = 100;
const CLUSTER = 'synthetic';

/** The limits for the figures. */
const LIMITS: Readonly<Record<string, number>> = {
  'first tile, observer and relay, ms': 250,
  'pan zoomed 10 times, p95 frame, ms': 33,
  'pan zoomed 1,000 times, p95 frame, ms': 33,
  // Frames in which nothing is drawn are quick: the two above would be those of a page at rest.
  'pan zoomed 10 times, share of frames that drew, %': 33,
  'pan zoomed 1,000 times, share of frames that drew, %': 33,
  'filtered tile, observer and relay, ms': 100,
  'observer at the end, MB': 400
};

type Figures = Record<string, number>;

/** Times between animation frames, how many of the frames redrew the lanes, and in how many the mouse dragged them. */
type Pan = {
  readonly frames: readonly number[];
  readonly drawn: number;
  readonly dragged: number;
};

/** Value below which `share` of the figures lie. */
function quantile(figures: readonly number[], share: number): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? NaN;
}

/** Drag the lanes to and fro for some seconds. */
async function pan(page: Page, panSeconds: number): Promise<Pan> {
  const lanes = page.getByRole('application', { name: 'Task Stream chart' });
  const box = await lanes.boundingBox();
  if (box === null) {
    throw new Error('The Task Stream is not shown.');
  }
  await page.evaluate(() => {
    const frames: number[] = [];
    const watched = { frames, drawn: 0, dragged: 0, ends: false };
    Object.assign(window, { watched });
    let isDragged = false;
    window.addEventListener(
      'pointermove',
      ({ buttons }) => {
        isDragged ||= buttons !== 0;
      },
      { capture: true }
    );
    // Each frame of the lanes begins with an empty canvas: seen from outside, a frame that drew is one that cleared it.
    const canvas = document.querySelector('.sw-TaskStream-canvas');
    const context = (canvas as HTMLCanvasElement).getContext('2d')!;
    const { clearRect } = CanvasRenderingContext2D.prototype;
    let isDrawn = false;
    context.clearRect = function (...rest) {
      isDrawn = true;
      clearRect.apply(this, rest);
    };
    let last = performance.now();
    const tick = (now: number) => {
      frames.push(now - last);
      watched.drawn += isDrawn ? 1 : 0;
      watched.dragged += isDragged ? 1 : 0;
      isDrawn = isDragged = false;
      last = now;
      if (!watched.ends) {
        requestAnimationFrame(tick);
      }
    };
    requestAnimationFrame(now => {
      last = now;
      requestAnimationFrame(tick);
    });
  });
  const y = box.y + box.height / 2;
  const middle = box.x + box.width * 0.6;
  const reach = box.width * 0.3;
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  while (seconds() < panSeconds) {
    // One stroke of the hand: about 0.6 s over half the chart, back and forth.
    const sign = Math.floor(seconds() / 0.6) % 2 === 0 ? 1 : -1;
    await page.mouse.move(middle - sign * reach, y);
    await page.mouse.down();
    for (let step = -20; step <= 20; step++) {
      await page.mouse.move(middle + (sign * reach * step) / 20, y);
    }
    await page.mouse.up();
  }
  return page.evaluate(() => {
    const { watched } = window as unknown as {
      watched: Pan & { ends: boolean };
    };
    watched.ends = true;
    const { frames, drawn, dragged } = watched;
    return { frames, drawn, dragged };
  });
}

async function measure(
  page: Page,
  server: JupyterServer,
  relay: RelayWatch,
  panSeconds: number
): Promise<Figures> {
  const figures: Figures = {};
  await page.goto(`${server.address}lab?reset`);
  await page.locator('.jp-Launcher').waitFor({ timeout: 180_000 });
  relay.forget();
  await page.evaluate(
    cluster =>
      window.jupyterapp.commands
        .execute('spanwise:open', { panel: 'task-stream', cluster })
        .then(() => undefined),
    CLUSTER
  );
  // The panel alone, over the whole main area.
  await page
    .getByRole('tab', { name: 'Launcher' })
    .locator('.lm-TabBar-tabCloseIcon')
    .click();
  const region = page.getByRole('region', { name: /^Task Stream/ });
  await region.getByRole('list', { name: 'Legend' }).waitFor();
  figures['first tile, observer and relay, ms'] = await relay.firstTile();
  figures['panel opened to first tile at the page, ms'] =
    (await relay.firstTileArrival()) - relay.since;
  await relay.quiet();

  for (const [name, steps] of [
    ['10 times', 5],
    ['1,000 times', 10]
  ] as const) {
    for (let step = 0; step < steps; step++) {
      await region.getByRole('button', { name: 'Zoom in' }).click();
    }
    await relay.quiet();
    const { frames, drawn, dragged } = await pan(page, panSeconds);
    // Each drag asks for one frame. (On a busy machine the mouse, which is another process, drags in few of them.)
    if (dragged === 0 || drawn < dragged / 2) {
      throw new Error(
        `Only ${drawn} frames drew the lanes, which were dragged in ${dragged} of ${frames.length}: this is no pan.`
      );
    }
    figures[`pan zoomed ${name}, p50 frame, ms`] = quantile(frames, 0.5);
    figures[`pan zoomed ${name}, p95 frame, ms`] = quantile(frames, 0.95);
    figures[`pan zoomed ${name}, longest frame, ms`] = quantile(frames, 1);
    figures[`pan zoomed ${name}, frames a second`] =
      1000 / (frames.reduce((sum, frame) => sum + frame, 0) / frames.length);
    figures[`pan zoomed ${name}, share of frames that drew, %`] =
      (drawn / frames.length) * 100;
    await relay.quiet();
  }
  await region.getByRole('button', { name: 'Fit' }).click();
  await relay.quiet();

  await page.getByRole('tab', { name: 'Spanwise', exact: true }).click();
  const span = page.getByRole('treeitem', { name: 'span 2', exact: true });
  await span.waitFor();
  await relay.quiet();
  relay.forget();
  await span.locator('.sw-span-tree-tag').first().click();
  figures['filtered tile, observer and relay, ms'] = await relay.firstTile();
  figures['span picked to first tile at the page, ms'] =
    (await relay.firstTileArrival()) - relay.since;
  await relay.quiet();
  const picture = textArgument('--picture');
  if (picture !== undefined) {
    await page.screenshot({ path: picture });
  }
  return figures;
}

async function main(): Promise<void> {
  const runs = argument('--runs', 1_000_000);
  const panSeconds = argument('--seconds', 6);
  const folder = mkdtempSync(join(tmpdir(), 'spanwise-panning-'));
  const server = new JupyterServer(
    process.env['SPANWISE_TEST_PYTHON'] ?? join('.test-env', 'bin', 'python'),
    folder
  );
  const browser = await chromium.launch({
    executablePath: process.env['SPANWISE_CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu']
  });
  try {
    await server.start();
    const source = await SyntheticSource.dial(
      await server.connection(),
      CLUSTER
    );
    const started = performance.now();
    await source.send(runs);
    const sentSeconds = (performance.now() - started) / 1000;
    const page = await browser.newPage({
      viewport: { width: 1600, height: 1000 }
    });
    const relay = new RelayWatch(ADDED_MILLISECONDS);
    await relay.attach(page);
    const observer = server.observerPid();
    const figures: Figures = {
      'sent and taken in, s': sentSeconds,
      'observer with the runs, MB': residentMegabytes(observer),
      ...(await measure(page, server, relay, panSeconds)),
      'observer at the end, MB': residentMegabytes(observer)
    };
    for (const [name, value] of Object.entries(figures)) {
      const text =
        value >= 1000
          ? Math.round(value).toLocaleString('en')
          : value.toFixed(1);
      console.log(`${name.padEnd(52)} ${text.padStart(12)}`);
    }
    handOver(
      { runs, panSeconds, addedMilliseconds: ADDED_MILLISECONDS },
      figuresNamed(figures, LIMITS)
    );
    source.close();
  } finally {
    await browser.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
