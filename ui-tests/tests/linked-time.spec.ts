/** The Memory Sampler shows the time that the Task Stream shows, and a part of it becomes the range of all panels, also after a reload. */
import type { Locator } from '@playwright/test';
import { expect, test } from '../pages/lab';
import { takePicture } from '../pages/pictures';
import { boxOf } from '../pages/sidebar';
import { CLUSTER, FUNCTIONS, START } from './orchard';

/** Work, a rest that is longer than a pause, and work again. */
const WORK = `a_round()
time.sleep(8)
a_round()`;

/** From where to where plotly's axis goes. */
const axisOf = (region: Locator): Promise<readonly number[]> =>
  region.locator('.sw-Memory-chart .sw-plotly').evaluate(
    element =>
      (
        element as unknown as {
          _fullLayout?: { xaxis: { range: number[] } };
        }
      )._fullLayout?.xaxis.range ?? []
  );

test('Memory Sampler has the time of the Task Stream, and it of the Memory Sampler', async ({
  lab
}, info) => {
  const notebook = await lab.open('orchard.ipynb', [START, FUNCTIONS, WORK]);
  await notebook.run(0);
  await lab.sidebar.show();
  await notebook.openPanels(0);
  const [stream, metrics, , memory] = lab.panels(CLUSTER);
  const title = memory.region.locator('.sw-Memory-title');
  const link = (name: string) => title.getByRole('button', { name });
  await notebook.run(1);
  await notebook.run(2);

  await test.step('it begins with the newest work, not with the cluster', async () => {
    await expect
      .poll(async () => (await axisOf(memory.region))[0])
      .toBeGreaterThan(8);
    await expect(title).toContainText('as in Task Stream');
    await takePicture(lab.page, info.outputPath('linked-light.png'));
  });

  const [newest] = (await axisOf(memory.region)) as [number, number];
  let paused: readonly number[] = [];
  await test.step('it goes where the Task Stream is moved', async () => {
    const text = stream.region.locator('.sw-TaskStream-paused');
    const tools = ['Zoom in', 'Zoom out', 'Fit', 'Show as table'];
    const places = () =>
      Promise.all(tools.map(async name => (await boxOf(stream.tool(name))).x));
    const before = await places();
    await stream.tool('Fit').click();
    await expect(text).toHaveText('whole run');
    expect(await places()).toEqual(before);
    await expect
      .poll(async () => (await axisOf(memory.region))[0])
      .toBeLessThan(newest - 8);
    await stream.tool('Zoom in').click();
    await stream.tool('Zoom in').click();
    await expect(text).toContainText('paused at');
    expect(await places()).toEqual(before);
    await expect(async () => {
      const [from, to] = (await axisOf(memory.region)) as [number, number];
      const shown = [...(await text.innerText()).matchAll(/[\d.]+/g)].map(
        Number
      );
      expect(Math.abs(from - shown[0]!)).toBeLessThan(0.1);
      expect(Math.abs(to - shown[1]!)).toBeLessThan(0.1);
      paused = [from, to];
    }).toPass();
  });

  await test.step('a part that is drawn out becomes the range of all panels', async () => {
    const { x, y, width, height } = await boxOf(
      memory.region.locator('.sw-Memory-chart .nsewdrag').first()
    );
    await lab.page.mouse.move(x + 0.3 * width, y + height / 2);
    await lab.page.mouse.down();
    await lab.page.mouse.move(x + 0.7 * width, y + height / 2, { steps: 5 });
    await lab.page.mouse.up();
    await link('Use as time filter').click();
    for (const { chips } of [stream, metrics, memory]) {
      await expect(chips.getByRole('listitem')).toContainText('time');
    }
    const [from, to] = (await axisOf(memory.region)) as [number, number];
    expect(from).toBeGreaterThan(paused[0]!);
    expect(to).toBeLessThan(paused[1]!);
  });

  await test.step('a reload changes nothing', async () => {
    const before = await axisOf(memory.region);
    await expect.poll(() => lab.savedWorkspace()).toContain('"zoom"');
    await lab.reload();
    for (const { chips } of [stream, metrics, memory]) {
      await expect(chips.getByRole('listitem')).toContainText('time');
    }
    await expect.poll(() => axisOf(memory.region)).toEqual(before);
    await takePicture(lab.page, info.outputPath('filtered-light.png'));
  });

  await test.step('without the range each shows what it did, until Memory is to go with the Task Stream', async () => {
    await memory.tool('Clear filter').click();
    await expect(memory.chips).toHaveCount(0);
    await link('As in Task Stream').click();
    await expect(async () => {
      const [from, to] = (await axisOf(memory.region)) as [number, number];
      expect(from).toBeCloseTo(paused[0]!, 6);
      expect(to).toBeCloseTo(paused[1]!, 6);
    }).toPass();
    await link('Show all').click();
    await expect
      .poll(async () => (await axisOf(memory.region))[0])
      .toBeLessThan(paused[0]!);
  });
  expect(lab.troubles.errors).toEqual([]);
});
