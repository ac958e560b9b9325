/** What a page takes of the processors: by its main thread's own clock, so that a busy machine makes it no larger, and by function. */
import { writeFileSync } from 'node:fs';
import type { CDPSession, Page } from '@playwright/test';

/** Seconds of the main thread's processor time. */
type PageSeconds = {
  readonly all: number;
  readonly script: number;
  readonly style: number;
};

/** Between two bins of the profile. */
const SAMPLE_MICROSECONDS = 500;

export class PageCpu {
  private constructor(private readonly _session: CDPSession) {}

  static async of(page: Page): Promise<PageCpu> {
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    return new PageCpu(session);
  }

  async seconds(): Promise<PageSeconds> {
    const { metrics } = await this._session.send('Performance.getMetrics');
    const known = new Map(metrics.map(({ name, value }) => [name, value]));
    const of = (name: string) => known.get(name) ?? NaN;
    return {
      all: of('TaskDuration'),
      script: of('ScriptDuration'),
      style: of('RecalcStyleDuration') + of('LayoutDuration')
    };
  }

  async beginProfile(): Promise<void> {
    await this._session.send('Profiler.enable');
    await this._session.send('Profiler.setSamplingInterval', {
      interval: SAMPLE_MICROSECONDS
    });
    await this._session.send('Profiler.start');
  }

  /** Writes a file that Chromium's developer tools open. */
  async endProfile(file: string): Promise<void> {
    const { profile } = await this._session.send('Profiler.stop');
    writeFileSync(file, JSON.stringify(profile));
  }

  async close(): Promise<void> {
    await this._session.detach();
  }
}
