/** The HTML file of `client.profile`, as Python writes it, opened from the disk by a browser without network. No JupyterLab takes part. */
import { expect, type Page, test } from '@playwright/test';
import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { setting } from '../servers';
import { EVIL, SHOWN } from '../pages/hostile-text';
import { openOffline, type PageRecord } from '../pages/offline-file';
import { takePicture } from '../pages/pictures';

/** parent, name, file, samples, of them waiting, GIL, blocked. */
const NODES = [
  [-1, 'all', '', 1000, 100, 50, 200],
  [0, 'load', '/home/a/io.py', 600, 0, 0, 200],
  [1, 'read', '/home/a/io.py', 450, 0, 0, 150],
  [0, EVIL, `/home/a/${EVIL}.py`, 400, 100, 50, 0],
  [3, 'small', '/home/a/io.py', 1, 0, 0, 0]
] as const;

function content() {
  const column = (place: number) => NODES.map(node => node[place]);
  const zeros = NODES.map(() => 0);
  return {
    title: `Profile ${EVIL}`,
    facts: [
      ['Of', EVIL],
      ['Key', 'load']
    ],
    sections: [
      {
        kind: 'profile',
        title: 'Functions of tasks',
        missing: '',
        result: {
          view: 'profile',
          samples: 1000,
          rateHz: 100,
          nodes: {
            parent: column(0),
            name: column(1),
            file: column(2),
            line: zeros.map((_, index) => index + 1),
            n: column(3),
            onCore: NODES.map(([, , , n, ...off]) =>
              off.reduce((rest: number, each) => rest - each, n)
            ),
            waiting: column(4),
            gil: column(5),
            blocked: column(6),
            slot: [-1, 0, 0, 1, 0]
          },
          dropped: 0,
          activity: {
            seconds: [0],
            onCore: [650],
            waiting: [100],
            gil: [50],
            blocked: [200]
          }
        }
      },
      {
        kind: 'profile',
        title: 'Nothing',
        missing: `nobody asked for ${EVIL}`
      },
      {
        kind: 'table',
        title: 'A table',
        note: EVIL,
        columns: [{ name: 'Name' }, { name: 'Bytes', numeric: true }],
        rows: [
          [
            { text: EVIL, value: EVIL },
            { text: '1.00 KiB', value: 1024 }
          ]
        ]
      },
      { kind: 'text', title: 'Code', text: `x = 1\n${EVIL}` }
    ]
  };
}

const WRITE = `import json, sys
from spanwise.observed.page_file import Page
Page(json.load(sys.stdin)).save(sys.argv[1])`;

let file: string;

test.beforeAll(({}, info) => {
  file = info.outputPath('profile.html');
  execFileSync(setting('SPANWISE_TEST_PYTHON'), ['-c', WRITE, file], {
    input: JSON.stringify(content()),
    cwd: setting('SPANWISE_BROWSER_FOLDER'),
    timeout: 300_000
  });
});

async function openFile(page: Page): Promise<PageRecord> {
  const record = await openOffline(page, file);
  await expect(page.locator('#page')).toHaveAttribute('data-shown', '4');
  return record;
}

function frame(page: Page, node: number) {
  return page.locator(`.frame[data-node="${node}"]`);
}

/** Left and right end of a frame, as shares of the icicle's width. */
async function ends(page: Page, node: number): Promise<[number, number]> {
  // In one turn of the page: it draws its frames anew when its size is known.
  return page.locator('.icicle').evaluate((icicle, of) => {
    const whole = icicle.getBoundingClientRect();
    const box = icicle
      .querySelector(`[data-node="${of}"]`)!
      .getBoundingClientRect();
    return [
      (box.left - whole.left) / whole.width,
      (box.right - whole.left) / whole.width
    ];
  }, node);
}

