/** What the benchmarks of panning do with the page: they open the Task Stream alone, zoom in, and drag it to and fro. */
import type { Locator, Page } from '@playwright/test';
import { textArgument } from './findings';
import { PageCpu } from './page-cpu';
import type { RelayWatch } from './panning-relay';

export type Figures = Record<string, number>;

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

/** Open the Task Stream of a cluster, over the whole main area. */
export async function openAlone(
  page: Page,
  address: string,
  cluster: string,
  relay: RelayWatch,
  figures: Figures
): Promise<Locator> {
  await page.goto(`${address}lab?reset`);
  await page.locator('.jp-Launcher').waitFor({ timeout: 180_000 });
  relay.forget();
  await page.evaluate(
    named =>
      window.jupyterapp.commands
        .execute('spanwise:open', { panel: 'task-stream', cluster: named })
        .then(() => undefined),
    cluster
  );
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
  return region;
}

/** Pan in two closenesses. */
export async function panZoomed(
  page: Page,
  region: Locator,
  relay: RelayWatch,
  panSeconds: number,
  figures: Figures,
  what = 'pan'
): Promise<void> {
  for (const [name, steps] of [
    ['10 times', 5],
    ['1,000 times', 10]
  ] as const) {
    for (let step = 0; step < steps; step++) {
      await region.getByRole('button', { name: 'Zoom in' }).click();
    }
    await relay.quiet();
    const cpu = await PageCpu.of(page);
    const profile = textArgument('--profile');
    await (profile && cpu.beginProfile());
    const before = await cpu.seconds();
    const { frames, drawn, dragged } = await pan(page, panSeconds);
    const after = await cpu.seconds();
    await (profile && cpu.endProfile(`${profile}-${what} ${name}.cpuprofile`));
    await cpu.close();
    // Each drag asks for one frame. (On a busy machine the mouse, which is another process, drags in few of them.)
    if (dragged === 0 || drawn < dragged / 2) {
      throw new Error(
        `Only ${drawn} frames drew the lanes, which were dragged in ${dragged} of ${frames.length}: this is no pan.`
      );
    }
    figures[`${what} zoomed ${name}, p50 frame, ms`] = quantile(frames, 0.5);
    figures[`${what} zoomed ${name}, p95 frame, ms`] = quantile(frames, 0.95);
    figures[`${what} zoomed ${name}, longest frame, ms`] = quantile(frames, 1);
    figures[`${what} zoomed ${name}, frames a second`] =
      1000 / (frames.reduce((sum, frame) => sum + frame, 0) / frames.length);
    figures[`${what} zoomed ${name}, share of frames that drew, %`] =
      (drawn / frames.length) * 100;
    for (const [part, named] of [
      ['all', "CPU of the page's thread"],
      ['script', 'of it in scripts'],
      ['style', 'of it style and layout']
    ] as const) {
      figures[`${what} zoomed ${name}, ${named}, ms a drawn frame`] =
        ((after[part] - before[part]) / drawn) * 1000;
    }
    await relay.quiet();
  }
}
