/** Dask without a cluster: what the panels show under `spanwise.observe()` against the records of `dask.diagnostics.Profiler`. */
import { expect, type Lab, test } from '../pages/lab';
import { takePicture } from '../pages/pictures';
import {
  ENOUGH,
  type Figures,
  FIGURES,
  GRAPHS,
  OBSERVED,
  runAll
} from './local-graphs';
import {
  comparePlaces,
  compareTimes,
  expectKeys,
  keysOf,
  tasksIn
} from './profiled-tasks';
import { compareSums, expectShown, sumsIn } from './shown-sums';

for (const scheduler of ['threads', 'processes', 'sync']) {
  test(`${scheduler}: what is shown equals the profiler's records`, async ({
    lab
  }) => {
    const notebook = await lab.open(`${scheduler}.ipynb`, [
      GRAPHS,
      runAll(scheduler),
      FIGURES
    ]);
    await notebook.run(0);
    await notebook.run(1);
    await notebook.run(2);
    const figures = JSON.parse(await notebook.output(2)) as Figures;
    expect(figures.profiled.length).toBeGreaterThan(100);
    await notebook.openPanels(1);
    await lab.sidebar.show();

    const [stream, metrics, , memory] = lab.panels(OBSERVED);
    await test.step('it has ended, and its history is there', async () => {
      for (const panel of lab.panels(OBSERVED)) {
        await expect(panel.region).toContainText(
          /Ended at .*: observing has ended\. The history is kept\./
        );
        await expect(panel.tab).toContainText('(ended)');
      }
      await expect(lab.sidebar.card(OBSERVED)).toContainText(
        `local schedulers · used by ${scheduler}.ipynb`
      );
      const card = lab.sidebar.card(OBSERVED);
      if (scheduler === 'processes') {
        await expect(card).toContainText(
          '2 processes and the main program2 threads'
        );
      } else {
        await expect(card).toContainText('main program');
        await expect(card).not.toContainText('process and');
      }
    });

    await test.step('Task Stream: the same tasks, at the same times', async () => {
      const { length } = figures.profiled;
      await expect(stream.region).toContainText(`${length} task runs in `);
      await expect(lab.sidebar.root).toContainText(`${length} task runs · `);
      await expectKeys(stream, keysOf(figures.profiled));
      const rows = await tasksIn(stream);
      compareTimes(rows, figures.profiled);
      expect(new Set(figures.profiled.map(({ graph }) => graph)).size).toBe(3);
      comparePlaces(rows, figures.profiled);
      for (const { worker } of rows) {
        expect(worker).toMatch(
          scheduler === 'processes' ? /^process [12]$/ : /^this process$/
        );
      }
    });

    await test.step('Fine Performance Metrics: what the observation says', async () => {
      await metrics.showTable(true);
      await compareSums(metrics, figures.all);
      const { totals, executions, cpu } = await sumsIn(metrics);
      expect([...totals.keys()]).toEqual(
        expect.arrayContaining(['rest', 'press', 'matmul', 'random_sample'])
      );
      expect(executions).toBe(figures.executions);
      expect(executions).toBeGreaterThan(figures.profiled.length);
      expectShown(cpu, figures.cpuSeconds);
    });

    await test.step('Memory Sampler: each process, and why no managed memory', async () => {
      await memory.region
        .getByRole('combobox', { name: 'Memory measure' })
        .selectOption('Managed');
      await expect(memory.region).toContainText(
        /This source gives no managed memory\..*do not say which results they keep\./
      );
      await memory.region
        .getByRole('combobox', { name: 'Memory measure' })
        .selectOption('Process');
      await memory.showWorkers();
      await memory.showTable(true);
      await expect(async () => {
        const [, ...names] = (await memory.rows()).map(([name]) => name);
        expect(names.sort()).toEqual(
          scheduler === 'processes'
            ? ['all processes', 'process 1', 'process 2', 'this process']
            : ['all processes', 'this process']
        );
      }).toPass({ timeout: 90_000 });
    });

    const { inAnalysis } = figures;
    expect(inAnalysis.length).toBeGreaterThan(50);
    expect(inAnalysis.length).toBeLessThan(figures.profiled.length);

    await test.step('a click on a span narrows all four', async () => {
      await lab.sidebar.pick('analysis');
      await narrowed(lab, inAnalysis, figures.analysis);
    });

    await test.step('a reload changes nothing', async () => {
      await lab.reloadOnceSaved('analysis');
      await expect(stream.tab).toContainText('(ended)');
      await narrowed(lab, inAnalysis, figures.analysis);
      await lab.sidebar.clearFilter();
      await expectKeys(stream, keysOf(figures.profiled));
    });

    expect(lab.troubles.errors).toEqual([]);
  });
}

