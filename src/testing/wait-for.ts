/** How long a test waits before it fails: the machine may be busy. */
const LIMIT_SECONDS = 60;

/**
 * Waits until `condition` gives something other than undefined or false, and returns that.
 *
 * @throws Error naming `what` when it takes too long.
 */
export async function waitFor<T>(
  what: string,
  condition: () => T | undefined | false
): Promise<T> {
  const end = performance.now() + LIMIT_SECONDS * 1000;
  for (;;) {
    const found = condition();
    if (found !== undefined && found !== false) {
      return found;
    }
    if (performance.now() > end) {
      throw new Error(`Not within ${LIMIT_SECONDS} s: ${what}`);
    }
    await new Promise(resolve => setTimeout(resolve, 2));
  }
}
