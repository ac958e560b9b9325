/**
 * Stands between the page and the relay: makes what the relay sends later by a fixed time, and writes down when tiles were asked for and
 * when they came.
 *
 *   page ──tiles──► │ ──► relay ──► observer
 *   page ◄──+100 ms─│ ◄── relay ◄── tile          firstTile = from the question's passing to the tile's
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from '@playwright/test';
import { FrameDecoder } from '../src/wire/frame';

const LIMIT_MILLISECONDS = 60_000;
const QUIET_MILLISECONDS = 1500;

export class RelayWatch {
  /** When it was last told to forget, in ms of performance.now(). */
  since = performance.now();

  private _asked: number | null = null;
  private _answered: number | null = null;
  private _lastTraffic = 0;

  constructor(private readonly _addedMilliseconds: number) {}

  async attach(page: Page): Promise<void> {
    await page.routeWebSocket(/\/spanwise\/ws/, socket => {
      const server = socket.connectToServer();
      const questions = new FrameDecoder('panel', 'up');
      const answers = new FrameDecoder('panel', 'down');
      socket.onMessage(body => {
        if (typeof body !== 'string') {
          const { type } = questions.decode(new Uint8Array(body));
          if (type === 'tiles') {
            this._asked ??= performance.now();
            this._lastTraffic = performance.now();
          }
        }
        server.send(body);
      });
      server.onMessage(body => {
        if (typeof body !== 'string') {
          const { type } = answers.decode(new Uint8Array(body));
          if (type === 'tile' && this._asked !== null) {
            this._answered ??= performance.now();
            this._lastTraffic = performance.now();
          }
        }
        setTimeout(() => socket.send(body), this._addedMilliseconds);
      });
    });
  }

  forget(): void {
    this._asked = null;
    this._answered = null;
    this.since = performance.now();
  }

  /** Milliseconds from the first question for tiles since `forget` to the first tile, without the added time. */
  async firstTile(): Promise<number> {
    const limit = performance.now() + LIMIT_MILLISECONDS;
    while (this._asked === null || this._answered === null) {
      if (performance.now() > limit) {
        throw new Error('No tile came.');
      }
      await pause(2);
    }
    return this._answered - this._asked;
  }

  /** When that tile was given to the page. */
  async firstTileArrival(): Promise<number> {
    await this.firstTile();
    return (this._answered ?? NaN) + this._addedMilliseconds;
  }

  /** Nothing is asked or answered any more. */
  async quiet(): Promise<void> {
    this._lastTraffic = performance.now();
    const limit = performance.now() + LIMIT_MILLISECONDS;
    while (
      performance.now() - this._lastTraffic < QUIET_MILLISECONDS &&
      performance.now() < limit
    ) {
      await pause(50);
    }
  }
}
