/**
 * As JupyterLab is by default: a token at the door, and the XSRF cookie. One server and one cluster for all: who is let in, two tabs that
 * watch the same cluster, an observer that is killed while they do, a slow link, and where all these pages sent requests.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { Guest, type Tab } from '../pages/guest';
import { holdScripts, observerLink } from '../pages/held';
import { TITLES } from '../pages/panel';
import { sentencesFrom } from '../pages/sentences';
import { SlowProxy } from '../pages/slow-proxy';
import { addressOf, notebookFolder, runtimeFolder } from '../servers';
import { CLUSTER, ENOUGH, FUNCTIONS, START } from './orchard';
import { sumsIn } from './shown-sums';

const NOTEBOOK = 'behind-a-token.ipynb';
/** The same work as everywhere, counted. */
const COUNTED = `${FUNCTIONS}

rounds = 0
while not os.path.exists("${ENOUGH}"):
    a_round_and_rest()
    rounds += 1
print(rounds)`;
/** Tasks of a round: see orchard.ts. */
const PICKS = 8;
const PRESSES = 16;

test.use({ baseURL: addressOf('guarded') });
test.describe.configure({ mode: 'serial' });

let guest: Guest;
let north: Tab;
let south: Tab;
/** Rounds that the notebook has worked, once it is through. */
let rounds = NaN;

test.beforeAll(async ({ browser, baseURL }) => {
  guest = await Guest.enter(browser, baseURL ?? '');
});

test.afterAll(async () => {
  await guest.context.close();
});

test('nobody is let in without the token', async ({ page, baseURL }) => {
  const origin = baseURL ?? '';
  // A page of this origin: nothing but the missing cookie stands in its way.
  await page.goto(`${origin}/login`);
  const refused = { status: 403, socket: 'closed' };
  for (const query of ['', '?token=', '?token=wrong']) {
    expect(await answersTo(page, query), query).toEqual(refused);
  }
  await page.goto(`${origin}/lab`);
  await page.getByLabel(/token/).first().fill('wrong');
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await expect(page.getByText('Invalid credentials')).toBeVisible();
  expect(await answersTo(page, '')).toEqual(refused);
});

test('panels fill for who has signed in', async () => {
  north = await guest.tab('north');
  const { page } = north;
  await page.goto(`${guest.origin}/lab/workspaces/north?reset`);
  await guest.signIn(page);
  await page.waitForURL(/\/lab\/workspaces\/north/);
  expect(await answersTo(page, '')).toEqual({ status: 200, socket: 'open' });
  await test.step('whose cookie alone changes nothing', async () => {
    const forged = await page.request.put(
      `${guest.origin}/api/contents/forged`,
      { data: { type: 'directory' } }
    );
    expect(forged.status()).toBe(403);
  });
  const notebook = north.notebook(NOTEBOOK);
  await notebook.write([START, COUNTED]);
  await north.goto(NOTEBOOK);
  await notebook.ready();
  await notebook.run(0);
  await notebook.start(1);
  await notebook.openPanels(0);
  await expectFilled(north);
});

test('two tabs watch one cluster, each with its own spans', async () => {
  south = await guest.tab('south');
  await south.goto(NOTEBOOK);
  await openPanels(south);
  await north.sidebar.show();
  await north.sidebar.pick('harvest');
  await south.sidebar.pick('cider');
  await expectOwnSpans();
  await test.step('both live', async () => {
    const before = [await tasksIn(north), await tasksIn(south)];
    await expect.poll(() => tasksIn(north)).toBeGreaterThan(before[0] ?? NaN);
    await expect.poll(() => tasksIn(south)).toBeGreaterThan(before[1] ?? NaN);
    await expectOwnSpans();
  });
  await test.step('and after a reload', async () => {
    await expect.poll(() => south.savedWorkspace()).toContain('cider');
    await south.reload();
    await expectOwnSpans();
    expect(await north.savedWorkspace()).not.toContain('"cider"');
  });
});

