/** The default layout in both themes, the Memory Sampler's runs, and what a screen reader meets. */
import AxeBuilder from '@axe-core/playwright';
import { expect, type Lab, test } from '../pages/lab';
import { TITLES } from '../pages/panel';
import { takePicture } from '../pages/pictures';
import { boxOf } from '../pages/sidebar';
import { CLUSTER, FUNCTIONS, START } from './orchard';

/** At the end each thread has a task of a second: however long the rest took, and however short its tasks are drawn, each lane has one to select. */
const SAMPLES = `import tempfile

def side_by_side(number, folder):
    open(os.path.join(folder, str(number)), "w").close()
    while len(os.listdir(folder)) < 4:
        time.sleep(0.02)
    time.sleep(1)

sampler = MemorySampler()
for label, rounds in (("small crates", 4), ("large crates", 6)):
    with sampler.sample(label, interval=0.1):
        for _ in range(rounds):
            a_round()
with tempfile.TemporaryDirectory() as folder:
    client.gather([
        client.submit(side_by_side, number, folder, workers=[number % 2])
        for number in range(4)
    ])
list(sampler.samples)`;

/** In pixels: from these widths of a panel on the style sheets have other rules for toolbars. Borders take two more. */
const LIMITS = [260, 330, 340, 360, 430, 460, 520, 640, 760, 900, 1000];
/** Panels' widths: both sides of each limit, and some between. */
const WIDTHS = [
  ...[226, 300, 420, 880],
  ...LIMITS.flatMap(limit => [limit + 1, limit + 2])
].sort((a, b) => a - b);
/** In which of these widths, from the smallest on, a toolbar has one line; others have it in all. */
const ONE_LINE_FROM: Partial<Record<string, number>> = {
  'Task Stream': 320
};

