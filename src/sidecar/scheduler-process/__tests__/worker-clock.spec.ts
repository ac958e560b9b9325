import { waitFor } from '../../../testing/wait-for';
import { WireCluster } from '../../../testing/wire-cluster';
import { monotonicClock } from '../../../link/monotonic';
import type { Seconds } from '../../../base/brand';

describe("a worker that asks for the scheduler's clock", () => {
  it('gets it, and its own reading as it sent it', async () => {
    const wire = await WireCluster.start({ nWorkers: 1 });
    try {
      const worker = wire.workers[0]!;
      const clock = monotonicClock();
      const before = clock();
      const sent = 12_345.678 as Seconds;
      worker.link.send('askClock', {
        sent,
        offset: 3 as Seconds,
        within: 0.001 as Seconds
      });
      const { fields } = await waitFor(
        'the answer',
        () => worker.messages('clockIs')[0]
      );
      expect(fields.sent).toBe(sent);
      expect(fields.clock).toBeGreaterThanOrEqual(before);
      expect(fields.clock).toBeLessThanOrEqual(clock());
    } finally {
      await wire.end();
    }
  });
});
