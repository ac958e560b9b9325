/** The default layout in both themes, the Memory Sampler's runs, and what a screen reader meets. */
import AxeBuilder from '@axe-core/playwright';
import { expect, type Lab, test } from '../pages/lab';
import { TITLES } from '../pages/panel';
import { takePicture } from '../pages/pictures';
import { CLUSTER, FUNCTIONS, START } from './orchard';

const SAMPLES = `sampler = MemorySampler()
for label, rounds in (("small crates", 4), ("large crates", 6)):
    with sampler.sample(label, interval=0.1):
        for _ in range(rounds):
            a_round()
list(sampler.samples)`;

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
    // Nor is the longest one, in a narrow panel.
    const widths = await region.evaluate((panel: HTMLElement) => {
      const figure = panel.querySelector('.sw-metric-figure')!;
      const said = figure.textContent;
      figure.textContent = '119\u00a0min\u00a059\u00a0s';
      panel.style.width = '400px';
      const found = [figure.scrollWidth, figure.clientWidth];
      panel.style.width = '';
      figure.textContent = said;
      return found;
    });
    expect(widths[0]).toBeLessThanOrEqual(widths[1]!);
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

  const light = await lab.panel('Task Stream', CLUSTER).colours();
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
      const dark = new Set(
        (await lab.panel('Task Stream', CLUSTER).colours())
          .filter(({ rgb }) => rgb.endsWith(',255'))
          .slice(0, 2)
          .map(({ rgb }) => rgb)
      );
      // The two most frequent opaque colours are functions' colours of the other palette.
      for (const { rgb } of light
        .filter(({ rgb: one }) => one.endsWith(',255'))
        .slice(0, 2)) {
        expect(dark.has(rgb), rgb).toBe(false);
      }
    }).toPass({ timeout: 90_000 });
    await takePicture(lab.page, info.outputPath('dark.png'));
    expect(await violations(lab)).toEqual([]);
  });

  expect(lab.troubles.errors).toEqual([]);
});

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
