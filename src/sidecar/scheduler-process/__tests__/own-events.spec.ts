import { decode } from '@msgpack/msgpack';
import type { AcceptedLink } from '../../../link/door';
import { ClusterState } from '../cluster-state';
import { OwnEvents, type ComingParts } from '../own-events';
import type { SharedMessage } from '../shared-state';
import type { Happening } from '../task-events';
import { Topics, packedOf } from '../topics';
import type { WorkerSession } from '../worker-session';

const worker = (address: string): WorkerSession =>
  ({ intro: { address } }) as unknown as WorkerSession;

const PARTS: ComingParts = {
  begun: 1,
  tasks: 3,
  newTasks: 2,
  readingSeconds: -1e-9,
  settingSeconds: 0.5,
  hasDefault: false
};

/** What there is of each topic. */
function keptBy(act: (own: OwnEvents) => void): Record<string, unknown[]> {
  const topics = new Topics<string>();
  act(
    new OwnEvents((names, event) =>
      names.forEach(name => topics.log(name, 0, event))
    )
  );
  return Object.fromEntries(
    topics
      .read(null)
      .map(({ name, events }) => [
        name,
        events.map(({ content }) => decode(packedOf(content)))
      ])
  );
}

describe('events of the scheduler', () => {
  it('tell of a graph under two topics, without negative durations', () => {
    const kept = keptBy(own => {
      own.graph(4, 'update-graph-7', PARTS, 1e9, -1e-9);
      own.graph(4, 'update-graph-8', PARTS, 1e9, 2, true);
    });
    expect(Object.keys(kept)).toEqual(['scheduler', 'client-4']);
    expect(kept['client-4']).toEqual(kept.scheduler);
    const metrics = {
      tasks: 3,
      new_tasks: 2,
      start_timestamp_seconds: 1e9,
      duration_seconds: 0,
      materialization_duration_seconds: 0,
      state_initialization_duration_seconds: 0.5
    };
    const action = 'update-graph';
    expect(kept.scheduler).toEqual([
      { action, stimulus_id: 'update-graph-7', status: 'OK', metrics },
      {
        action,
        stimulus_id: 'update-graph-8',
        status: 'error',
        metrics: { ...metrics, duration_seconds: 2 }
      }
    ]);
  });

  it('tell what was done to workers', () => {
    const kept = keptBy(own => {
      own.restarted(1, ['a']);
      own.retired(['b'], ['c']);
      own.scattered(2, 5);
    });
    const [restarted, retired, scattered] = [
      { action: 'restart-workers', workers: ['a'], client: 'client-1' },
      {
        action: 'retire-workers',
        retired: ['b'],
        'could-not-retire': ['c']
      },
      { action: 'scatter', client: 'client-2', count: 5 }
    ];
    expect(kept).toEqual({
      all: [restarted, retired, scattered],
      'client-1': [restarted],
      b: [{ action: 'retired' }],
      'client-2': [scattered]
    });
  });

  it('are told though nobody listens, and reach who subscribed', () => {
    const state = new ClusterState(
      () => 5,
      0,
      () => undefined
    );
    const sent: unknown[] = [];
    const client = {
      queuedBytes: 0,
      send: (type: string, fields: object, _: object, blobs?: Uint8Array[]) =>
        sent.push({ type, ...fields, says: blobs?.map(each => decode(each)) })
    } as unknown as AcceptedLink<'client'>;
    const fields = { topic: 'all', on: true };
    state.shared.take(
      { type: 'subscribe', fields } as unknown as SharedMessage,
      client
    );
    state.events.clientCame(3);
    state.events.workerLeft(worker('tcp://w'), 'died', false);
    // Nobody is named so.
    state.events.workerLeft(worker('x'.repeat(3_000)), 'died', true);
    const facts = { type: 'event', topic: 'all', t: 5, lost: 0 };
    expect(sent.slice(0, 2)).toEqual([
      { ...facts, says: [{ action: 'add-client', client: 'client-3' }] },
      {
        ...facts,
        says: [
          {
            action: 'remove-worker',
            worker: 'tcp://w',
            stimulus_id: 'remove-worker-0',
            expected: false
          }
        ]
      }
    ]);
    expect(sent).toHaveLength(3);
  });

  it('are told under each topic to plugins, and packed for nobody else', () => {
    const state = new ClusterState(
      () => 5,
      0,
      () => undefined
    );
    const pack = jest.fn(() => Uint8Array.of(1));
    state.events.loggedOwn(['all'], { length: 1, pack });
    expect(pack).not.toHaveBeenCalled();
    const heard: Happening[] = [];
    state.events.listen({ hear: happened => heard.push(...happened) });
    state.ownEvents.graph(4, 'update-graph-7', PARTS, 1e9, 1);
    state.events.clientCame(3);
    state.events.flush();
    const told = heard.map(each =>
      each.what === 'log-event'
        ? [each.topic, decode(each.content!)]
        : each.what
    );
    const graph = expect.objectContaining({
      action: 'update-graph',
      stimulus_id: 'update-graph-7'
    }) as unknown;
    const came = { action: 'add-client', client: 'client-3' };
    expect(told).toEqual([
      ['scheduler', graph],
      ['client-4', graph],
      ['all', came],
      ['client-3', came],
      'add-client'
    ]);
  });
});
