/** Two notebooks on the default cluster of their environment: who uses it, whose the spans are, and what ends with whom. */
import { expect, test } from '../pages/lab';
import type { Notebook } from '../pages/notebook';

const [JOIN, WORK, HELD, WAIT, AFTER] = [0, 1, 2, 3, 4];

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
    `print(client.submit(abs, -7).result())`
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
  await expect(card).toContainText(/default cluster of .*used by north.ipynb/);
  await expect(lab.sidebar.span('load')).toHaveAttribute('aria-level', '1');

  const south = lab.notebook('south.ipynb');
  await south.write(cells('sail'));
  await south.openHere();
  expect(await printed(south, JOIN)).toContain(id!);
  await south.run(WORK);

  await test.step('both are in the card, and each has spans of its own', async () => {
    for (const each of [south, north]) {
      await each.activate();
      await expect(card).toContainText('used by north.ipynb, south.ipynb');
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
    await lab.page.screenshot({ path: info.outputPath('light.png') });
    await lab.setTheme('JupyterLab Dark');
    await lab.page.screenshot({ path: info.outputPath('dark.png') });
    await panel.tool('Clear filter').click();
  });

  await test.step('a kernel restart of one leaves the results of the other', async () => {
    await south.restartKernel();
    await expect(card).not.toContainText('south.ipynb');
    expect(await printed(north, HELD)).toBe('8 28');
  });

  await test.step('an interrupt ends the wait, and the notebook goes on', async () => {
    await north.start(WAIT);
    await expect(lab.sidebar.span('default')).toBeVisible();
    await north.interruptKernel();
    await expect(north.cell(WAIT)).toContainText('KeyboardInterrupt');
    expect(await printed(north, AFTER)).toBe('7');
  });

  await test.step('Stop ends it, and the next Client() starts another', async () => {
    const stop = card.getByRole('button', { name: 'Stop', exact: true });
    await stop.click();
    const dialog = lab.page.getByRole('dialog', { name: /^Stop / });
    await expect(dialog).toContainText('Connected: north.ipynb');
    await dialog.getByRole('button', { name: 'Stop' }).click();
    await expect(card).toContainText(/Ended at .*stopped in JupyterLab/);
    await expect(stop).toHaveAttribute('aria-disabled', 'true');
    expect(await printed(north, JOIN)).not.toContain(id!);
    await expect(card).toContainText('used by north.ipynb');
    await expect(card).not.toContainText('Ended');
    expect(await printed(north, AFTER)).toBe('7');
  });
  expect(lab.troubles.errors).toEqual([]);
});
