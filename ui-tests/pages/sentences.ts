/** Collects the sentences of panels while a test goes on: they may be gone before the test looks. */
import type { Page } from '@playwright/test';

/** Everything that panels' strips, states and remarks on loading say from now on, a line each: `Profile, orchard: Ended.` */
export async function sentencesFrom(
  page: Page
): Promise<() => Promise<string>> {
  await page.evaluate(() => {
    const said: string[] = [];
    Object.assign(window, { said });
    const note = () => {
      for (const each of document.querySelectorAll(
        '.sw-strip, .sw-state, .sw-loading'
      )) {
        const panel = each.closest('[aria-label]')?.getAttribute('aria-label');
        said.push(`${panel}: ${each.textContent}`);
      }
    };
    new MutationObserver(note).observe(document.body, {
      subtree: true,
      childList: true,
      characterData: true
    });
    note();
  });
  return () =>
    page.evaluate(() => {
      const { said } = window as unknown as { said: string[] };
      return [...new Set(said)].join('\n');
    });
}
