/**
 * The page's part of `dask_scale.py`: a Jupyter server whose observer takes the log in, then headless Chromium without a GPU that pans over
 * the lanes of 1,000 workers. It speaks in lines of JSON:
 *
 *     → {"connection": file}      the server is there
 *     ← {"cluster": id}           the log is in its observer
 *     → {"figures": {name: …}}
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Browser, chromium, type Page } from '@playwright/test';
import { argument, textArgument } from './findings';
import { type Figures, openAlone, panZoomed } from './panning-page';
import { JupyterServer, residentMegabytes } from './panning-server';
import { RelayWatch } from './panning-relay';

const ADDED_MILLISECONDS = 100;

function say(what: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

/** What the page's renderer takes, as the operating system counts it. */
async function rendererMegabytes(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => residentMegabytes(id));
  return Math.max(...sizes);
}

/** Objects of the page and what they hold outside of the heap, after a collection. */
async function heapMegabytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const usage: Record<string, number | undefined> = await session.send(
    'Runtime.getHeapUsage'
  );
  await session.detach();
  const { usedSize, embedderHeapUsedSize, backingStorageSize } = usage;
  return (
    ((usedSize ?? 0) +
      (embedderHeapUsedSize ?? 0) +
      (backingStorageSize ?? 0)) /
    1e6
  );
}

async function measure(
  browser: Browser,
  server: JupyterServer,
  cluster: string
): Promise<Figures> {
  const page = await browser.newPage({
    viewport: { width: 1600, height: 1000 }
  });
  const relay = new RelayWatch(ADDED_MILLISECONDS);
  await relay.attach(page);
  const picture = async (what: string) => {
    const prefix = textArgument('--picture');
    if (prefix !== undefined) {
      await page.screenshot({ path: `${prefix}-${what}.png` });
    }
  };
  await page.goto(`${server.address}lab?reset`);
  await page.locator('.jp-Launcher').waitFor({ timeout: 180_000 });
  const bare = await rendererMegabytes(browser);
  const figures: Figures = {};
  const region = await openAlone(page, server.address, cluster, relay, figures);
  await picture('whole');
  await panZoomed(page, region, relay, argument('--seconds', 6), figures);
  await picture('close');
  await region.getByRole('button', { name: 'Fit' }).click();
  await region
    .getByRole('combobox', { name: 'Workers shown' })
    .selectOption({ index: 3 });
  await relay.quiet();
  await picture('group');
  await panZoomed(
    page,
    region,
    relay,
    argument('--seconds', 6),
    figures,
    'pan of a group'
  );
  await picture('group-close');
  figures['page, heap and buffers, MB'] = await heapMegabytes(page);
  figures['page, more than JupyterLab alone, MB'] =
    (await rendererMegabytes(browser)) - bare;
  const observer = server.observerPid();
  figures['observer, MB'] = residentMegabytes(observer);
  figures['observer at most, MB'] = residentMegabytes(observer, 'VmHWM');
  return figures;
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'spanwise-scale-'));
  const server = new JupyterServer(
    process.env['SPANWISE_TEST_PYTHON'] ?? join('.test-env', 'bin', 'python'),
    folder
  );
  const lines = createInterface({ input: process.stdin });
  const asked = new Promise<string>(done => lines.once('line', done));
  let browser: Browser | null = null;
  try {
    await server.start();
    say({ connection: await server.connectionFile() });
    const { cluster } = JSON.parse(await asked) as { cluster: string };
    browser = await chromium.launch({
      executablePath: process.env['SPANWISE_CHROMIUM'] ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu']
    });
    say({ figures: await measure(browser, server, cluster) });
  } finally {
    lines.close();
    await browser?.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