test('panels outlive their observer, with every row', async () => {
  writeFileSync(path.join(notebookFolder('guarded'), ENOUGH), '');
  const notebook = north.notebook(NOTEBOOK);
  await notebook.finished(1);
  rounds = Number(await notebook.output(1));
  expect(rounds).toBeGreaterThan(0);
  await expect.poll(() => tasksIn(north)).toBe(rounds * PICKS);
  await expect.poll(() => tasksIn(south)).toBe(rounds * PRESSES);

  const killed = observerId();
  const said = [
    await sentencesFrom(north.page),
    await sentencesFrom(south.page)
  ];
  process.kill(killed, 'SIGKILL');
  for (const [index, tab] of [north, south].entries()) {
    for (const { region, title } of tab.panels(CLUSTER)) {
      // Before and after the page hears from the server that there is no observer.
      await expect
        .poll(() => said[index]?.())
        .toMatch(
          new RegExp(`^${title}.*: (Reconnecting|The observer stopped)`, 'm')
        );
      await expect(region).not.toContainText('The observer stopped');
      await expect(region).not.toContainText('Reconnecting');
      await expect(region).not.toContainText('No cluster');
    }
  }
  expect(observerId()).not.toBe(killed);
  await expectOwnSpans();
  await test.step('the new one answers, and knows what ran before it', async () => {
    // (block by block)
    await expect.poll(() => tasksIn(north)).toBe(rounds * PICKS);
    await expect.poll(() => tasksIn(south)).toBe(rounds * PRESSES);
    await north.sidebar.clearFilter();
    await south.sidebar.clearFilter();
    const tasks = rounds * (PICKS + PRESSES);
    for (const tab of [north, south]) {
      await expect.poll(() => tasksIn(tab)).toBe(tasks);
      await expect(
        tab
          .panel('Task Stream', CLUSTER)
          .region.locator('.sw-TaskStream-summary')
      ).toContainText(`${tasks.toLocaleString('en-US')} task runs`);
      await tab.panel('Fine Performance Metrics', CLUSTER).showTable(false);
      await expectFilled(tab);
    }
  });
  // Nobody looks at its panels any more.
  await south.page.close();
});

test('on a slow link panels say that they load, and fill', async ({
  browser
}) => {
  const proxy = await SlowProxy.before(guest.origin);
  const traveller = await Guest.enter(browser, proxy.origin);
  try {
    const tab = await traveller.tab('train');
    const link = await observerLink(tab.page);
    await tab.page.goto(tab.addressOf(NOTEBOOK));
    await traveller.signIn(tab.page);
    await untilReady(tab);
    const said = await sentencesFrom(tab.page);
    const silences = await silencesFrom(tab.page);
    proxy.setSlow(true);
    link.hold();
    await tab.sidebar.openDefaultLayout();
    for (const title of TITLES) {
      const sentence = `${title}, ${CLUSTER}: Loading the figures of ${CLUSTER}…`;
      await expect.poll(said).toContain(sentence);
    }
    const releaseScripts = await holdScripts(tab.page);
    link.release();
    await expect.poll(said).toContain('Loading the chart…');
    releaseScripts();
    await expectFilled(tab);
    expect(await said()).not.toContain('No cluster');
    link.hold();
    await tab.sidebar.pick('cider');
    await expect.poll(said).toContain('Loading the new figures…');
    link.release();
    const functions = tab
      .panel('Fine Performance Metrics', CLUSTER)
      .region.getByRole('list', { name: 'By function' });
    await expect(functions).not.toContainText('pick');
    for (const { region } of tab.panels(CLUSTER)) {
      await expect(region.locator('.sw-loading')).toHaveCount(0);
    }
    expect(await silences()).toEqual([]);
    expect(traveller.elsewhere).toEqual([]);
    expect(tab.troubles.errors).toEqual([]);
  } finally {
    await traveller.context.close();
    proxy.close();
  }
});

test('no page has asked anybody else for anything', async () => {
  expect(guest.asked).toEqual(
    expect.arrayContaining(['/spanwise/ws', '/spanwise/status'])
  );
  expect(guest.elsewhere).toEqual([]);
  for (const tab of [north, south]) {
    expect(tab.troubles.errors.filter(isNoConsequence)).toEqual([]);
  }
  await north.notebook(NOTEBOOK).shutDown();
});

/** The killed observer closes the pages' sockets, and a browser complains of each that fails. */
function isNoConsequence(error: string): boolean {
  return !/WebSocket connection to .*spanwise\/ws/.test(error);
}

/** What Spanwise's two doors answer to a page: the status of the one, whether the other opens. */
async function answersTo(
  page: Page,
  query: string
): Promise<{ status: number; socket: string }> {
  return page.evaluate(async search => {
    const { status } = await fetch(`/spanwise/status${search}`);
    const socket = new WebSocket(
      `ws://${window.location.host}/spanwise/ws${search}`
    );
    const end = await new Promise<string>(resolve => {
      socket.onopen = () => resolve('open');
      socket.onclose = () => resolve('closed');
    });
    socket.close();
    return { status, socket: end };
  }, query);
}

