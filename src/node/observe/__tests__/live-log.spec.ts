/** The wall clock at a log's start, by which its stamps and those of the package's own `Profiler` are put beside each other. */
import { epochSeconds } from '../../diagnostics/clock';
import type { LogDescription } from '../log-sink';
import { LiveLog } from '../live-log';

const wait = (ms: number) => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

/** A wall clock that is so far ahead of the profilers', whatever that of this machine says. */
function wallClock(aheadMs: number, lose: { before?: number; after?: number }) {
  return jest.spyOn(Date, 'now').mockImplementation(() => {
    wait(lose.before ?? 0);
    const ms = performance.timeOrigin + performance.now() + aheadMs;
    wait(lose.after ?? 0);
    return Math.floor(ms);
  });
}

/** Of a new log: its start by the profilers' clock at the earliest and at the latest, and as it is told. */
async function started() {
  let description: LogDescription | undefined;
  const earliest = epochSeconds();
  const live = new LiveLog('clocks', {
    open: opened => (description = opened),
    write: () => undefined,
    flush: () => Promise.resolve(),
    end: () => Promise.resolve()
  });
  const latest = epochSeconds();
  const { wallEpoch, start } = description!;
  await live.end('closed');
  return { earliest, latest, wallEpoch, start, now: live.now };
}

describe('a log begins by the wall clock', () => {
  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['before the wall clock is read', { before: 34 }],
    ['after the wall clock is read', { after: 34 }],
    ['on both sides of it', { before: 34, after: 34 }]
  ])('when a Profiler says so, though the core is lost %s', async (_, lose) => {
    wallClock(0, lose);
    const { wallEpoch, start, now } = await started();
    // A reading of the profilers' clock lies between two of the log's.
    const [before, epoch, after] = [now(), epochSeconds(), now()] as const;
    expect(wallEpoch + (before - start)).toBeLessThanOrEqual(epoch + 1e-6);
    expect(wallEpoch + (after - start)).toBeGreaterThanOrEqual(epoch - 1e-6);
  });

  it.each([
    [1000, {}],
    [-1000, {}],
    [60, {}],
    [1000, { before: 10, after: 30 }]
  ])(
    'when the wall clock says so, if it has come apart by %d ms, and the core is lost %j',
    async (aheadMs, lose) => {
      wallClock(aheadMs, lose);
      const { earliest, latest, wallEpoch } = await started();
      // The clock counts whole milliseconds, and is read in the middle of a look, as far as is known.
      const slack = 0.001 + (latest - earliest) / 2 + 1e-6;
      expect(wallEpoch - aheadMs / 1000).toBeGreaterThan(earliest - slack);
      expect(wallEpoch - aheadMs / 1000).toBeLessThan(latest + slack);
    }
  );
});
