/** One Spanwise panel, found as a screen reader finds it: by its region's name. */
import { expect, type Locator, type Page } from '@playwright/test';

export const TITLES = [
  'Task Stream',
  'Fine Performance Metrics',
  'Profile',
  'Memory Sampler'
] as const;
export type PanelTitle =
  | (typeof TITLES)[number]
  | 'Progress'
  | 'Bandwidth'
  | 'System'
  | 'Compare';

/** By so much the parts of a colour differ that is grey to the eye. */
const GREY_RANGE = 12;
/** Fewer pixels in colour may be a mark. */
const FEWEST_PIXELS = 50;

export class Panel {
  constructor(
    private readonly _page: Page,
    readonly title: PanelTitle,
    readonly cluster: string
  ) {}

  get region(): Locator {
    return this._page.getByRole('region', {
      name: `${this.title}, ${this.cluster}`,
      exact: true
    });
  }

  get tab(): Locator {
    return this._page
      .locator('#jp-main-dock-panel')
      .getByRole('tab', { name: `${this.title} · ${this.cluster}` });
  }

  get chips(): Locator {
    return this.region.getByRole('list', { name: 'Filter' });
  }

  get table(): Locator {
    return this.region.getByRole('table', {
      name: `${this.title}, ${this.cluster}`,
      exact: true
    });
  }

  get canvas(): Locator {
    return this.region.locator('canvas');
  }

  /** Profile, as a table: the rows of a function's frames. */
  frames(name: string): Locator {
    return this.region
      .getByRole('treeitem')
      .filter({ has: this._page.locator(`[title="${name}"]`) });
  }

  tool(name: string): Locator {
    return this.region.getByRole('button', { name, exact: true });
  }

  /** By its button, or in a narrow panel by the entry of `More`. */
  async showTable(shown: boolean): Promise<void> {
    const button = this.tool('Show as table');
    if (await button.isVisible()) {
      if ((await button.getAttribute('aria-pressed')) !== String(shown)) {
        await button.click();
      }
      return;
    }
    await this._setMore('Show as table', shown);
  }

  /** Memory Sampler: a line per worker, or per process of a run without a cluster. By its button, or in a narrow panel by the entry of `More`. */
  async showWorkers(): Promise<void> {
    const radio = this.region.getByRole('radio', {
      name: /^(Workers|Each process)$/
    });
    if (await radio.isVisible()) {
      await radio.click();
    } else {
      await this._setMore(/^Each (worker|process)$/, true);
    }
  }

  /**
   * As if its borders were dragged: it has another size until `during` is over. Each size has a frame, as with a mouse: of two in one the
   * panel is told the last, and what it scrolled for the first is lost with the room that there was between them.
   */
  async inSize(
    size: { readonly width?: number; readonly height?: number },
    during: () => Promise<void>
  ): Promise<void> {
    const widget = this._page
      .locator('.sw-panel-widget')
      .filter({ has: this.region });
    const before = await widget.evaluate(({ style }, { width, height }) => {
      const { cssText } = style;
      if (width !== undefined) {
        style.width = `${width}px`;
      }
      if (height !== undefined) {
        style.height = `${height}px`;
      }
      return cssText;
    }, size);
    try {
      await during();
    } finally {
      await widget.evaluate(async ({ style }, cssText) => {
        style.cssText = cssText;
        // The size is told after the first frame's callbacks.
        await new Promise<void>(resolve =>
          requestAnimationFrame(() => requestAnimationFrame(() => resolve()))
        );
      }, before);
    }
  }

  private async _setMore(name: string | RegExp, isOn: boolean): Promise<void> {
    await this.tool('More').click();
    // Lumino gives an entry that is off the role of a plain one.
    const on = this._page.getByRole('menuitemcheckbox', { name });
    const off = this._page.getByRole('menuitem', { name });
    await expect(on.or(off)).toBeVisible();
    if ((await on.isVisible()) === isOn) {
      await this._page.keyboard.press('Escape');
    } else {
      await on.or(off).click();
    }
  }

  /** The table twin as texts: header, then rows. */
  async rows(): Promise<string[][]> {
    return this.table.evaluate(table =>
      [...(table as HTMLTableElement).rows].map(row =>
        [...row.cells].map(cell =>
          cell.innerText.replace(/\s*[▾▴]$/u, '').trim()
        )
      )
    );
  }

  /** The largest canvas has boxes: they have colours, and grounds, grids and heads of lanes are grey. */
  async expectBoxes(): Promise<void> {
    await expect
      .poll(async () => {
        let coloured = 0;
        for (const { rgb, pixels } of await this.colours()) {
          const [red = 0, green = 0, blue = 0] = rgb.split(',').map(Number);
          const most = Math.max(red, green, blue);
          const least = Math.min(red, green, blue);
          coloured += most - least > GREY_RANGE ? pixels : 0;
        }
        return coloured;
      })
      .toBeGreaterThan(FEWEST_PIXELS);
  }

  /** How many of the largest canvas' pixels are of which colour, most first; `background` is the first. */
  async colours(): Promise<{ rgb: string; pixels: number }[]> {
    return this.canvas.evaluateAll(found => {
      const [canvas] = (found as HTMLCanvasElement[]).sort(
        (a, b) => b.width * b.height - a.width * a.height
      );
      if (canvas === undefined || canvas.width * canvas.height === 0) {
        return [];
      }
      const data = canvas
        .getContext('2d')
        ?.getImageData(0, 0, canvas.width, canvas.height).data;
      // Counted by number: a text for each of a million pixels takes a second.
      const counts = new Map<number, number>();
      for (const pixel of new Uint32Array(data?.buffer ?? [])) {
        counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
      }
      return [...counts]
        .map(([pixel, pixels]) => ({
          rgb: [...new Uint8Array(Uint32Array.of(pixel).buffer)].join(),
          pixels
        }))
        .sort((a, b) => b.pixels - a.pixels);
    });
  }
}

export type FourPanels = [Panel, Panel, Panel, Panel];

/** All four, in the order of their titles. */
export function panelsOf(page: Page, cluster: string): FourPanels {
  const [stream, metrics, profile, memory] = TITLES;
  return [
    new Panel(page, stream, cluster),
    new Panel(page, metrics, cluster),
    new Panel(page, profile, cluster),
    new Panel(page, memory, cluster)
  ];
}
