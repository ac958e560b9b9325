/** Node programs beside JupyterLab: what the panels show of `observe(body)` of the npm package against the records of its `Profiler`. */
import type { TestInfo } from '@playwright/test';
import { expect, type Lab, test } from '../pages/lab';
import { NodeProgram } from '../pages/node-program';
import type { Panel } from '../pages/panel';
import { takePicture, takesPictures } from '../pages/pictures';
import {
  comparePlaces,
  compareTimes,
  expectKeys,
  keysOf,
  type Profiled,
  tasksIn
} from './profiled-tasks';
import { resolutionOf, secondsOf } from './shown-figures';
import { sumsIn } from './shown-sums';

/** With how its lanes are called. */
const WORKERS: Readonly<Record<string, RegExp>> = {
  sync: /^this process$/,
  async: /^this process$/,
  threads: /^this process$/,
  processes: /^process [12]$/
};
const SCHEDULERS = Object.keys(WORKERS);
/** The graph for each scheduler: four tasks read, one puts together, one holds. */
const TASKS_EACH = 6;

type ProgramRecord = Profiled & { readonly function: string };

let program: NodeProgram;
test.afterEach(() => program.stop());

function programOf(name: string, info: TestInfo, schedulers = SCHEDULERS) {
  return new NodeProgram(name, info.outputPath('program'), schedulers);
}

/** Its cluster is shown, and the four panels are laid out. */
async function openPanels(lab: Lab, name: string): Promise<void> {
  await expect(lab.sidebar.card(name)).toContainText('observing', {
    timeout: 120_000
  });
  await expect(lab.sidebar.card(name)).toContainText('local schedulers');
  await lab.sidebar.root
    .getByRole('button', { name: 'Default layout' })
    .click();
  for (const panel of lab.panels(name)) {
    await expect(panel.region).toBeVisible();
  }
}

async function takePictures(
  lab: Lab,
  info: TestInfo,
  name: string
): Promise<void> {
  if (!takesPictures) {
    return;
  }
  for (const theme of ['Light', 'Dark'] as const) {
    await lab.setTheme(`JupyterLab ${theme}`);
    await expect(lab.page.locator('body')).toHaveAttribute(
      'data-sw-shade',
      theme.toLowerCase()
    );
    const file = `${name}-${theme.toLowerCase()}.png`;
    await takePicture(lab.page, info.outputPath(file));
  }
}

function countOf(functions: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of functions) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** By function the tasks of the profiler, and the seconds of the Task Stream's rows. */
async function expectSums(
  metrics: Panel,
  stream: Panel,
  records: readonly ProgramRecord[]
): Promise<void> {
  await metrics.showTable(true);
  const functions = new Map(records.map(each => [each.key, each.function]));
  const seconds = new Map<string, { sum: number; rounding: number }>();
  for (const { key, duration } of await tasksIn(stream)) {
    const name = functions.get(key)!;
    const { sum, rounding } = seconds.get(name) ?? { sum: 0, rounding: 0 };
    seconds.set(name, {
      sum: sum + secondsOf(duration),
      rounding: rounding + resolutionOf(duration) / 2
    });
  }
  await expect(async () => {
    const { totals, counts } = await sumsIn(metrics);
    expect(counts).toEqual(countOf(records.map(each => each.function)));
    for (const [name, shown] of totals) {
      const { sum, rounding } = seconds.get(name)!;
      expect(
        Math.abs(secondsOf(shown) - sum),
        `${name}: ${shown}, ${sum}`
      ).toBeLessThan(rounding + resolutionOf(shown));
    }
  }).toPass({ timeout: 90_000 });
}

