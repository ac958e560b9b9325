/**
 * Panning the Task Stream over a million runs, end to end: a source that sends them, the real observer behind a real Jupyter server, and
 * headless Chromium without a GPU, with 100 ms added to everything that the relay sends to the page.
 *
 *     node_modules/.bin/esbuild benchmarks/panning.ts --bundle --platform=node --format=esm --packages=external --outfile=.build/panning.mjs
 *     node .build/panning.mjs --python .test-env/bin/python [--runs 1000000] [--json FILE] [--picture FILE]
 *
 * Limits (first slice, row 10): pan p95 ≤ 33 ms, first tile ≤ 250 ms, filtered tile ≤ 100 ms, observer ≤ 400 MB.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from '@playwright/test';
import { JupyterServer, residentMegabytes } from './panning-server';
import { SyntheticSource } from './panning-source';
import { RelayWatch } from './panning-relay';

const ADDED_MILLISECONDS = 100;
const PAN_SECONDS = 6;
const CLUSTER = 'synthetic';

type Figures = Record<string, number>;

function argument(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

/** Value below which `share` of the figures lie. */
function quantile(figures: readonly number[], share: number): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? NaN;
}

/** Drag the lanes to and fro for some seconds; the times between frames. */
async function pan(page: Page): Promise<readonly number[]> {
  const lanes = page.getByRole('application', { name: 'Task Stream chart' });
  const box = await lanes.boundingBox();
  if (box === null) {
    throw new Error('The Task Stream is not shown.');
  }
  await page.evaluate(() => {
    const times: number[] = [];
    const tick = (now: number) => {
      times.push(now);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    Object.assign(window, { frameTimes: times });
  });
  const y = box.y + box.height / 2;
  const middle = box.x + box.width * 0.6;
  const reach = box.width * 0.3;
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  while (seconds() < PAN_SECONDS) {
    // One stroke of the hand: about 0.6 s over half the chart, back and forth.
    const sign = Math.floor(seconds() / 0.6) % 2 === 0 ? 1 : -1;
    await page.mouse.move(middle - sign * reach, y);
    await page.mouse.down();
    for (let step = -20; step <= 20; step++) {
      await page.mouse.move(middle + (sign * reach * step) / 20, y);
    }
    await page.mouse.up();
  }
  const times = await page.evaluate(
    () => (window as unknown as { frameTimes: number[] }).frameTimes
  );
  return times.slice(1).map((time, index) => time - (times[index] ?? time));
}

async function measure(
  page: Page,
  server: JupyterServer,
  relay: RelayWatch
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
    const frames = await pan(page);
    figures[`pan zoomed ${name}, p50 frame, ms`] = quantile(frames, 0.5);
    figures[`pan zoomed ${name}, p95 frame, ms`] = quantile(frames, 0.95);
    figures[`pan zoomed ${name}, longest frame, ms`] = quantile(frames, 1);
    figures[`pan zoomed ${name}, frames a second`] =
      1000 / (frames.reduce((sum, frame) => sum + frame, 0) / frames.length);
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
  const picture = argument('--picture');
  if (picture !== undefined) {
    await page.screenshot({ path: picture });
  }
  return figures;
}

async function main(): Promise<void> {
  const runs = Number(argument('--runs') ?? 1_000_000);
  const folder = mkdtempSync(join(tmpdir(), 'spanwise-panning-'));
  const server = new JupyterServer(
    argument('--python') ?? join('.test-env', 'bin', 'python'),
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
      runs,
      'sent and taken in, s': sentSeconds,
      'observer with the runs, MB': residentMegabytes(observer),
      ...(await measure(page, server, relay)),
      'observer at the end, MB': residentMegabytes(observer),
      'load of the machine': loadavg()[0] ?? NaN
    };
    for (const [name, value] of Object.entries(figures)) {
      const text =
        value >= 1000
          ? Math.round(value).toLocaleString('en')
          : value.toFixed(1);
      console.log(`${name.padEnd(48)} ${text.padStart(12)}`);
    }
    const file = argument('--json');
    if (file !== undefined) {
      writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`);
    }
    source.close();
  } finally {
    await browser.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
