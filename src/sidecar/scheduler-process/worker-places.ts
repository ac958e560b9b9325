/**
 * The names by which users may mean a worker in `workers=`. In the scheduler process.
 *
 * A worker that replaces a dead one takes its place: it has all names of its predecessors, so that a task for
 * `worker-0`, for number 0, or for the address of a dead worker runs on its successor.
 */
import { hostname } from 'node:os';
import type { WorkerIntro } from '../../wire/worker-link';
import { MACHINE_NAMES } from './worker-limit';

/** Names of one place; beyond that the oldest are forgotten, except the first two, which the place's first worker has. */
const MOST_NAMES = 256;

export class WorkerPlaces {
  /** Names by worker, the first worker's first. */
  private readonly _names = new Map<number, readonly string[]>();
  /** The names of workers that have died, oldest first. */
  private readonly _vacant: (readonly string[])[] = [];

  /** A worker has come; takes the place of the one that died first, unless it has a place of its own by its name. */
  joined({ worker, name, address }: WorkerIntro): void {
    const isNamed = hasOwnName(worker, name);
    const before = isNamed ? [name] : (this._vacant.shift() ?? []);
    const names = [
      ...before,
      String(worker),
      `worker-${worker}`,
      ...addressNames(address)
    ];
    const excess = names.length - MOST_NAMES;
    this._names.set(
      worker,
      excess > 0 ? [...names.slice(0, 2), ...names.slice(2 + excess)] : names
    );
  }

  /** What a worker is going to be called that is the next to come: as its user named it, or the number of its place. */
  nameOfNext({ worker, name }: WorkerIntro): string {
    return hasOwnName(worker, name)
      ? name
      : (this._vacant[0]?.[0] ?? String(worker));
  }

  /** @param isReplaced - whether another is going to take its place. */
  left(worker: number, isReplaced: boolean): void {
    const names = this._names.get(worker);
    this._names.delete(worker);
    const isNamed = names !== undefined && hasOwnName(worker, names[0]!);
    if (names !== undefined && isReplaced && !isNamed) {
      this._vacant.push(names);
    }
  }

  /** All names of a worker, its place's number first, or the name that its user gave it. */
  namesOf({ worker, host }: WorkerIntro): string[] {
    const isHere = host === '' || host === hostname();
    return [
      ...(this._names.get(worker) ?? []),
      ...(host === '' ? [] : [host]),
      ...(isHere ? MACHINE_NAMES : [])
    ];
  }
}

/** Whether its user has named it: its successor comes with the same name. */
function hasOwnName(worker: number, name: string): boolean {
  return name !== '' && name !== `worker-${worker}` && !/^\d+$/.test(name);
}

/** `tcp:127.0.0.1:80` also as `127.0.0.1:80`, and as other tools write it. */
function addressNames(address: string): string[] {
  const [kind, ...rest] = address.split(':');
  return kind === 'tcp'
    ? [address, rest.join(':'), `tcp://${rest.join(':')}`]
    : [address];
}
