/** A panel's link by itself, with a clock that the test moves. */
import { Clusters } from '../clusters';
import { PanelSession } from '../panel-session';
import { WorkQueue } from '../work-queue';

beforeEach(() => jest.useFakeTimers());
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** A session, and what it sends. */
function opened() {
  const note = () => undefined;
  const clusters = new Clusters({ queue: new WorkQueue(), note });
  const failed: unknown[] = [];
  let handlers!: {
    messages(batch: readonly unknown[]): void;
    drained(): void;
    closed(): void;
  };
  const link = {
    start: (given: typeof handlers) => (handlers = given),
    send: (type: string, fields: unknown) =>
      type === 'failure' && failed.push(fields),
    pause: jest.fn(),
    resume: jest.fn()
  };
  new PanelSession(link as never, clusters, new WorkQueue(), note);
  const query = (id: number) =>
    handlers.messages([
      {
        type: 'watch',
        fields: { id, cluster: 'c1', view: 'summary', maxHz: 0, afterSeq: 3 }
      }
    ]);
  return {
    failed,
    link,
    query,
    ask: (messages: readonly unknown[]) => handlers.messages(messages),
    drain: () => handlers.drained(),
    close: () => handlers.closed()
  };
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

describe('of more requests than one turn takes', () => {
  const ask = () => {
    const session = opened();
    // Three milliseconds from one look at the clock to the next: a share of four takes one request.
    let now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => (now += 3));
    const tiles = { level: 1, first: 0, count: 1 };
    session.ask(
      Array.from({ length: 50 }, (_, id) => ({
        type: 'tiles',
        fields: { id, ...tiles }
      }))
    );
    return session;
  };

  it('takes a share in each, however often the socket has room', () => {
    const { failed, link, drain } = ask();
    expect(failed).toHaveLength(1);
    for (let i = 0; i < 20; i++) {
      drain();
    }
    expect(failed).toHaveLength(1);
    expect(link.resume).not.toHaveBeenCalled();
    jest.runAllTimers();
    expect(failed).toHaveLength(50);
    expect(
      [link.pause, link.resume].map(each => each.mock.calls.length)
    ).toEqual([1, 1]);
  });

  it('leaves the rest of one that closes', () => {
    const { failed, close } = ask();
    close();
    expect(jest.getTimerCount()).toBe(0);
    expect(failed).toHaveLength(1);
  });
});
