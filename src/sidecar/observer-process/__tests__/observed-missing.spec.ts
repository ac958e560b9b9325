import { emptyCluster } from '../../../testing/observed-cluster';
import { rowsToBlock } from '../../../testing/rows-to-block';
import { encoded } from './observer-fixture';

/** What is said to be missing in the figures of a log with this header. */
function missing(
  header: Readonly<Record<string, unknown>>
): string | undefined {
  const cluster = emptyCluster();
  const rows = [{ t: 0, json: JSON.stringify(header) }];
  cluster.take([encoded(rowsToBlock(1, 'header', rows))]);
  return cluster.info().dropped;
}

describe('what is missing', () => {
  it('is also what a source does not get to know', () => {
    const notTold = 'Not known here: spans (the scheduler takes no plugins).';
    expect(missing({})).toBeUndefined();
    expect(missing({ notTold: '' })).toBeUndefined();
    expect(missing({ notTold: ['<b>'] })).toBeUndefined();
    expect(missing({ notTold })).toBe(notTold);
    expect(missing({ notTold, attached: 4 })).toMatch(
      /^The first 4.* is shown\. Not known here: /
    );
  });
});
