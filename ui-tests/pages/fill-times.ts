/**
 * How long the four panels take to have figures, by the page's own clock: from the event of the last click to the frame in which each
 * figure is there. What looks from outside looks each second at last, and would count the time between two looks.
 */
import type { Page } from '@playwright/test';

/** What says that a panel is filled: a selector within it, and what must be of it then. */
const SIGNS = {
  'Task Stream': ['[aria-label="Legend"]', 'names'],
  'Fine Performance Metrics': ['[aria-label="By function"]', 'names'],
  'Memory Sampler': ['.scatterlayer path.js-line', 'line'],
  Profile: ['[role="application"][aria-label="Profile chart"]', 'seen']
} as const;

/** In the page: milliseconds of its clock. */
type Told = { clicked: number; seen: Record<string, number> };
type PageOfTimes = Window & { swFillTimes?: Told };

/**
 * From now on the page notes its last click, and what is filled since; to be called before the click.
 * @param cluster - the name of the cluster that panels must show, or how it begins
 */
export async function noteFillTimes(
  page: Page,
  functionName: string,
  cluster = ''
): Promise<void> {
  await page.evaluate(
    ({ signs, name, of }) => {
      const told: Told = { clicked: performance.now(), seen: {} };
      (window as PageOfTimes).swFillTimes = told;
      const clicked = (event: Event) => {
        told.clicked = event.timeStamp;
        told.seen = {};
      };
      document.addEventListener('click', clicked, true);
      const isFilled = (title: string, selector: string, sign: string) => {
        const panel = `section[aria-label^="${title}, ${of}"]`;
        const found = document.querySelector(`${panel} ${selector}`);
        if (found?.checkVisibility() !== true) {
          return false;
        }
        return (
          sign === 'seen' ||
          (sign === 'names'
            ? found.textContent.includes(name)
            : found.getAttribute('d')?.includes('L') === true)
        );
      };
      const look = (now: number) => {
        if ((window as PageOfTimes).swFillTimes !== told) {
          document.removeEventListener('click', clicked, true);
          return;
        }
        for (const [title, [selector, sign]] of Object.entries(signs)) {
          if (!(title in told.seen) && isFilled(title, selector, sign)) {
            told.seen[title] = now;
          }
        }
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    },
    { signs: SIGNS, name: functionName, of: cluster }
  );
}

/** Waits until all four have figures; then the page notes no more. @returns seconds since the last click, by panel. */
export async function fillTimes(
  page: Page,
  timeout: number
): Promise<Readonly<Record<string, number>>> {
  const told = await page.waitForFunction(
    count => {
      const of = window as PageOfTimes;
      const times = of.swFillTimes;
      if (times === undefined || Object.keys(times.seen).length < count) {
        return null;
      }
      delete of.swFillTimes;
      return times;
    },
    Object.keys(SIGNS).length,
    { timeout }
  );
  const { clicked, seen } = (await told.jsonValue()) as Told;
  return Object.fromEntries(
    Object.entries(seen).map(([title, at]) => [title, (at - clicked) / 1000])
  );
}
