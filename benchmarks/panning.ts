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
import { type Figures, openAlone, panZoomed } from './panning-page';
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

async function measure(
  page: Page,
  server: JupyterServer,
  relay: RelayWatch,
  panSeconds: number
): Promise<Figures> {
  const figures: Figures = {};
  const region = await openAlone(page, server.address, CLUSTER, relay, figures);
  await panZoomed(page, region, relay, panSeconds, figures);
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