test('shows frames, figures and texts, and neither asks nor says anything', async ({
  page
}, info) => {
  const record = await openFile(page);
  expect(await page.title()).toBe(`Profile ${SHOWN}`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(
    `Profile ${SHOWN}`
  );
  await expect(page.locator('.about')).toContainText(`Of: ${SHOWN}`);
  await expect(page.locator('#section-0')).toHaveText('Functions of tasks');
  await expect(page.locator('section').first()).toContainText(
    '1,000 samples · one per 10.0 ms per thread'
  );
  for (const [node, from, to] of [
    [0, 0, 1],
    [1, 0, 0.6],
    [2, 0, 0.45],
    [3, 0.6, 1]
  ] as const) {
    const [left, right] = await ends(page, node);
    expect(left).toBeCloseTo(from, 2);
    expect(right).toBeCloseTo(to, 2);
  }
  await expect(frame(page, 3)).toContainText(SHOWN);

  const sections = page.locator('section');
  await expect(sections.nth(1)).toContainText(
    `No data: nobody asked for ${SHOWN}.`
  );
  await expect(sections.nth(2)).toContainText(SHOWN);
  await expect(
    sections.nth(2).getByRole('cell', { name: '1.00 KiB' })
  ).toHaveAttribute('data-value', '1024');
  expect(await sections.nth(3).locator('pre').textContent()).toBe(
    `x = 1\n${SHOWN}`
  );

  // The table has each frame's samples, exactly.
  await page.getByText('All frames as a table').click();
  const rows = sections.first().locator('tbody tr');
  await expect(rows).toHaveCount(NODES.length);
  for (const [index, [, name, , samples]] of NODES.entries()) {
    const cells = rows.nth(index).locator('td');
    await expect(cells.nth(0)).toHaveText(
      index === 0 ? 'all functions' : name === EVIL ? SHOWN : name
    );
    await expect(cells.nth(2)).toHaveAttribute('data-value', String(samples));
  }
  expect(record.messages).toEqual([]);
  expect(record.requests).toEqual([pathToFileURL(file).href]);
  await takePicture(page, info.outputPath('light.png'), { fullPage: true });
});

test('zooms, searches, and tells a frame’s figures', async ({ page }) => {
  const record = await openFile(page);
  const facts = page.locator('.facts');
  await frame(page, 3).click();
  await expect(facts).toContainText('4.00 s, 40 %');
  await expect(frame(page, 1)).toHaveCount(0);
  const [left, right] = await ends(page, 3);
  expect([left, right].map(Math.round)).toEqual([0, 1]);
  await page.getByRole('button', { name: 'Show all' }).click();
  await expect(frame(page, 1)).toBeVisible();

  // By keys: down to what is called, beside it, back up.
  await page.locator('.icicle').focus();
  for (const key of ['ArrowUp', 'ArrowDown', 'ArrowDown']) {
    await page.keyboard.press(key);
  }
  await expect(facts).toContainText('read');
  await expect(facts).toContainText('4.50 s, 45 %');
  await page.keyboard.press('Enter');
  await expect(frame(page, 3)).toHaveCount(0);
  await page.keyboard.press('Escape');
  await expect(frame(page, 3)).toBeVisible();

  await page.getByRole('searchbox').fill('READ');
  await expect(page.locator('.tools output')).toContainText('1 frame');
  await expect(page.locator('.frame.found')).toHaveAttribute('data-node', '2');
  expect(record.messages).toEqual([]);
});

test('follows the colours of the system', async ({ page }, info) => {
  await page.emulateMedia({ colorScheme: 'dark' });
  const record = await openFile(page);
  const body = page.locator('body');
  await expect(body).toHaveCSS('background-color', 'rgb(30, 30, 30)');
  await expect(body).toHaveCSS('color', 'rgb(224, 224, 224)');
  await takePicture(page, info.outputPath('dark.png'), { fullPage: true });
  await page.emulateMedia({ colorScheme: 'light' });
  await expect(body).toHaveCSS('background-color', 'rgb(255, 255, 255)');
  expect(record.messages).toEqual([]);
});
