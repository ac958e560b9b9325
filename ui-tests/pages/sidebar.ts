/** The Spanwise tab: the span tree and the gallery. */
import { expect, type Locator, type Page } from '@playwright/test';
import type { PanelTitle } from './panel';

/** What a kernel or a scheduler on a busy machine is told to have done. */
export const LATE = /did not answer in time|has not answered for/u;

/** An offer may go just before it is clicked again: it is looked for after so long. */
const AGAIN_MS = 15_000;

type Place = { readonly x: number; readonly y: number };

export class Sidebar {
  constructor(private readonly _page: Page) {}

  async show(): Promise<void> {
    const tab = this._page.getByRole('tab', { name: 'Spanwise', exact: true });
    if ((await tab.getAttribute('aria-selected')) !== 'true') {
      await tab.click();
    }
    await expect(this.gallery).toBeVisible();
  }

  get root(): Locator {
    return this._page.locator('.sw-sidebar');
  }

  /** Of the cluster that is shown: its name, state and counts. */
  card(cluster: string): Locator {
    return this.root.getByRole('group', { name: `Cluster ${cluster}` });
  }

  get gallery(): Locator {
    return this.root.getByRole('list', { name: 'Panels' });
  }

  item(title: PanelTitle): Locator {
    return this.gallery.getByRole('button', { name: title, exact: true });
  }

  get tree(): Locator {
    return this.root.getByRole('tree', { name: 'Spans' });
  }

  span(tag: string): Locator {
    return this.tree.getByRole('treeitem', { name: tag, exact: true });
  }

  /** One click on a span's name. */
  async pick(tag: string): Promise<void> {
    await this.span(tag).locator('.sw-span-tree-tag').first().click();
  }

  /** The notebook at the left, the four panels beside it. */
  async openDefaultLayout(): Promise<void> {
    await this.root.getByRole('button', { name: 'Default layout' }).click();
  }

  /** A Dask cluster of the notebook in front that is not shown. */
  get offer(): Locator {
    return this.root.getByRole('group', { name: /^Dask cluster / });
  }

  /** By the offer's button, until the cluster is shown or it says why not; again where the answer was too late. */
  async showOffer(): Promise<void> {
    const problem = this.offer.locator('[role=alert]:not([data-read])');
    let said = '';
    do {
      const show = this.offer.getByRole('button', {
        name: /^Show Dask cluster/u
      });
      try {
        await show.click({ timeout: said === '' ? undefined : AGAIN_MS });
      } catch (error) {
        if ((await this.offer.count()) > 0) {
          if (said === '') {
            throw error;
          }
          continue;
        }
      }
      await expect
        .poll(
          async () =>
            (await this.offer.count()) === 0 || (await problem.count()) > 0
        )
        .toBe(true);
      said = (await problem.allTextContents()).join();
      // (none may be there any more: it may be shown meanwhile)
      await problem.evaluateAll(nodes =>
        nodes.forEach(node => node.setAttribute('data-read', ''))
      );
    } while (LATE.test(said) && (await this.offer.count()) > 0);
  }

  /** Opens the menu of a card until it has an entry with this text: it lists what the page knows when it opens. */
  async clusterEntry(cluster: string, text: string): Promise<Locator> {
    const entry = this._page.getByRole('menuitem').filter({ hasText: text });
    await expect(async () => {
      await this.card(cluster)
        .getByRole('button', { name: 'Choose cluster' })
        .click();
      try {
        await expect(entry).toHaveCount(1, { timeout: 5_000 });
      } catch (error) {
        await this._page.keyboard.press('Escape');
        throw error;
      }
    }).toPass({ timeout: 90_000 });
    return entry;
  }

  async clearFilter(): Promise<void> {
    await this.root.getByRole('button', { name: 'Clear filter' }).click();
  }

  /** Press on the panel, move in steps, drop: at a share of the target's width and height. */
  async drag(title: PanelTitle, target: Locator, at: Place): Promise<void> {
    const { mouse } = this._page;
    const to = await boxOf(target);
    const x = to.x + to.width * at.x;
    const y = to.y + to.height * at.y;
    await this.item(title).hover({ position: { x: 80, y: 20 } });
    await mouse.down();
    const from = await boxOf(this.item(title));
    await mouse.move(from.x + 90, from.y + 28, { steps: 3 });
    await expect(this._page.locator('.sw-drag-image')).toBeVisible();
    await mouse.move(x, y, { steps: 12 });
    await expect(this._page.locator('.lm-DockPanel-overlay')).toBeVisible();
    await mouse.up();
  }
}

export async function boxOf(
  locator: Locator
): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await locator.boundingBox();
  if (box === null) {
    throw new Error(`${locator} has no box: it is not shown.`);
  }
  return box;
}
