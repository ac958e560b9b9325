/** Two notebooks on the default cluster of their environment: who uses it, whose the spans are, and what ends with whom. */
import { expect, test } from '../pages/lab';
import type { Notebook } from '../pages/notebook';
import { takePicture } from '../pages/pictures';

const [JOIN, WORK, HELD, WAIT, AFTER, PIDS, FOLDERS] = [0, 1, 2, 3, 4, 5, 6];

function cells(functionName: string): string[] {
  return [
    `import time, dask
from spanwise import Client, span
client = Client()
print(client.id, client.name)`,
    `def ${functionName}(n):
    time.sleep(0.05)
    return n

with span("load"):
    held = client.map(${functionName}, range(8), pure=False)
print(sum(client.gather(held)))`,
    `print([future.status for future in held].count("finished"), sum(client.gather(held)))`,
    // A thread cannot be stopped: what runs goes on to its end.
    `dask.compute([dask.delayed(time.sleep)(0.1, dask_key_name=f"nap-{i}") for i in range(3000)])`,
    `print(client.submit(abs, -7).result())`,
    `import os
print(*client.run(os.getpid).values())`,
    `print(set(client.run(os.getcwd).values()) == {os.getcwd()})`
  ];
}

async function printed(notebook: Notebook, cell: number): Promise<string> {
  await notebook.run(cell);
  return (await notebook.output(cell)).trim();
}

