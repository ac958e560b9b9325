/** What a page gets, held back for as long as a test likes: what it says meanwhile is then not a matter of how fast the machine is. */
import type { Page, WebSocketRoute } from '@playwright/test';

type Gate = {
  /** From now on. */
  hold(): void;
  /** What was held, in its order, and all that comes. */
  release(): void;
};

/** For messages of the observer to a page that has not been loaded yet. */
export async function observerLink(page: Page): Promise<Gate> {
  let held: (() => void)[] | null = null;
  await page.routeWebSocket(/spanwise\/ws/, (socket: WebSocketRoute) => {
    const server = socket.connectToServer();
    server.onMessage(message => {
      const pass = () => socket.send(message);
      if (held === null) {
        pass();
      } else {
        held.push(pass);
      }
    });
  });
  return {
    hold: () => {
      held ??= [];
    },
    release: () => {
      const waiting = held ?? [];
      held = null;
      waiting.forEach(pass => pass());
    }
  };
}

/** Holds the scripts that a page asks for from now on, until the function returned is called. */
export async function holdScripts(page: Page): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>(resolve => (release = resolve));
  await page.route(/\.js(\?|$)/u, async route => {
    await released;
    await route.continue();
  });
  return release;
}
