/**
 * What the scheduler itself logs under topics, as Dask's does. In the scheduler process.
 *
 * ```
 *   all                  workers and clients come and go, workers restart and retire, data is scattered
 *   scheduler            a graph has come
 *   a worker's address   what is about it
 *   a client's id        what is about it
 * ```
 *
 * One event for a graph, none for a task. An event is packed when somebody reads it, not before.
 */
import { packPlain, type Plain } from '../../wire/plain';
import type { Member } from './task-events';
import type { IUnpacked } from './topics';
import type { WorkerSession } from './worker-session';

/** What one is taken to need until it is packed, about: those of graphs are the largest that are frequent. */
const OWN_EVENT_BYTES = 400;

type Says = { readonly action: string; readonly [name: string]: Plain };

class OwnEvent implements IUnpacked {
  readonly length = OWN_EVENT_BYTES;

  constructor(private readonly _says: Says) {}

  pack(): Uint8Array {
    return packPlain(this._says);
  }
}

class GraphEvent implements IUnpacked {
  readonly length = OWN_EVENT_BYTES;

  constructor(
    private readonly _stimulus: string,
    private readonly _parts: ComingParts,
    private readonly _begunAt: number,
    private readonly _seconds: number,
    private readonly _isRefused: boolean
  ) {}

  pack(): Uint8Array {
    const { tasks, newTasks, readingSeconds, settingSeconds } = this._parts;
    return packPlain({
      action: 'update-graph',
      stimulus_id: this._stimulus,
      status: this._isRefused ? 'error' : 'OK',
      metrics: {
        tasks,
        new_tasks: newTasks,
        start_timestamp_seconds: this._begunAt,
        duration_seconds: Math.max(0, this._seconds),
        materialization_duration_seconds: Math.max(0, readingSeconds),
        state_initialization_duration_seconds: Math.max(0, settingSeconds)
      }
    });
  }
}

/** One graph on its way, in as many messages as it has. Seconds of the monotonic clock. */
export type ComingParts = {
  readonly begun: number;
  tasks: number;
  newTasks: number;
  /** From the message to rows, and from rows to the scheduler's state with its order. */
  readingSeconds: number;
  settingSeconds: number;
  /** Whether tasks outside of all spans have come. */
  hasDefault: boolean;
};

export class OwnEvents {
  constructor(
    private readonly _log: (topics: readonly string[], event: IUnpacked) => void
  ) {}

  /** Who has come or gone. */
  member({ what, client, worker, stimulus, isExpected }: Member): void {
    switch (what) {
      case 'add-worker':
      case 'remove-worker': {
        const { address } = worker!.intro;
        const says = { action: what, worker: address };
        return this._say(
          ['all', address],
          what === 'add-worker'
            ? says
            : { ...says, stimulus_id: stimulus, expected: isExpected }
        );
      }
      case 'add-client':
      case 'remove-client': {
        const id = clientName(client);
        return this._say(['all', id], { action: what, client: id });
      }
      case 'restart':
      case 'log-event':
        return; // the first is told with its workers, the second is no event of the scheduler
    }
  }

  /** Workers have been told to restart. */
  restarted(client: number, addresses: readonly string[]): void {
    const id = clientName(client);
    this._say(['all', id], {
      action: 'restart-workers',
      workers: addresses,
      client: id
    });
  }

  /** Workers that a client wanted to retire have gone, or stay. */
  retired(gone: readonly string[], stay: readonly string[]): void {
    this._say(['all'], {
      action: 'retire-workers',
      retired: gone,
      'could-not-retire': stay
    });
    for (const address of gone) {
      this._say([address], { action: 'retired' });
    }
  }

  scattered(client: number, count: number): void {
    const id = clientName(client);
    this._say(['all', id], { action: 'scatter', client: id, count });
  }

  /**
   * The last part of a graph has come, and its parts do not change any more.
   *
   * @param begunAt - when its first part did, in seconds of the wall clock.
   * @param seconds - since then.
   */
  graph(
    client: number,
    stimulus: string,
    parts: ComingParts,
    begunAt: number,
    seconds: number,
    isRefused = false
  ): void {
    this._log(
      ['scheduler', clientName(client)],
      new GraphEvent(stimulus, parts, begunAt, seconds, isRefused)
    );
  }

  private _say(topics: readonly string[], says: Says): void {
    this._log(topics, new OwnEvent(says));
  }
}

/** As hooks call it: `client_name` in Python. */
function clientName(client: number): string {
  return `client-${client}`;
}

/** The addresses of workers that are here. */
export function addressesOf(
  ids: readonly number[],
  workers: ReadonlyMap<number, WorkerSession>
): Map<number, string> {
  return new Map(
    ids.flatMap(id => {
      const address = workers.get(id)?.intro.address;
      return address === undefined ? [] : [[id, address] as const];
    })
  );
}
