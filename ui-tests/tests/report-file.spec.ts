/** The HTML file of `performance_report`, as Python writes it, opened from the disk by a browser without network: its picture of tasks. */
import { expect, type Page, test } from '@playwright/test';
import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { setting } from '../servers';
import { EVIL, SHOWN } from '../pages/hostile-text';
import { openOffline, type PageRecord } from '../pages/offline-file';
import { takePicture } from '../pages/pictures';

/** A hundred tasks of 10 ms on two threads, one after another; the first reads from a disk too. */
const WRITE = `import sys
from spanwise.observed.page_file import Page
from spanwise.observed.report_page import spans, summary, system, task_stream
from spanwise.observed.system import FIGURES
evil = sys.argv[2]
def part(n, action, seconds):
    start = 1000 + n // 2 * 0.01
    return {"action": action, "start": start, "stop": start + seconds, "function": evil, "held": action == "compute"}
records = [
    {"key": f"{evil}-{n}", "name": evil, "worker_name": "worker-0", "lane": n % 2, "beside": None, "status": "OK" if n else "error",
     "startstops": [part(n, "compute", 0.01)] + ([] if n else [part(n, "disk-read", 0.005)])}
    for n in range(100)
]
def process(cpu):
    told = {name: [0.0, 2.0**20, None] for name in FIGURES}
    return {**told, "time": [1000.1, 1000.3, 1000.5], "seconds": [0.2] * 3, "cpu": [0.0, cpu, cpu]}
processes = system({"scheduler": process(5), evil: process(80)}, 1000, 0.5, {})
sections = [*summary(0.5, records, []), task_stream(records, 1000, 0.5, {evil: (2, 0)}), spans([], 0, 1), *processes]
Page({"title": "Report", "facts": [], "sections": sections}).save(sys.argv[1])`;

let file: string;

test.beforeAll(({}, info) => {
  file = info.outputPath('report.html');
  execFileSync(setting('SPANWISE_TEST_PYTHON'), ['-c', WRITE, file, EVIL], {
    cwd: setting('SPANWISE_BROWSER_FOLDER'),
    timeout: 300_000
  });
});

async function openFile(page: Page): Promise<PageRecord> {
  const record = await openOffline(page, file);
  await expect(page.locator('#page')).toHaveAttribute('data-shown', '4');
  return record;
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`draws tasks, tells of one, and looks closer, in the ${colorScheme}`, async ({
    page
  }, info) => {
    await page.emulateMedia({ colorScheme });
    const record = await openFile(page);
    const lanes = page.locator('canvas.lanes');
    await expect(lanes).toHaveAttribute('data-drawn', '101');
    const { width } = (await lanes.boundingBox())!;
    // The lower lane's last task.
    await lanes.hover({ position: { x: width - 3, y: 45 } });
    const stream = page.locator('section').nth(1);
    await expect(stream).toContainText(
      `${SHOWN}-99 · ${SHOWN} · where worker 0, thread 2 · ran 0.490\u00a0s – 0.500\u00a0s · duration 10.0\u00a0ms`
    );
    await lanes.dragTo(lanes, {
      sourcePosition: { x: 150 + (width - 150) / 2, y: 30 },
      targetPosition: { x: width - 1, y: 30 }
    });
    await expect(lanes).not.toHaveAttribute('data-drawn', '101');
    await page.getByRole('button', { name: 'Show all' }).click();
    await expect(lanes).toHaveAttribute('data-drawn', '101');
    await page.getByText('All parts as a table').click();
    await expect(stream.locator('tbody tr')).toHaveCount(101);
    await expect(page.locator('section').nth(2)).toContainText(
      'No data: no task ended in this time.'
    );
    const figures = page.locator('section').nth(3);
    const cpu = figures.getByRole('img', { name: 'CPU, at most 80.0\u00a0%' });
    await expect(cpu.locator('path.curve')).toHaveCount(2);
    for (const ticks of await figures.locator('.ticks').all()) {
      expect(await ticks.evaluate(cutWords)).toEqual([]);
    }
    await cpu.hover({ position: { x: width - 3, y: 20 } });
    await expect(figures.locator('output').first()).toContainText(
      `${SHOWN} 80.0\u00a0% · scheduler 5.00\u00a0%`
    );
    await figures.getByText('All points as a table').click();
    await expect(
      figures
        .getByRole('table', { name: 'System: all points' })
        .locator('tbody tr')
    ).toHaveCount(2 * 3 * 9);
    expect(record).toEqual({
      messages: [],
      requests: [pathToFileURL(file).href]
    });
    await takePicture(page, info.outputPath(`${colorScheme}.png`), {
      fullPage: true
    });
  });
}

/** Those that are not in their line from end to end. */
function cutWords(line: Element): (string | null)[] {
  const whole = line.getBoundingClientRect();
  return [...line.children]
    .filter(word => {
      const { left, right } = word.getBoundingClientRect();
      return left < whole.left || right > whole.right;
    })
    .map(word => word.textContent);
}