test('a program, live and afterwards', async ({ lab }, info) => {
  const name = 'node program';
  program = programOf(name, info);
  const [stream, metrics, profile, memory] = lab.panels(name);
  const legend = stream.region.getByRole('list', { name: 'Legend' });
  // A notebook without a cluster is open, and takes no part.
  await lab.open('beside.ipynb', ['1 + 1']);
  await lab.sidebar.show();
  program.start();
  await openPanels(lab, name);

  for (const scheduler of SCHEDULERS) {
    await test.step(`${scheduler}: a task that runs is seen`, async () => {
      // Then it is not the last one of the scheduler before.
      await expect(legend).toContainText(`reading-${scheduler}`);
      await expect(stream.region).toContainText('1 running');
      await expect(lab.sidebar.card(name)).toContainText('1 running');
      await expect(metrics.region).toContainText('still running');
      for (const tag of ['load', 'analysis']) {
        await expect(lab.sidebar.span(tag)).toBeVisible();
      }
      if (scheduler === 'threads') {
        await takePictures(lab, info, 'live');
      }
      program.enough(scheduler);
      await expect(legend).toContainText(`holding-${scheduler}`);
    });
  }

  expect(await program.ended(), program.complaints).toBe(0);
  expect(program.complaints).toBe('');
  const records = JSON.parse(program.output) as ProgramRecord[];
  expect(records).toHaveLength(SCHEDULERS.length * TASKS_EACH);

  await test.step('it has ended, and everything is there', async () => {
    for (const panel of lab.panels(name)) {
      await expect(panel.region).toContainText(
        /Ended at .*: observing has ended\. The history is kept\./
      );
      await expect(panel.tab).toContainText('(ended)');
    }
    await expect(lab.sidebar.card(name)).not.toContainText('running');
    await expect(stream.region).toContainText(
      `${records.length} task runs in `
    );
    await takePictures(lab, info, 'ended');
  });

  await test.step('Task Stream: the tasks of the profiler, at their times', async () => {
    await expectKeys(stream, keysOf(records));
    const rows = await tasksIn(stream);
    compareTimes(rows, records);
    comparePlaces(rows, records);
    // Two promises at a time.
    const promises = rows.filter(({ key }) => key.includes('async'));
    expect(new Set(promises.map(({ place }) => place))).toEqual(
      new Set(['this process, 1', 'this process, overlapping 1'])
    );
    for (const { key, worker } of rows) {
      const scheduler = /-(\w+)/.exec(key)?.[1] ?? '';
      expect(worker, key).toMatch(WORKERS[scheduler]!);
    }
  });

  await test.step('names of lanes are whole, in one line', async () => {
    const names = stream.region.locator('.sw-TaskStream-laneName');
    await stream.showTable(false);
    for (const width of [900, 400]) {
      await stream.inSize({ width }, async () => {
        await expect(names.filter({ hasText: 'overlapping 1' })).toHaveCount(1);
        await expect
          .poll(() => names.evaluateAll(cutOrBroken), {
            message: `in a panel of ${width} pixels`
          })
          .toEqual([]);
      });
    }
    await stream.showTable(true);
  });

  await test.step('low lanes end where the chart does', async () => {
    const lanes = stream.region.locator('.sw-TaskStream-lanes');
    await stream.showTable(false);
    await stream.inSize({ width: 900, height: 200 }, async () => {
      await expect(
        lanes.locator('.sw-TaskStream-loneLane[data-lines="1"]')
      ).toHaveCount(2);
      await expect.poll(() => lanes.evaluate(beyondLanes)).toBe(0);
    });
    await stream.showTable(true);
  });

  await test.step('Fine Performance Metrics: the same tasks and seconds', async () => {
    await expectSums(metrics, stream, records);
  });

  await test.step('Profile: why there is nothing', async () => {
    await expect(profile.region).toContainText('This source gives no samples.');
    await expect(profile.region).toContainText('Node');
  });

  await test.step('Memory Sampler: each process, and why no managed memory', async () => {
    await expectMemory(memory);
  });

  await test.step('the span narrows all', async () => {
    await lab.sidebar.pick('analysis');
    const inAnalysis = records.filter(
      each => !each.function.startsWith('read')
    );
    expect(inAnalysis).toHaveLength(2 * SCHEDULERS.length);
    await expectKeys(stream, keysOf(inAnalysis));
    await expectSums(metrics, stream, inAnalysis);
    await expect(memory.region.getByText('not filtered')).toBeVisible();
  });

  await test.step('a reload changes nothing', async () => {
    await lab.reloadOnceSaved('analysis');
    await expect(stream.tab).toContainText('(ended)');
    await lab.sidebar.clearFilter();
    await expectKeys(stream, keysOf(records));
    await expectSums(metrics, stream, records);
    await expectMemory(memory);
  });

  expect(lab.troubles.errors).toEqual([]);
});