test('default layout, memory runs, both themes', async ({ lab }, info) => {
  const notebook = await lab.open('orchard.ipynb', [START, FUNCTIONS, SAMPLES]);
  await notebook.run(0);
  await lab.sidebar.show();

  await test.step("the client's button opens the default layout", async () => {
    await notebook.openPanels(0);
    for (const title of TITLES) {
      await expect(lab.panel(title, CLUSTER).region).toBeVisible();
    }
    await expect(notebook.widget).toBeVisible();
  });

  await notebook.run(1);
  await notebook.run(2);

  await test.step('Memory Sampler draws both runs, from zero', async () => {
    const { region } = lab.panel('Memory Sampler', CLUSTER);
    for (const label of ['small crates', 'large crates']) {
      await expect(
        region.getByRole('button', { name: `Hide ${label}` })
      ).toBeVisible();
      await expect(
        region
          .getByRole('table', { name: 'Runs' })
          .getByText(label, { exact: true })
      ).toBeVisible();
    }
    await expect(
      region.getByRole('radio', { name: 'From zero' })
    ).toHaveAttribute('aria-checked', 'true');
    await expect
      .poll(() => region.locator('.scatterlayer path.js-line').count())
      .toBeGreaterThanOrEqual(2);
  });

  await test.step('no figure is written over its neighbour', async () => {
    const { region } = lab.panel('Fine Performance Metrics', CLUSTER);
    const figures = region.locator('.sw-metric-figure');
    await expect(figures.first()).toBeVisible();
    expect(
      await figures.evaluateAll(all =>
        all
          .filter(each => each.scrollWidth > each.clientWidth)
          .map(each => each.textContent)
      )
    ).toEqual([]);
    // Nor is the longest one of any list, in a narrow panel.
    expect(
      await region.evaluate((panel: HTMLElement) => {
        panel.style.width = '400px';
        const cut = [
          ...panel.querySelectorAll('.sw-metricList:has(.sw-metric-figure)')
        ].filter(list => {
          const figure = list.querySelector('.sw-metric-figure')!;
          const said = figure.textContent;
          figure.textContent = '119\u00a0min\u00a059\u00a0s';
          const isCut = figure.scrollWidth > figure.clientWidth;
          figure.textContent = said;
          return isCut;
        });
        panel.style.width = '';
        return cut.map(list => list.getAttribute('aria-label'));
      })
    ).toEqual([]);
  });

  await test.step('bars have the room that figures leave', async () => {
    const { region } = lab.panel('Fine Performance Metrics', CLUSTER);
    const width = await region.evaluate((panel: HTMLElement) => {
      panel.style.width = '345px';
      const bar = panel.querySelector('.sw-metric-bar')!;
      const found = bar.getBoundingClientRect().width;
      panel.style.width = '';
      return found;
    });
    expect(width).toBeGreaterThan(70);
  });

  await test.step('toolbars have no tool that is cut off, and few a second line', async () => {
    const toolbarOf = (title: (typeof TITLES)[number]) =>
      lab
        .panel(title, CLUSTER)
        .region.locator('.sw-toolbar')
        .evaluate(toolbarAt, WIDTHS);
    // As while a run is recorded; in a narrow panel the button keeps its width.
    const record = lab
      .panel('Memory Sampler', CLUSTER)
      .tool('Record')
      .locator('span')
      .last();
    const label = await record.textContent();
    const write = (said: string | null) =>
      record.evaluate((element, text) => {
        element.textContent = text;
      }, said);
    await write('Stop “a run with a rather long name”');
    try {
      for (const title of TITLES) {
        expect.soft(await toolbarOf(title), title).toEqual(
          WIDTHS.map(width => ({
            width,
            lines: width < (ONE_LINE_FROM[title] ?? 0) ? 2 : 1,
            cutOff: []
          }))
        );
      }
      // A larger font needs more lines, and so may a chart that is paused.
      const follow = lab.panel('Task Stream', CLUSTER).tool('Follow');
      await follow.click();
      await withFontSize(lab, '17px', async () => {
        for (const title of TITLES) {
          const found = await toolbarOf(title);
          expect
            .soft(
              found.filter(({ cutOff }) => cutOff.length > 0),
              title
            )
            .toEqual([]);
        }
      });
      const paused = await toolbarOf('Task Stream');
      expect.soft(paused.filter(({ cutOff }) => cutOff.length > 0)).toEqual([]);
      // (the chart would jump while it is panned)
      expect
        .soft(paused.filter(({ width, lines }) => width >= 520 && lines > 1))
        .toEqual([]);
      await follow.click();
    } finally {
      await write(label);
    }
  });

  await test.step('a card has its figures whole beside names of any length', async () => {
    const { region } = lab.panel('Memory Sampler', CLUSTER);
    await region.locator('.sw-Memory-chart .nsewdrag').first().hover();
    const card = region.getByRole('tooltip', { includeHidden: true });
    await expect(card).toBeVisible();
    expect(await card.evaluate(cellsBeyond)).toEqual([]);
    await lab.page.mouse.move(0, 0);
    await expect(card).toHaveCount(0);
  });

  await test.step("a function's card has each figure in one line", async () => {
    const { region } = lab.panel('Fine Performance Metrics', CLUSTER);
    const functions = region.getByRole('list', { name: 'By function' });
    await functions.getByRole('listitem').first().hover();
    const card = region.getByRole('tooltip', { includeHidden: true });
    await expect(card).toBeVisible();
    expect(await card.evaluate(brokenFigures)).toEqual([]);
    await lab.page.mouse.move(0, 0);
    await expect(card).toHaveCount(0);
  });

  await test.step('a low Memory Sampler begins with its whole chart', async () => {
    const panel = lab.panel('Memory Sampler', CLUSTER);
    const page = panel.region.locator('.sw-Memory');
    const align = panel.region.getByRole('radiogroup', { name: 'Align' });
    await expect(align).toBeVisible();
    // (the panel measures itself)
    const begins = (first: readonly string[]) =>
      expect(async () => {
        const found = await page.evaluate(partsDrawn);
        expect(found.inView.slice(0, 3)).toEqual(first);
        expect(found.asMet).toEqual(found.asDrawn);
      }).toPass({ timeout: 90_000 });
    await panel.inSize({ width: 440, height: 220 }, async () => {
      await expect(page).toHaveAttribute('data-low', 'true');
      await expect(align).toBeHidden();
      await begins(['sw-Memory-chart']);
      // Below it the peaks of both.
      await expect
        .poll(() => page.evaluate(rowsInView))
        .toEqual({ isChartWhole: true, rows: 3 });
    });
    await panel.inSize({ width: 440, height: 420 }, async () => {
      await expect(page).not.toHaveAttribute('data-low');
      await expect(align).toBeVisible();
      await begins(['sw-Memory-title', 'sw-Memory-chart', 'sw-legend']);
    });
  });

  await test.step('a Memory Sampler of half a small window shows the figures of both runs below the whole chart', async () => {
    const panel = lab.panel('Memory Sampler', CLUSTER);
    for (const [height, rows] of [
      [260, 3],
      [300, 4]
    ] as const) {
      await panel.inSize({ width: 560, height }, async () => {
        // (the panel measures itself, and the chart its room)
        await expect
          .poll(() => panel.region.locator('.sw-Memory').evaluate(rowsInView), {
            message: `in a panel ${height} pixels high`
          })
          .toEqual({ isChartWhole: true, rows });
      });
    }
  });

  await test.step('in a small window metrics begin with functions, and legends are whole', async () => {
    const size = { width: 276, height: 314 };
    const metrics = lab.panel('Fine Performance Metrics', CLUSTER);
    const unfold = metrics.region.getByRole('button', { name: 'Legend' });
    const words = metrics.region.getByRole('list', { name: 'Legend' });
    await metrics.inSize({ width: 700, height: 600 }, async () => {
      await expect(words).toBeVisible();
      await expect(unfold).toBeHidden();
    });
    await metrics.inSize(size, async () => {
      await expect(words).toBeHidden();
      expect(await metrics.region.evaluate(roomForRows)).toBeGreaterThanOrEqual(
        4
      );
      await unfold.click();
      await expect(words).toBeVisible();
      await unfold.click();
      await expect(words).toBeHidden();
    });
    const profile = lab.panel('Profile', CLUSTER);
    const states = profile.region.getByRole('list', { name: 'Legend' });
    await profile.inSize(size, async () => {
      expect(
        await states.evaluate(list => list.scrollHeight - list.clientHeight)
      ).toBeLessThanOrEqual(0);
    });
  });

  await test.step('the Profile has room for a call tree', async () => {
    const panel = lab.panel('Profile', CLUSTER);
    const { width } = await boxOf(panel.region);
    expect(width).toBeGreaterThanOrEqual(350);
    // As its table it has the names first, and beside them what they took.
    await panel.showTable(true);
    const rows = panel.region.locator('.sw-FrameTree-row');
    await expect(rows.nth(1)).toBeVisible();
    const found = await rows.first().evaluate(frameCells);
    expect(found.frame).toBeGreaterThanOrEqual(200);
    expect(found.wholeInView).toEqual(expect.arrayContaining(['Total']));
    expect(found.frameAfterScroll).toBe(0);
    await panel.showTable(false);
  });

  await test.step('each panel of the sidebar has its question whole', async () => {
    const questions = lab.sidebar.gallery.locator('.sw-gallery-question');
    await expect(questions.first()).toBeVisible();
    expect(
      await questions.evaluateAll(all =>
        all
          .filter(
            ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
              scrollWidth > clientWidth || scrollHeight > clientHeight
          )
          .map(({ textContent }) => textContent)
      )
    ).toEqual([]);
  });

  await test.step('words of activities and their figures are whole, each in a line', async () => {
    const panel = lab.panel('Fine Performance Metrics', CLUSTER);
    for (const width of [340, 400, 520, 640, 800, 1000, 1300]) {
      await panel.inSize({ width }, async () => {
        expect
          .soft(
            await panel.region.evaluate(cutOrBroken),
            `in a panel of ${width} pixels`
          )
          .toEqual([]);
      });
    }
  });

  await test.step('with an open drawer a low Task Stream keeps lanes, that of its task among them', async () => {
    const panel = lab.panel('Task Stream', CLUSTER);
    const lanes = panel.region.locator('.sw-TaskStream-lanes');
    const drawer = panel.region.getByRole('region', { name: 'Selected task' });
    await panel.inSize({ width: 500, height: 440 }, async () => {
      // The last lane of all.
      await lanes.focus();
      for (let lane = 0; lane < 4; lane += 1) {
        await lab.page.keyboard.press('ArrowDown');
      }
      await expect(drawer).toContainText('worker 1, thread 2');
    });
    for (const height of [290, 260, 200]) {
      await panel.inSize({ width: 500, height }, async () => {
        await expect
          .poll(() => lanes.evaluate(laneInSight), {
            message: `in a panel ${height} pixels high`
          })
          .toEqual({ isHigh: true, isLastInSight: true });
        await expect(drawer).toBeInViewport();
      });
    }
    // It is as high as its edge is moved, whatever its text takes, and takes no height beside the lanes.
    await panel.inSize({ width: 500, height: 440 }, async () => {
      const edge = drawer.getByRole('separator');
      const pressUntil = (key: string, percent: number) =>
        expect
          .poll(async () => {
            await edge.press(key);
            return drawer.evaluate(shareOfHeight);
          })
          .toBe(percent);
      await pressUntil('ArrowDown', 10);
      await pressUntil('ArrowUp', 40);
    });
    // Where the facts have room beside the lanes, these are as high as without them.
    for (const height of [440, 290, 230]) {
      await panel.inSize({ width: 560, height }, async () => {
        await expect
          .poll(() => drawer.evaluate(besideLanes), {
            message: `in a panel ${height} pixels high`
          })
          .toEqual({
            isBeside: true,
            isHigh: true,
            areMoved: false,
            isFilled: true,
            // (of 409 and less: without the toolbar)
            linesOfButtons: height > 430 ? 2 : 1
          });
      });
    }
    await drawer.getByRole('separator').press('Enter');
    await drawer.getByRole('button', { name: 'Close' }).click();
  });

  const frequent = async () =>
    (await lab.panel('Task Stream', CLUSTER).colours())
      .filter(({ rgb }) => rgb.endsWith(',255'))
      .slice(0, 2)
      .map(({ rgb }) => rgb);
  let light: string[] = [];
  await expect(async () => {
    light = await frequent();
    expect(light).toHaveLength(2);
  }).toPass({ timeout: 90_000 });
  await takePicture(lab.page, info.outputPath('light.png'));
  expect(await violations(lab)).toEqual([]);

  await test.step('dark: backgrounds dark, canvases drawn again', async () => {
    await lab.setTheme('JupyterLab Dark');
    for (const title of TITLES) {
      await expect
        .poll(() => luminance(lab, title), { message: title })
        .toBeLessThan(0.1);
    }
    await expect(async () => {
      const dark = await frequent();
      expect(dark).toHaveLength(2);
      // The two most frequent opaque colours are functions' colours of the other palette.
      expect(dark.filter(rgb => light.includes(rgb))).toEqual([]);
    }).toPass({ timeout: 90_000 });
    await takePicture(lab.page, info.outputPath('dark.png'));
    expect(await violations(lab)).toEqual([]);
  });

  expect(lab.troubles.errors).toEqual([]);
});

