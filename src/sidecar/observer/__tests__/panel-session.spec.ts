/** A panel's link by itself, with a clock that the test moves. */
import { Clusters } from '../clusters';
import { PanelSession } from '../panel-session';
import { WorkQueue } from '../work-queue';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A session, and what it sends. */
function opened() {
  const note = () => undefined;
  const clusters = new Clusters({ queue: new WorkQueue(), note });
  const failed: unknown[] = [];
  let handlers!: {
    messages(batch: readonly unknown[]): void;
    closed(): void;
  };
  const link = {
    start: (given: typeof handlers) => (handlers = given),
    send: (type: string, fields: unknown) =>
      type === 'failure' && failed.push(fields)
  };
  new PanelSession(link as never, clusters, new WorkQueue(), note);
  const query = (id: number) =>
    handlers.messages([
      {
        type: 'watch',
        fields: { id, cluster: 'c1', view: 'summary', maxHz: 0, afterSeq: 3 }
      }
    ]);
  return { failed, query, close: () => handlers.closed() };
}

it('waits ten seconds for a cluster of which the asker knows', () => {
  const { failed, query } = opened();
  query(1);
  jest.advanceTimersByTime(9_999);
  expect(failed).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(failed).toEqual([
    { id: 1, sentence: expect.stringContaining('No cluster c1 is known here') }
  ]);
});

it('lets so many wait, and none for a link that is closed', () => {
  const { failed, query, close } = opened();
  for (let id = 0; id < 300; id++) {
    query(id);
  }
  expect(failed).toHaveLength(300 - 256);
  close();
  expect(jest.getTimerCount()).toBe(0);
});