test('a whole notebook, live, and its cell run again', async ({
  lab
}, info) => {
  const name = 'whole notebook';
  const notebook = await lab.open('whole.ipynb', [
    GRAPHS,
    `seen = spanwise.observe("${name}")
seen`,
    `with MemorySampler().sample("three graphs", client=seen, interval=0.1):
    for graph in (an_array, a_dataframe, a_delayed_graph):
        graph().compute(scheduler="threads", num_workers=2)`,
    `with span("long"):
    tasks = [dask.delayed(wait)() for _ in range(3)]
_ = dask.compute(*tasks, scheduler="threads", num_workers=2)`,
    `_ = a_delayed_graph().compute(scheduler="sync")`
  ]);
  const [stream, metrics, profile, memory] = lab.panels(name);
  const card = lab.sidebar.card(name);
  const legend = stream.region.getByRole('list', { name: 'Legend' });
  await notebook.run(0);
  await notebook.run(1);
  await notebook.openPanels(1);
  await lab.sidebar.show();

  await test.step('nothing has run yet', async () => {
    await expect(stream.region).toContainText(
      `${name} observes computations without a cluster`
    );
    await expect(card).toContainText('observing');
  });

  await test.step('one computation after the other', async () => {
    await notebook.run(2);
    await expect(legend).toContainText('press');
    await expect(
      memory.region.getByRole('table', { name: 'Runs' })
    ).toContainText('three graphs');
  });

  await test.step('while tasks run, they are seen', async () => {
    await notebook.start(3);
    await expect(card).toContainText('2 running');
    await expect(stream.region).toContainText('2 running');
    await expect(metrics.region).toContainText('still running');
    await expect(lab.sidebar.span('long')).toBeVisible();
    await profile.showTable(true);
    await expect(profile.frames('wait').first()).toBeVisible();
    await profile.showTable(false);
    await takePicture(lab.page, info.outputPath('live-light.png'));
    await lab.setTheme('JupyterLab Dark');
    await expect(lab.page.locator('body')).toHaveAttribute(
      'data-sw-shade',
      'dark'
    );
    await takePicture(lab.page, info.outputPath('live-dark.png'));
    lab.writeFile(ENOUGH, '');
    await notebook.finished(3);
    await expect(card).not.toContainText('running');
    await expect(legend).toContainText('wait');
  });

  await test.step('the cell run again begins a new history', async () => {
    await notebook.run(1);
    await expect(stream.region).toContainText('No tasks yet.');
    await expect(stream.tab).not.toContainText('(ended)');
    await notebook.run(4);
    await expect(legend).toContainText('press');
    await expect(legend).not.toContainText('wait');
    await takePicture(lab.page, info.outputPath('again-dark.png'));
    await lab.sidebar.clusterEntry(name, `${name} · ended`);
    await lab.page.keyboard.press('Escape');
  });

  expect(lab.troubles.errors).toEqual([]);
});

/** Every panel but the Memory Sampler, which says so, shows what is in span `analysis` alone. */
async function narrowed(
  lab: Lab,
  keys: readonly string[],
  sums: Readonly<Record<string, number>>
): Promise<void> {
  const [stream, metrics, profile, memory] = lab.panels(OBSERVED);
  for (const panel of [stream, metrics, profile, memory]) {
    await expect(panel.chips.getByRole('listitem')).toHaveText(
      /any\s*analysis/
    );
  }
  await expectKeys(stream, keys);
  await metrics.showTable(true);
  await compareSums(metrics, sums);
  await profile.showTable(true);
  await expect(profile.frames('press').first()).toBeVisible();
  await expect(profile.frames('rest')).toHaveCount(0);
  await expect(memory.region.getByText('not filtered')).toBeVisible();
}
