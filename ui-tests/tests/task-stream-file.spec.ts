/** The HTML file of `get_task_stream`, as Python writes it, opened from the disk by a browser without network: its figures are the records'. */
import { expect, test } from '@playwright/test';
import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { EVIL, SHOWN } from '../pages/hostile-text';
import { openOffline } from '../pages/offline-file';
import { takePicture } from '../pages/pictures';
import { setting } from '../servers';

/** Numbers that a double holds exactly, on the clock of the wall too. */
const BEGIN = 1_750_000_000;

type Part = {
  readonly action: string;
  readonly start: number;
  readonly stop: number;
  readonly function: string;
  readonly held: boolean;
};

/** Pixels of the names of threads. */
const LABELS = 150;

/** Where a page's word is not the log's. */
const WORDS: Readonly<Record<string, string>> = {
  'disk-read': 'read from disk'
};

/** Twelve tasks on three lanes; of three one fetches first, while its thread does other work, one reads from a disk, and one was lost without a run. */
const RECORDS = [
  ...Array.from({ length: 12 }, (_, n) => {
    const start = BEGIN + Math.floor(n / 3) / 8;
    const compute: Part = {
      action: 'compute',
      start,
      stop: start + 1 / 16,
      function: n % 2 ? EVIL : 'load',
      held: true
    };
    const fetch: Part = {
      ...compute,
      action: 'transfer',
      start: start - 1 / 64,
      stop: start,
      held: false
    };
    const read: Part = {
      ...compute,
      action: 'disk-read',
      start: start - 1 / 128,
      stop: start
    };
    return {
      key: `${EVIL}-${n}`,
      name: compute.function,
      worker_name: `worker-${n % 3}`,
      lane: 0,
      beside: null,
      status: n === 11 ? 'error' : n === 10 ? 'cancelled' : 'OK',
      startstops: [[fetch, compute], [read, compute], [compute]][n % 3]!
    };
  }),
  {
    key: 'gone',
    name: 'gone',
    worker_name: null,
    lane: null,
    beside: null,
    status: 'lost',
    startstops: [
      {
        action: 'compute',
        start: BEGIN - 9,
        stop: BEGIN - 9,
        function: 'gone',
        held: true
      }
    ]
  }
];
const PARTS = RECORDS.filter(({ lane }) => lane !== null).flatMap(
  ({ startstops }) => startstops
);

const WRITE = `import json, sys
from spanwise.observed.task_stream_page import task_stream_page
records = json.load(sys.stdin)
task_stream_page(records, sys.argv[2], {"load": (0, 0), sys.argv[2]: (3, 0)}).save(sys.argv[1])`;

let file: string;

test.beforeAll(({}, info) => {
  file = info.outputPath('task-stream.html');
  execFileSync(setting('SPANWISE_TEST_PYTHON'), ['-c', WRITE, file, EVIL], {
    input: JSON.stringify(RECORDS),
    cwd: setting('SPANWISE_BROWSER_FOLDER'),
    timeout: 300_000
  });
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`has the figures of the records, in the ${colorScheme}`, async ({
    page
  }, info) => {
    await page.emulateMedia({ colorScheme });
    const record = await openOffline(page, file);
    await expect(page.locator('#page')).toHaveAttribute('data-shown', '2');
    await expect(page.locator('.about')).toContainText(`Of: ${SHOWN}`);
    const [stream, sums] = [0, 1].map(n => page.locator('section').nth(n));
    await expect(stream!.locator('canvas.lanes')).toHaveAttribute(
      'data-drawn',
      String(PARTS.length)
    );
    await expect(stream!).toContainText(
      'Not drawn: tasks that were lost without a run (1).'
    );

    await page.getByText('All parts as a table').click();
    const heads = await stream!.locator('th').allTextContents();
    const begin = Math.min(...PARTS.map(({ start }) => start));
    const shown = await stream!.locator('tbody tr').evaluateAll(rows =>
      rows.map(row =>
        Array.from(row.children, cell => ({
          text: cell.textContent,
          value: Number((cell as HTMLElement).dataset['value'])
        }))
      )
    );
    expect(shown).toHaveLength(PARTS.length);
    for (const [index, part] of PARTS.entries()) {
      const cells = new Map(
        heads.map((head, place) => [head, shown[index]![place]!])
      );
      expect(cells.get('Action')!.text).toBe(WORDS[part.action] ?? part.action);
      expect(cells.get('How')!.text).toBe(
        part.held ? 'held the thread' : 'in the background'
      );
      expect(cells.get('Thread')!.text).toMatch(/^worker \d, thread 1$/);
      expect(cells.get('From')!.value).toBeCloseTo(part.start - begin, 6);
      expect(cells.get('Took')!.value).toBeCloseTo(part.stop - part.start, 8);
    }
    for (const [fact, value] of [
      ['Duration', 3 / 8 + 1 / 16 + 1 / 64],
      ['Task runs', 13],
      ['compute, all parts', 12 / 16],
      ['transfer, all parts', 4 / 64],
      ['read from disk, all parts', 4 / 128],
      ['Failed task runs', 1],
      ['Cancelled task runs', 1],
      ['Lost task runs', 1]
    ] as const) {
      await expect(
        sums!
          .getByRole('row', { name: new RegExp(`^${fact} [\\d–]`) })
          .locator('[data-value]')
      ).toHaveAttribute('data-value', String(value));
    }
    expect(record).toEqual({
      messages: [],
      requests: [pathToFileURL(file).href]
    });
    await takePicture(page, info.outputPath(`${colorScheme}.png`), {
      fullPage: true
    });
  });
}

test('marks what failed at once, and says what it was', async ({
  page
}, info) => {
  const count = 5000;
  const failed = [1250, 4000, 4001];
  const short = info.outputPath('short.html');
  const records = Array.from({ length: count }, (_, n) => {
    const start = BEGIN + n / 512;
    const isFailed = failed.includes(n);
    const stop = start + (isFailed ? 2 ** -20 : 2 ** -10);
    return {
      key: `task-${n}`,
      name: 'load',
      worker_name: 'worker-0',
      lane: 0,
      beside: null,
      status: isFailed ? 'error' : 'OK',
      startstops: [
        { action: 'compute', start, stop, function: 'load', held: true }
      ]
    };
  });
  execFileSync(setting('SPANWISE_TEST_PYTHON'), ['-c', WRITE, short, ''], {
    input: JSON.stringify(records),
    cwd: setting('SPANWISE_BROWSER_FOLDER'),
    timeout: 300_000
  });
  await openOffline(page, short);
  const lanes = page.locator('canvas.lanes');
  await expect(lanes).toHaveAttribute('data-drawn', /^\d+$/);
  const box = (await lanes.boundingBox())!;
  const said = page.locator('.tools .note');
  const point = async (task: number, beside: number) => {
    const width = box.width - LABELS;
    const whole = (count - 1) / 512 + 2 ** -10;
    const x = LABELS + (task / 512 / whole) * width + beside;
    await page.mouse.move(box.x + x, box.y + 30);
  };
  await point(1250, 2);
  await expect(said).toContainText('task-1250');
  await expect(said).toContainText('failed');
  await point(1250, 12);
  await expect(said).not.toContainText('failed');
  await point(4000, 2);
  await expect(said).toContainText('2 failed or lost runs here');
  await takePicture(page, info.outputPath('short.png'), { fullPage: true });
});