test('two notebooks share a cluster', async ({ lab }, info) => {
  const north = await lab.open('north.ipynb', cells('row'));
  const [id, ...name] = (await printed(north, JOIN)).split(' ');
  await lab.sidebar.show();
  await north.run(WORK);
  const card = lab.sidebar.card(name.join(' '));
  await expect(card).toContainText(
    /default cluster, shared by notebooks.*used by north.ipynb/
  );
  await expect(lab.sidebar.span('load')).toHaveAttribute('aria-level', '1');

  const button = (name: string) =>
    card.getByRole('button', { name, exact: true });
  const dialog = (title: string) =>
    // (JupyterLab's dialogs with an input have no name)
    lab.page
      .getByRole('dialog')
      .filter({ hasText: `${title} ${name.join(' ')}` });

  const south = lab.notebook('south.ipynb');
  await south.write(cells('sail'));
  await south.openHere();
  expect(await printed(south, JOIN)).toContain(id!);
  await south.run(WORK);

  await test.step('both are in the card, and each has spans of its own', async () => {
    for (const [each, other] of [
      [south, north],
      [north, south]
    ] as const) {
      await each.activate();
      await expect(card).toContainText(`used by ${each.name}, ${other.name}`);
      await expect(lab.sidebar.span(each.name)).toBeVisible();
    }
    await expect(lab.sidebar.span('load')).toHaveCount(2);
    await lab.sidebar.item('Fine Performance Metrics').press('Control+Enter');
    const panel = lab.panel('Fine Performance Metrics', name.join(' '));
    const functions = panel.region.getByRole('list', { name: 'By function' });
    await expect(functions).toContainText('sail');
    await lab.sidebar
      .span('north.ipynb')
      .getByRole('treeitem', { name: 'load' })
      .locator('.sw-span-tree-tag')
      .click();
    await expect(panel.chips).toContainText('north.ipynb › load');
    await expect(functions).toContainText('row');
    await expect(functions).not.toContainText('sail');
    // The panel is open for north.ipynb; the other notebook's sidebar filters it as well.
    await south.activate();
    await lab.sidebar
      .span('south.ipynb')
      .getByRole('treeitem', { name: 'load' })
      .locator('.sw-span-tree-tag')
      .click();
    await expect(panel.chips).toContainText('south.ipynb › load');
    await expect(functions).toContainText('sail');
    await expect(functions).not.toContainText('row');
    await lab.sidebar.item('Task Stream').press('Control+Enter');
    const stream = lab.panel('Task Stream', name.join(' '));
    await stream.showTable(true);
    await expect(stream.table).toContainText('south.ipynb › load');
    await stream.showTable(false);
    await takePicture(lab.page, info.outputPath('light.png'));
    await lab.setTheme('JupyterLab Dark');
    await takePicture(lab.page, info.outputPath('dark.png'));
    await stream.tool('Clear filter').click();
    await stream.showTable(true);
    await expect(stream.table).toContainText('north.ipynb › load');
  });

  await test.step('Scale adds workers', async () => {
    const before = (await printed(north, PIDS)).split(' ').length;
    await button('Scale').click();
    const scale = dialog('Scale');
    await scale.getByRole('spinbutton').fill(String(before + 1));
    await scale.getByRole('button', { name: 'Scale' }).click();
    await expect(card).toContainText(`${before + 1} workers`);
  });

  await test.step('Restart asks as long as both are connected', async () => {
    const before = new Set((await printed(north, PIDS)).split(' '));
    await button('Restart').click();
    const restart = dialog('Restart');
    await expect(restart).toContainText(
      '2 notebooks or programs are connected'
    );
    await expect(restart).toContainText('Connected: north.ipynb, south.ipynb.');
    await restart.getByRole('button', { name: 'Cancel' }).click();
    expect(new Set((await printed(south, PIDS)).split(' '))).toEqual(before);
    await button('Restart').click();
    await restart.getByRole('button', { name: 'Restart' }).click();
    await expect(restart).toBeHidden();
    // Between the click and the first new worker there are the old ones, then none.
    await expect(async () => {
      const after = (await printed(north, PIDS)).split(' ');
      expect(after).toHaveLength(before.size);
      expect(after.filter(pid => before.has(pid))).toEqual([]);
    }).toPass({ timeout: 120_000 });
    await expect(button('Restart')).not.toHaveAttribute('aria-disabled');
  });

  await test.step('a kernel restart of one leaves the results of the other', async () => {
    // They are computed again, after the workers' restart.
    await expect.poll(() => printed(north, HELD)).toBe('8 28');
    await south.restartKernel();
    await expect(card).not.toContainText('south.ipynb');
    expect(await printed(north, HELD)).toBe('8 28');
  });

  await test.step('an interrupt ends the wait, and the notebook goes on', async () => {
    await north.start(WAIT);
    await expect(lab.sidebar.span('default')).toBeVisible();
    await north.interruptKernel();
    await expect(north.cell(WAIT)).toContainText('KeyboardInterrupt');
    // Its error is shown before its end: what is sent in between, the kernel drops with a failed cell.
    await expect(north.cell(WAIT).locator('.jp-InputPrompt')).toHaveText(
      /\[\d+\]/
    );
    expect(await printed(north, AFTER)).toBe('7');
  });

  await test.step('Stop ends it, and the next Client() starts another', async () => {
    const stop = button('Stop');
    await stop.click();
    await expect(dialog('Stop')).toContainText('Connected: north.ipynb');
    await dialog('Stop').getByRole('button', { name: 'Stop' }).click();
    await expect(card).toContainText(/Ended at .*stopped in JupyterLab/);
    await expect(stop).toHaveAttribute('aria-disabled', 'true');
    expect(await printed(north, JOIN)).not.toContain(id!);
    await expect(card).toContainText('used by north.ipynb');
    await expect(card).not.toContainText('Ended');
    expect(await printed(north, AFTER)).toBe('7');
  });

  await test.step('a kernel that is shut down leaves it', async () => {
    await printed(south, JOIN);
    await expect(card).toContainText('used by south.ipynb, north.ipynb');
    await south.shutDown();
    await expect(card).toContainText(/used by north.ipynb(?!, south)/);
  });

  await test.step('New starts one in the folder of the notebook in front, which the next Client() joins', async () => {
    await button('Stop').click();
    await dialog('Stop').getByRole('button', { name: 'Stop' }).click();
    await expect(card).toContainText(/Ended at .*stopped in JupyterLab/);
    await button('New cluster').click();
    await expect(card).toContainText('no notebook is connected');
    await printed(north, JOIN);
    await expect(card).toContainText('used by north.ipynb');
    expect(await printed(north, FOLDERS)).toBe('True');
  });
  expect(lab.troubles.errors).toEqual([]);
});
