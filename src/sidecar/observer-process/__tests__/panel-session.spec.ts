/** A panel's link by itself, with a clock that the test moves. */
import { Answers } from '../answers';
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
        fields: {
          ...{ id, cluster: 'c1', view: 'summary', filter: {}, params: {} },
          ...{ maxHz: 0, afterSeq: 3 }
        }
      }
    ]);
  const asked: unknown[] = [];
  jest.spyOn(Answers.prototype, 'get').mockImplementation(question => {
    asked.push(question);
    return Promise.resolve({ version: '', milliseconds: 0 } as never);
  });
  return {
    failed,
    /** The questions that were to be answered. */
    asked,
    appear: () => clusters.open({ clusterId: 'c1', logId: 'log' } as never),
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

it('asks what a watch was changed to while it waited for its cluster', () => {
  const { failed, asked, appear, ask } = opened();
  const change = (fields: object) =>
    ask([{ type: 'change', fields: { id: 1, ...fields } }]);
  const question = { view: 'tasks', filter: {}, params: {}, time: 'all' };
  ask([
    {
      type: 'watch',
      fields: { id: 1, cluster: 'c1', ...question, expected: true }
    }
  ]);
  jest.advanceTimersByTime(9_000);
  change({ time: { last: 7 } });
  change({ params: { sort: 'duration' } });
  expect(failed).toEqual([]);
  appear();
  expect(asked).toEqual([
    {
      ...question,
      time: { last: 7 },
      params: expect.objectContaining({ sort: 'duration' })
    }
  ]);
  jest.advanceTimersByTime(1_000);
  expect(failed).toEqual([]);
});

it('lets a watch that was changed wait no longer than the others', () => {
  const { failed, query, ask } = opened();
  query(1);
  jest.advanceTimersByTime(9_000);
  ask([{ type: 'change', fields: { id: 1, time: { last: 7 } } }]);
  jest.advanceTimersByTime(1_000);
  expect(failed).toHaveLength(1);
});

it('does not ask what a watch was before a change that is too long', () => {
  const { failed, asked, appear, ask } = opened();
  const question = { view: 'tasks', filter: {}, params: {}, time: 'all' };
  const watch = { cluster: 'c1', ...question, expected: true };
  ask([1, 2].map(id => ({ type: 'watch', fields: { id, ...watch } })));
  const params = { text: 'x'.repeat(70_000) };
  ask([{ type: 'change', fields: { id: 1, params } }]);
  expect(failed).toEqual([
    { id: 1, sentence: expect.stringContaining('characters') }
  ]);
  appear();
  // That of the other.
  expect(asked).toHaveLength(1);
});

it('asks again what a watch was before a change that is too long', () => {
  const { failed, asked, appear, ask } = opened();
  const question = { view: 'tasks', filter: {}, params: {}, time: 'all' };
  appear();
  ask([
    { type: 'watch', fields: { id: 1, cluster: 'c1', ...question } },
    {
      type: 'change',
      fields: { id: 1, params: { text: 'x'.repeat(70_000) } }
    },
    { type: 'change', fields: { id: 1, params: {} } }
  ]);
  expect(failed).toHaveLength(1);
  expect(asked).toHaveLength(2);
  expect(asked[1]).toEqual(asked[0]);
});

it('keeps a first question that is too long until it is short enough', () => {
  const { failed, asked, appear, ask } = opened();
  const question = { view: 'tasks', filter: {}, params: {}, time: 'all' };
  const long = { text: 'x'.repeat(70_000) };
  const change = (fields: object) =>
    ask([{ type: 'change', fields: { id: 1, ...fields } }]);
  ask([
    {
      type: 'watch',
      fields: { id: 1, cluster: 'c1', ...question, params: long }
    }
  ]);
  const tooLong = { id: 1, sentence: expect.stringContaining('70,013') };
  expect(failed).toEqual([tooLong]);
  // Whatever becomes of its cluster, the page is told once; of each change it is.
  appear();
  jest.advanceTimersByTime(20_000);
  expect(failed).toEqual([tooLong]);
  change({ time: { last: 7 } });
  expect([failed, asked]).toEqual([[tooLong, tooLong], []]);
  ask([{ type: 'tiles', fields: { id: 1, level: 1, first: 0, count: 1 } }]);
  expect(failed).toHaveLength(2);
  change({ params: {} });
  expect(asked).toEqual([
    { ...question, params: expect.anything(), time: { last: 7 } }
  ]);
  expect(failed).toHaveLength(2);
});

it('does not take the time of a change for one to what was refused', () => {
  const { failed, asked, appear, ask } = opened();
  const question = { view: 'tasks', filter: {}, params: {}, time: 'all' };
  appear();
  ask([
    { type: 'watch', fields: { id: 1, cluster: 'c1', ...question } },
    {
      type: 'change',
      fields: { id: 1, params: { text: 'x'.repeat(70_000) } }
    },
    { type: 'change', fields: { id: 1, time: { last: 7 } } }
  ]);
  // The page still shows the long parameters.
  expect(failed).toHaveLength(2);
  expect(asked).toHaveLength(1);
});

it('refuses a filter and parameters that are too long together', () => {
  const { failed, asked, appear, ask } = opened();
  const functions = ['f'.repeat(40_000)];
  const change = (params: object) =>
    ask([{ type: 'change', fields: { id: 1, params } }]);
  appear();
  ask([
    {
      type: 'watch',
      fields: {
        ...{ id: 1, cluster: 'c1', view: 'tasks', time: 'all' },
        ...{ filter: { functions }, params: {} }
      }
    }
  ]);
  change({ text: 'x'.repeat(40_000) });
  expect(failed).toHaveLength(1);
  change({ text: 'x'.repeat(20_000) });
  expect(failed).toHaveLength(1);
  expect(asked).toHaveLength(2);
});

it('answers a watch when its cluster comes, long after it has said there is none', () => {
  const { failed, asked, appear, ask } = opened();
  const question = { view: 'tasks', filter: {}, params: {}, time: 'all' };
  for (const [id, expected] of [
    [1, true],
    [2, false]
  ]) {
    ask([
      { type: 'watch', fields: { id, cluster: 'c1', ...question, expected } }
    ]);
  }
  jest.advanceTimersByTime(60_000);
  expect(failed).toHaveLength(2);
  appear();
  expect(asked).toHaveLength(2);
  // It was told of no other ending.
  expect(failed).toHaveLength(2);
});

it('gives the place of a query free that has been refused', () => {
  const { failed, appear, ask } = opened();
  const query = { cluster: 'c1', view: 'tasks', filter: {}, maxHz: 0 };
  const params = { text: 'x'.repeat(70_000) };
  for (const isThere of [false, true]) {
    if (isThere) {
      appear();
    }
    for (let id = 0; id < 300; id++) {
      ask([{ type: 'watch', fields: { id, ...query, params } }]);
      ask([
        { type: 'watch', fields: { id, ...query, params: {}, afterSeq: 3 } }
      ]);
      ask([{ type: 'change', fields: { id, params } }]);
    }
  }
  expect(JSON.stringify(failed)).not.toContain('close some panels');
  expect(failed).toHaveLength(2 * 2 * 300);
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
