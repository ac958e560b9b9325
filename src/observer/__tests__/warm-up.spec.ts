import { compileFilter } from '../filter';
import { complete } from '../folds/context';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import {
  atLeast,
  scanParts,
  scanRuns,
  showsExecutions
} from '../tiles/scan-rows';
import { WARM_UP_FILTERS, warmUp, warmUpBlocks } from '../warm-up';

it('warms up in slices and ends', () => {
  const slices = warmUp();
  expect(slices.next().done).toBe(false);
  expect(() => complete(slices)).not.toThrow();
});

it('draws in each way that tiles are drawn', () => {
  const log = new LogStore('warm-up');
  for (const block of warmUpBlocks()) {
    ingestBlock(log, block);
  }
  const ways = new Set<string>();
  for (const given of WARM_UP_FILTERS) {
    const filter = compileFilter(given, log);
    const by = showsExecutions(filter) ? 'by function' : 'by others';
    const all = [log, filter, atLeast(0), -Infinity, Infinity] as const;
    complete(
      scanRuns(...all, (row, _lane, _from, duration) => {
        const whole = log.runs.chunkOf(row)!.columns.duration[row];
        const what = duration === whole ? 'a run' : 'an execution of its own';
        ways.add(`${by}: ${what}`);
      })
    );
    complete(
      scanParts(...all, (...figures) => {
        ways.add(`${by}: ${figures[7] ? 'an execution' : 'a part'}`);
      })
    );
  }
  expect([...ways].sort()).toEqual([
    'by function: a part',
    'by function: a run',
    'by function: an execution',
    'by function: an execution of its own',
    'by others: a part',
    'by others: a run'
  ]);
});