/** In panels of such widths: how many lines its tools stand in, and the tools that do not stand in it whole. */
function toolbarAt(
  toolbar: Element,
  widths: readonly number[]
): { width: number; lines: number; cutOff: (string | null)[] }[] {
  const { style } = toolbar.closest<HTMLElement>('.sw-panel-widget')!;
  const before = style.width;
  const found = widths.map(width => {
    style.width = `${width}px`;
    const bar = toolbar.getBoundingClientRect();
    const tools = [...toolbar.children]
      .map(tool => ({ tool, box: tool.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0 && box.height > 0);
    const isCutOff = (box: DOMRect) =>
      box.left < bar.left ||
      box.right > bar.right ||
      box.top < bar.top ||
      box.bottom > bar.bottom;
    return {
      width,
      lines: new Set(
        tools.map(({ box }) => Math.round((box.top + box.bottom) / 2))
      ).size,
      cutOff: tools
        .filter(({ box }) => isCutOff(box))
        .map(({ tool }) => tool.getAttribute('aria-label') ?? tool.textContent)
    };
  });
  style.width = before;
  return found;
}

/** How many functions have room in sight in the list of Fine Performance Metrics, however many there are. */
function roomForRows(panel: Element): number {
  const list = panel.querySelector('[aria-label="By function"]')!;
  const end = panel.querySelector('.sw-FineMetrics')!.getBoundingClientRect();
  const row = list.firstElementChild!.getBoundingClientRect();
  return (end.bottom - row.top) / row.height;
}

/** With names that have no place for a break: the texts of a card's cells that end beyond it. */
function cellsBeyond(card: Element): (string | null)[] {
  card.querySelectorAll('bdi').forEach((name, index) => {
    name.textContent = `a_run_with_${'a_rather_'.repeat(6)}long_name_${index}`;
  });
  const edge = card.getBoundingClientRect().right;
  return [...card.querySelectorAll<HTMLElement>('td')]
    .filter(
      cell =>
        cell.getBoundingClientRect().right > edge ||
        cell.scrollWidth > cell.clientWidth
    )
    .map(cell => cell.textContent);
}

/** Of lists of words: names that are cut, and rows that are higher than they need be. */
function cutOrBroken(panel: Element): (string | null)[] {
  const lists = '.sw-metricList[data-names="long"]';
  // The longest ones.
  const name = panel.querySelector(`${lists} .sw-metric-name`)!;
  const figure = panel.querySelector(`${lists} .sw-metric-figure`)!;
  const said = [name.textContent, figure.textContent];
  name.textContent = 'blocked (I/O, sleep, other tasks)';
  figure.textContent = '149\u00a0ms ±23.7\u00a0ms';
  const { width } = panel.querySelector(lists)!.getBoundingClientRect();
  // In a narrow list a bar is below its name, which in a very narrow one has two lines.
  const highest = width >= 460 ? 24 : width >= 340 ? 34 : 52;
  const found = [
    ...[...panel.querySelectorAll<HTMLElement>(`${lists} .sw-metric-name`)]
      .filter(each => each.scrollWidth > each.clientWidth)
      .map(each => each.textContent),
    ...[...panel.querySelectorAll<HTMLElement>(`${lists} .sw-metric`)]
      .filter(each => each.clientHeight > highest)
      .map(each => each.textContent)
  ];
  [name.textContent = null, figure.textContent = null] = said;
  return found;
}

/** Whether the head of a worker and two lanes have room, and whether the last lane is in it. */
function laneInSight(lanes: HTMLElement): {
  isHigh: boolean;
  isLastInSight: boolean;
} {
  const view = lanes.getBoundingClientRect();
  const last = [...lanes.querySelectorAll('.sw-TaskStream-laneName')]
    .at(-1)!
    .getBoundingClientRect();
  return {
    isHigh: view.height >= 46,
    isLastInSight: last.top >= view.top && last.bottom <= view.bottom + 1
  };
}

/** Whether facts stand at the right of the lanes, which have most of the room, and whether these would lie elsewhere without. */
function besideLanes(drawer: HTMLElement): {
  isBeside: boolean;
  isHigh: boolean;
  areMoved: boolean;
  isFilled: boolean;
  linesOfButtons: number;
} {
  const lanes = drawer.parentElement!.querySelector('.sw-TaskStream-lanes')!;
  const facts = drawer.getBoundingClientRect();
  const before = lanes.getBoundingClientRect();
  drawer.style.display = 'none';
  const without = lanes.getBoundingClientRect();
  drawer.style.display = '';
  return {
    isBeside: before.right <= facts.left && before.width > 330,
    isHigh: facts.height >= before.height + 56,
    areMoved: before.top !== without.top || before.height !== without.height,
    isFilled:
      drawer.parentElement!.getBoundingClientRect().bottom - facts.bottom < 60,
    linesOfButtons: new Set(
      [...drawer.querySelectorAll('.sw-drawer-actions button')].map(
        button => button.getBoundingClientRect().top
      )
    ).size
  };
}

/** In percent of the panel's. */
function shareOfHeight(drawer: HTMLElement): number {
  const whole = drawer.parentElement!.getBoundingClientRect().height;
  return Math.round((100 * drawer.getBoundingClientRect().height) / whole);
}

/** As with larger letters in JupyterLab's settings. */
async function withFontSize(
  lab: Lab,
  size: string,
  during: () => Promise<void>
): Promise<void> {
  const set = (value: string) =>
    lab.page.evaluate(
      given => document.body.style.setProperty('--jp-ui-font-size1', given),
      value
    );
  await set(size);
  try {
    await during();
  } finally {
    await set('');
  }
}

/** The parts of a panel: those that are whole in view, and all as the keyboard meets them and as they are drawn. */
function partsDrawn(page: Element): {
  inView: string[];
  asMet: string[];
  asDrawn: string[];
} {
  const view = page.getBoundingClientRect();
  const parts = [...page.children].map(part => ({
    name: [...part.classList].at(-1)!,
    box: part.getBoundingClientRect()
  }));
  const nameOf = ({ name }: { name: string }) => name;
  return {
    inView: parts
      .filter(({ box }) => box.top >= view.top && box.bottom <= view.bottom)
      .map(nameOf),
    asMet: parts.map(nameOf),
    asDrawn: [...parts].sort((a, b) => a.box.top - b.box.top).map(nameOf)
  };
}

/** Beside the longest name: figures of a card that have more than one line. */
function brokenFigures(card: Element): (string | null)[] {
  const rows = [...card.querySelectorAll('tr')];
  const name = rows[0]!.cells[0]!;
  const said = name.innerHTML;
  name.textContent = 'not on CPU, cause not known';
  const broken = rows
    .flatMap(row => [...row.cells].slice(1))
    .filter(cell => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      const lines = [...range.getClientRects()].map(({ top }) =>
        Math.round(top)
      );
      return new Set(lines).size > 1;
    })
    .map(({ textContent }) => textContent);
  name.innerHTML = said;
  return broken;
}

/** Whether the whole chart is in view, and how many rows of the runs are, with their header. */
function rowsInView(page: Element): { isChartWhole: boolean; rows: number } {
  const view = page.getBoundingClientRect();
  const isWhole = (part: Element) => {
    const { top, bottom } = part.getBoundingClientRect();
    return top >= view.top && bottom <= view.bottom + 1;
  };
  return {
    isChartWhole: isWhole(page.querySelector('.sw-Memory-chart')!),
    rows: [...page.querySelectorAll('.sw-Memory-runs tr')].filter(isWhole)
      .length
  };
}

/** Of the head of a tree of frames: how wide the names' column is, which figures are whole beside it, and how far it moves when these scroll. */
function frameCells(head: Element): {
  frame: number;
  wholeInView: (string | null)[];
  frameAfterScroll: number;
} {
  const tree = head.parentElement!;
  const [frame, ...others] = [...head.children];
  const right = tree.getBoundingClientRect().left + tree.clientWidth;
  const { left, width } = frame!.getBoundingClientRect();
  const wholeInView = others
    .filter(other => other.getBoundingClientRect().right <= right)
    .map(({ textContent }) => textContent);
  tree.scrollLeft = 100;
  const edge = tree.getBoundingClientRect().left;
  const moved = Math.max(0, edge - frame!.getBoundingClientRect().left);
  tree.scrollLeft = 0;
  return {
    frame: width,
    wholeInView,
    frameAfterScroll: left < edge ? NaN : moved
  };
}

/** Relative luminance of what is behind the panel's text. */
async function luminance(
  lab: Lab,
  title: (typeof TITLES)[number]
): Promise<number> {
  return lab.panel(title, CLUSTER).region.evaluate(region => {
    let node: Element | null = region;
    let colour = 'rgba(0, 0, 0, 0)';
    while (node !== null && /rgba\(.*, 0\)|transparent/.test(colour)) {
      colour = getComputedStyle(node).backgroundColor;
      node = node.parentElement;
    }
    const [r = 1, g = 1, b = 1] = (colour.match(/[\d.]+/g) ?? []).map(
      value => Number(value) / 255
    );
    const linear = (c: number) =>
      c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  });
}

/** Serious and critical violations in the sidebar and the panels: rule and elements. */
async function violations(lab: Lab): Promise<string[]> {
  const result = await new AxeBuilder({ page: lab.page })
    .include('.sw-sidebar')
    .include('.sw-panel')
    .analyze();
  return result.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(
        node =>
          `${id}: ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`
      )
    );
}