/** The default layout, in a tab whose notebook may be busy. */
async function openPanels(tab: Tab): Promise<void> {
  await untilReady(tab);
  await tab.sidebar.openDefaultLayout();
  await expectFilled(tab);
}

/** A notebook that opens later covers the panel that the layout puts below it. */
async function untilReady(tab: Tab): Promise<void> {
  await tab.sidebar.show();
  await expect(tab.sidebar.card(CLUSTER)).toBeVisible();
  await expect(tab.page.locator('.jp-NotebookPanel')).toBeVisible();
}

/** Each panel draws something that it can only draw of tasks. */
async function expectFilled(tab: Tab): Promise<void> {
  const [stream, metrics, profile, memory] = tab.panels(CLUSTER);
  await expect(
    stream.region.getByRole('list', { name: 'Legend' })
  ).toContainText('press');
  await stream.expectBoxes();
  await expect(
    metrics.region.getByRole('list', { name: 'By function' })
  ).toContainText('press');
  await profile.expectBoxes();
  await expect(
    memory.region.locator('.scatterlayer path.js-line').first()
  ).toHaveAttribute('d', /L/);
}

/** North sees `harvest` and no `press`, south `cider` and no `pick`. */
async function expectOwnSpans(): Promise<void> {
  for (const [tab, span, own, other] of [
    [north, 'harvest', 'pick', 'press'],
    [south, 'cider', 'press', 'pick']
  ] as const) {
    for (const panel of tab.panels(CLUSTER)) {
      await expect(panel.chips.getByRole('listitem')).toHaveText(
        new RegExp(`any\\s*Alice's workflow › ${span}`)
      );
    }
    const metrics = tab.panel('Fine Performance Metrics', CLUSTER);
    await metrics.showTable(true);
    await expect(metrics.table).toContainText(own);
    await expect(metrics.table).not.toContainText(other);
  }
}

/** Executions in the table of Fine Performance Metrics. */
async function tasksIn(tab: Tab): Promise<number> {
  const metrics = tab.panel('Fine Performance Metrics', CLUSTER);
  await metrics.showTable(true);
  return (await sumsIn(metrics)).executions;
}

/** The process below the server that is guarded. */
function observerId(): number {
  const folder = runtimeFolder('guarded');
  const [file = ''] = readdirSync(folder).filter(name =>
    /^spanwise-.*\.json$/.test(name)
  );
  const { pid } = JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as {
    pid: number;
  };
  const { stdout } = spawnSync(
    'ps',
    ['-o', 'pid=,args=', '--ppid', String(pid)],
    { encoding: 'utf8' }
  );
  const [line = ''] = stdout
    .split('\n')
    .filter(each => each.includes('spanwise.cjs observer'));
  expect(line, stdout).not.toBe('');
  return parseInt(line, 10);
}

/**
 * Panels that showed from now on neither a chart nor a word for longer than 0.4 s, after which they say that they load. On a busy machine the
 * page may be late: that time begins, and is over, when the page has drawn three times and done what it had to do then.
 */
async function silencesFrom(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const record = { silent: [] as string[] };
    Object.assign(window, { record });
    const isSilent = (panel: Element) => {
      const body = panel.querySelector('.sw-panel-body') as HTMLElement;
      const chart = body.querySelector('.sw-plotly');
      return (
        panel.querySelector('.sw-loading') === null &&
        (body.innerText.trim() === '' || chart?.childElementCount === 0)
      );
    };
    /** Frames, each with all that the page had to do when it was drawn. */
    const frames = async (count: number) => {
      for (let index = 0; index < count; index += 1) {
        await new Promise(resolve => requestAnimationFrame(resolve));
        await new Promise<unknown>(resolve => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = resolve;
          port2.postMessage(null);
        });
      }
    };
    /** By panel, its silence. */
    const silences = new Map<Element, object>();
    const listen = async (panel: Element) => {
      const silence = {};
      silences.set(panel, silence);
      await frames(3);
      await new Promise(resolve => setTimeout(resolve, 400));
      await frames(3);
      if (
        silences.get(panel) === silence &&
        panel.isConnected &&
        isSilent(panel)
      ) {
        record.silent.push(panel.getAttribute('aria-label') ?? '');
      }
    };
    const look = () => {
      for (const panel of document.querySelectorAll('.sw-panel')) {
        if (!isSilent(panel)) {
          silences.delete(panel);
        } else if (!silences.has(panel)) {
          void listen(panel);
        }
      }
      requestAnimationFrame(look);
    };
    look();
  });
  return () =>
    page.evaluate(
      () =>
        (window as unknown as { record: { silent: string[] } }).record.silent
    );
}