async function expectMemory(memory: Panel): Promise<void> {
  await memory.showTable(false);
  const measure = memory.region.getByRole('combobox', {
    name: 'Memory measure'
  });
  await measure.selectOption('Managed');
  await expect(memory.region).toContainText(
    'This source gives no managed memory.'
  );
  await measure.selectOption('Process');
  await memory.showWorkers();
  await memory.showTable(true);
  await expect(async () => {
    const [header = [], ...rows] = await memory.rows();
    expect(rows.map(([name]) => name).sort()).toEqual([
      'all processes',
      'process 1',
      'process 2',
      'this process'
    ]);
    for (const row of rows) {
      expect(row.slice(1, header.length).join(' ')).toMatch(/[1-9][\d.]*\sMiB/);
    }
  }).toPass({ timeout: 90_000 });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a program that is killed in the middle of a task', async ({
  lab
}, info) => {
  const name = 'killed program';
  program = programOf(name, info, ['threads', 'processes']);
  const [stream, metrics, , memory] = lab.panels(name);
  await lab.openEmpty();
  await lab.sidebar.show();
  program.start();
  await openPanels(lab, name);
  program.enough('threads');
  await expect(
    stream.region.getByRole('list', { name: 'Legend' })
  ).toContainText('totalling-processes');
  await expect(lab.sidebar.card(name)).toContainText('1 running');
  const children = program.children();
  expect(children.length).toBeGreaterThan(1);
  program.kill();
  expect(await program.ended()).toBe('SIGKILL');
  // Those that compute do not outlive it, whatever they are at.
  await expect.poll(() => children.filter(isAlive)).toEqual([]);
  for (const panel of lab.panels(name)) {
    await expect(panel.region).toContainText(
      /Ended at .*: its process was lost\. The history is kept\./
    );
    await expect(panel.tab).toContainText('(ended)');
  }
  await expect(lab.sidebar.card(name)).toContainText('ended');
  await expect(lab.sidebar.card(name)).not.toContainText('running');
  await takePictures(lab, info, 'killed');
  // Everything but the task that was cut short.
  const kept = ['threads', 'processes'].flatMap(scheduler => [
    ...[0, 1, 2, 3].map(n => `('read-${scheduler}', ${n})`),
    `total-${scheduler}`
  ]);
  await expectKeys(stream, [...kept, 'hold-threads'].sort());
  await metrics.showTable(true);
  await expect
    .poll(async () => (await sumsIn(metrics)).totals.has('reading-processes'))
    .toBe(true);
  await expectMemory(memory);

  await test.step('started once more, it begins a new history', async () => {
    program.start();
    await expect(lab.sidebar.card(name)).toContainText('observing');
    await expect(stream.tab).not.toContainText('(ended)');
    program.enough('processes');
    expect(await program.ended(), program.complaints).toBe(0);
    await expect(stream.tab).toContainText('(ended)');
    const records = JSON.parse(program.output) as ProgramRecord[];
    await expectKeys(stream, keysOf(records));
  });
  expect(lab.troubles.errors).toEqual([]);
});

test('a program in a terminal of JupyterLab', async ({ lab }, info) => {
  const name = 'terminal program';
  program = programOf(name, info, ['threads']);
  const [stream, metrics] = lab.panels(name);
  await lab.openEmpty();
  await lab.sidebar.show();
  // The terminal's server is named by its environment: no folder is searched.
  const nowhere = info.outputPath('nowhere');
  await lab.runInTerminal(program.command(`JUPYTER_RUNTIME_DIR='${nowhere}'`));
  await openPanels(lab, name);
  await expect(lab.sidebar.card(name)).toContainText('1 running');
  await takePictures(lab, info, 'terminal');
  program.enough('threads');
  await expect(stream.tab).toContainText('(ended)');
  await expect.poll(() => program.output).toContain('hold-threads');
  const records = JSON.parse(program.output) as ProgramRecord[];
  expect(records).toHaveLength(TASKS_EACH);
  await expectKeys(stream, keysOf(records));
  compareTimes(await tasksIn(stream), records);
  await expectSums(metrics, stream, records);
  expect(lab.troubles.errors).toEqual([]);
});

/** Names that are not whole, or have two lines. */
function cutOrBroken(names: Element[]): string[] {
  return names.flatMap(name => {
    const range = document.createRange();
    range.selectNodeContents(name);
    const { height } = range.getBoundingClientRect();
    const isCut = [name, ...name.children].some(
      ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth
    );
    const lines = height / Number.parseFloat(getComputedStyle(name).fontSize);
    return isCut || lines > 1.9 ? [name.textContent!] : [];
  });
}

/** How far one can scroll past the last lane, in pixels. */
function beyondLanes(lanes: HTMLElement): number {
  const workers = lanes.querySelector<HTMLElement>('.sw-TaskStream-workers')!;
  return (
    lanes.scrollHeight - Math.max(lanes.clientHeight, workers.offsetHeight)
  );
}
