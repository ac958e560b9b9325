/** The cells of a notebook as spans: arranged by them, and filtered by one that was run again. */
import { expect, test } from '../pages/lab';
import { takePicture } from '../pages/pictures';

const CLUSTER = 'cells';

// How spans are arranged while nobody has chosen: a page that another test had may be past that.
test.use({ keepsPage: false });

test('the sidebar arranges spans by cell', async ({ lab }, info) => {
  const notebook = await lab.open('cells.ipynb', [
    `from spanwise import Client, span
client = Client(n_workers=1, threads_per_worker=2, name="${CLUSTER}")
def row(n): return n
def sail(n): return n`,
    `# the rowers
_ = client.gather(client.map(row, range(4), pure=False))`,
    `# the sailors
with span("sea"):
    _ = client.gather(client.map(sail, range(6), pure=False))`,
    `print(*sorted({(*s.path, s.own_tasks, s.code[0][0]["cell"] is not None)
    for s in client.spans() if s.origin == "cell"}), sep="\\n")`
  ]);
  await lab.sidebar.show();
  const span = (tag: string) => lab.sidebar.span(tag);
  await notebook.run(0);
  await notebook.run(1);
  // There is nothing else to arrange.
  await expect(span('# the rowers')).toHaveAttribute('aria-level', '2');
  await notebook.run(2);

  await test.step('as the program calls them, at first', async () => {
    await expect(span('sea')).toHaveAttribute('aria-level', '1');
    await expect(span('default')).toBeVisible();
    await expect(span('# the rowers')).toHaveCount(0);
  });

  await test.step('by cell once one has run again, its runs in one place', async () => {
    await notebook.run(1);
    await expect(
      lab.sidebar.root.getByRole('radio', { name: 'By cell' })
    ).toHaveAttribute('aria-checked', 'true');
    await expect(span('cells.ipynb')).toHaveAttribute('aria-level', '1');
    await expect(span('# the rowers')).toHaveCount(1);
    await expect(span('# the rowers')).toHaveAttribute('aria-level', '2');
    await expect(span('# the rowers')).toContainText('8');
    await expect(span('sea')).toHaveAttribute('aria-level', '3');
    await expect(span('default')).toHaveCount(0);
    await takePicture(lab.page, info.outputPath('by-cell.png'));
  });

  await test.step('each run of a cell is told apart, and chosen by itself', async () => {
    const passes = lab.sidebar.tree.getByRole('treeitem', {
      name: /^\[\d+\] · \d\d:\d\d:\d\d$/u
    });
    await expect(span('# the rowers')).toContainText('×2');
    await expect(passes).toHaveCount(0);
    await span('# the rowers').press('ArrowRight');
    await expect(passes).toHaveCount(2);
    const numbers = await passes.evaluateAll(items =>
      items.map(item => Number.parseInt(item.ariaLabel!.slice(1)))
    );
    // Beside the cell stands [4]: the runs were [1] to [4], the second and the last of this cell.
    const prompt = notebook.cell(1).locator('.jp-InputPrompt').first();
    await expect(prompt).toHaveText('[4]:');
    expect(numbers).toEqual([4, 2]);
    const newest = passes.first();
    await newest.locator('.sw-span-tree-tag').click();
    await expect(newest).toHaveAttribute('aria-selected', 'true');
    await expect(passes.last()).toHaveAttribute('aria-selected', 'false');
    await lab.sidebar.item('Task Stream').click();
    const stream = lab.panel('Task Stream', CLUSTER);
    await expect(stream.chips).toContainText('# the rowers › [4] · ');
    await expect(stream.region.locator('.sw-chips-honoured')).toHaveText(
      'exact'
    );
    await expect(
      stream.region.getByRole('list', { name: 'Legend' })
    ).toHaveText(/row/u);
    await takePicture(lab.page, info.outputPath('passes-light.png'));
    await lab.setTheme('JupyterLab Dark');
    await takePicture(lab.page, info.outputPath('passes-dark.png'));
    await lab.setTheme('JupyterLab Light');
    await newest.locator('.sw-span-tree-tag').click();
    await expect(newest).toHaveAttribute('aria-selected', 'false');
  });

  await test.step('as wide as JupyterLab opens it, words are whole and buttons in one line', async () => {
    const { root } = lab.sidebar;
    for (const width of [250, 279, 288]) {
      const found = await root.evaluate(linesAt, width);
      expect(found).toEqual({ buttons: 1, header: 1, cut: [] });
    }
  });

  await test.step('a name of twenty letters is whole, and has the room of the word running', async () => {
    const { root } = lab.sidebar;
    const at = (width: number) =>
      root.evaluate(nameAt, { width, name: 'default (.test-env)' });
    for (const width of [279, 280, 288, 300, 319, 320, 359]) {
      expect(await at(width)).toEqual({ width, cut: 0, isWordSeen: false });
    }
    for (const width of [360, 400]) {
      expect(await at(width)).toEqual({ width, cut: 0, isWordSeen: true });
    }
    await takePicture(lab.page, info.outputPath('card-light.png'));
  });

  await test.step('a click on a cell filters the panels', async () => {
    await lab.sidebar.item('Fine Performance Metrics').click();
    const panel = lab.panel('Fine Performance Metrics', CLUSTER);
    const functions = panel.region.getByRole('list', { name: 'By function' });
    await expect(functions).toContainText('sail');
    await lab.sidebar.pick('# the rowers');
    await expect(panel.chips).toContainText('cells.ipynb › # the rowers');
    await expect(functions).toContainText('row');
    await expect(functions).not.toContainText('sail');
    await functions
      .getByText('row')
      .first()
      .click({ modifiers: ['Alt'] });
    const state = panel.region.locator('.sw-state');
    await expect(state).toContainText('The filter matches no task.');
    // In a low panel it is longer than that, and is read from its beginning.
    await panel.inSize({ width: 240, height: 200 }, async () => {
      const above = await state.evaluate(
        element =>
          element.getBoundingClientRect().top -
          element.firstElementChild!.getBoundingClientRect().top
      );
      expect(above).toBeLessThanOrEqual(0);
    });
  });

  await test.step('the program is told the cells', async () => {
    await notebook.run(3);
    expect((await notebook.output(3)).trim().split('\n')).toEqual([
      "('cells.ipynb', '# the rowers', 4, True)",
      "('cells.ipynb', '# the sailors', 0, True)"
    ]);
  });

  expect(lab.troubles.errors).toEqual([]);
});

