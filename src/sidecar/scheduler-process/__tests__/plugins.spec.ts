import { Plugins } from '../plugins';
import type { WorkerRequests } from '../worker-requests';
import type { WorkerSession } from '../worker-session';

/** Plugins of workers that answer when they are told to, with a clock of their own. */
function workers() {
  const answers = new Map<string, (ok: boolean, why: string) => void>();
  const requests: Pick<WorkerRequests, 'plugin'> = {
    plugin: (session, name, _, answered) =>
      answers.set(`${session.id} ${name}`, (ok, why) =>
        answered({ fields: { request: 1, ok, why }, blobs: [] } as never)
      )
  };
  const plugins = new Plugins(requests as WorkerRequests);
  const told: string[] = [];
  const ended: number[] = [];
  plugins.host = {
    warn: sentence => told.push(sentence),
    end: worker => ended.push(worker)
  };
  const answer = (which: string, ok = true, why = ''): void =>
    answers.get(which)!(ok, why);
  return { plugins, told, ended, answer };
}

const session = (id: number, isReady = true): WorkerSession =>
  ({ id, isReady }) as WorkerSession;
const payload = new Uint8Array(1);

describe('a plugin that takes long', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('is told with its workers, again and again, until they have answered', () => {
    const { plugins, told, answer } = workers();
    plugins.keep('slow', payload);
    const done = jest.fn();
    plugins.send(
      [1, 0].map(id => session(id)),
      'slow',
      payload,
      done
    );
    jest.advanceTimersByTime(29_000);
    expect(told).toEqual([]);
    jest.advanceTimersByTime(2_000);
    expect(told).toEqual([
      'worker-0, worker-1 have been setting up the plugin "slow" for 30 s. If it waits for something that does not come, ' +
        'interrupt the call that waits for it, then client.restart_workers(["worker-0", "worker-1"]) ends it there.'
    ]);
    answer('1 slow');
    jest.advanceTimersByTime(31_000);
    expect(told).toHaveLength(2);
    expect(told[1]).toMatch(/^worker-0 has been .* for 60 s\./);
    jest.advanceTimersByTime(3_600_000);
    expect(told.length).toBeGreaterThan(6);
    const before = told.length;
    answer('0 slow');
    expect(done).toHaveBeenCalledWith([]);
    jest.advanceTimersByTime(3_600_000);
    expect(told).toHaveLength(before);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('of very many workers is told with the first of them, and with a call that restarts these', () => {
    const { plugins, told } = workers();
    plugins.keep('slow', payload);
    const sessions = Array.from({ length: 40 }, (_, id) => session(id));
    plugins.send(sessions.reverse(), 'slow', payload, () => undefined);
    jest.advanceTimersByTime(31_000);
    const names = Array.from({ length: 16 }, (_, id) => `worker-${id}`);
    expect(told).toEqual([
      expect.stringMatching(
        `^${names.join(', ')} and 24 more have been setting up the plugin "slow" for 30 s\\. `
      )
    ]);
    const call = `client.restart_workers([${names.map(name => `"${name}"`).join(', ')}])`;
    expect(told[0]).toContain(`then ${call} ends it on these 16.`);
  });

  it('counts from where a worker begins with it: those before it may be slow', () => {
    const { plugins, told, answer } = workers();
    plugins.keep('first', payload);
    plugins.keep('second', payload);
    plugins.prepare(session(3, false), () => undefined);
    jest.advanceTimersByTime(25_000);
    answer('3 first');
    jest.advanceTimersByTime(25_000);
    expect(told).toEqual([]);
    jest.advanceTimersByTime(6_000);
    expect(told).toEqual([
      expect.stringMatching(/^worker-3 has been .* "second" .*gets no task/)
    ]);
  });

  it('and is given up ends the new workers that still set it up, and no others', () => {
    const { plugins, ended } = workers();
    plugins.keep('slow', payload);
    plugins.prepare(session(3, false), () => undefined);
    plugins.send([session(4)], 'slow', payload, () => undefined);
    jest.advanceTimersByTime(100_000);
    expect(ended).toEqual([]);
    plugins.forget('slow');
    jest.advanceTimersByTime(100_000);
    expect(new Set(ended)).toEqual(new Set([3]));
  });

  it('and is given up ends them at once, however rare the notices are by then', () => {
    const { plugins, ended } = workers();
    plugins.keep('slow', payload);
    plugins.prepare(session(3, false), () => undefined);
    jest.advanceTimersByTime(500_000);
    plugins.forget('slow');
    jest.advanceTimersByTime(10_000);
    expect(new Set(ended)).toEqual(new Set([3]));
  });
});

it('tells what the teardown of a replaced plugin has raised, and fails nothing', () => {
  const { plugins, told, answer } = workers();
  const done = jest.fn();
  plugins.send([session(0)], 'twice', payload, done);
  answer('0 twice', true, 'KeyError: 7');
  expect(done).toHaveBeenCalledWith([]);
  expect(told).toEqual([
    'The plugin that was called "twice" could not be torn down on worker-0 (KeyError: 7). The new plugin is set up all the same.'
  ]);
});