/** In a sidebar so wide: in how many lines the cluster's buttons stand and the heading of the spans, and the buttons that are not whole. */
function linesAt(
  sidebar: Element,
  width: number
): { buttons: number; header: number; cut: string[] } {
  const { style } = sidebar as HTMLElement;
  const before = style.cssText;
  style.cssText += `; width: ${width}px; max-width: ${width}px`;
  const linesOf = (boxes: Iterable<Element>) =>
    new Set(
      [...boxes].map(box => {
        const { top, bottom } = box.getBoundingClientRect();
        return Math.round((top + bottom) / 2);
      })
    ).size;
  const { right } = sidebar.getBoundingClientRect();
  const radios = sidebar.querySelector('[role=radiogroup]')!;
  const buttons = sidebar.querySelectorAll('.sw-cluster-buttons button');
  const found = {
    buttons: linesOf(buttons),
    header: linesOf([radios, radios.parentElement!]),
    cut: [...radios.children, ...buttons]
      .filter(
        button =>
          button.scrollWidth > button.clientWidth ||
          button.getBoundingClientRect().right > right
      )
      .map(button => button.textContent ?? '')
  };
  style.cssText = before;
  return found;
}

/** In a sidebar so wide: how many pixels of the cluster's name are cut, and whether its state is seen as a word. */
function nameAt(
  sidebar: Element,
  { width, name }: { readonly width: number; readonly name: string }
): { width: number; cut: number; isWordSeen: boolean } {
  const { style } = sidebar as HTMLElement;
  const before = style.cssText;
  const element = sidebar.querySelector('.sw-cluster-name')!;
  const had = element.textContent;
  style.cssText += `; width: ${width}px; max-width: ${width}px`;
  element.textContent = name;
  const found = {
    width,
    cut: element.scrollWidth - element.clientWidth,
    // (one pixel is for screen readers)
    isWordSeen:
      sidebar.querySelector('.sw-cluster-state')!.getBoundingClientRect()
        .width > 1
  };
  element.textContent = had;
  style.cssText = before;
  return found;
}
