/**
 * The names by which users may mean a worker in `workers=`. In the scheduler process.
 *
 * A worker that replaces a dead one takes its place: it has all names of its predecessors, so that a task for
 * `worker-0`, for number 0, or for the address of a dead worker runs on its successor. Who started the dead one starts its successor: where
 * workers of several programs are replaced at once, each program's take its own places, whichever joins first. A place for which its program
 * starts nobody is anyone's.
 */
import { hostname } from 'node:os';
import type { WorkerIntro } from '../../wire/worker-link';
import { MACHINE_NAMES } from './worker-limit';

/** Names of one place; beyond that the oldest are forgotten, except the first two, which the place's first worker has. */
const MOST_NAMES = 256;

/** The program that has started a worker; null: this one. */
type Starter = object | null;
type Place = {
  /** The first worker's first. */
  readonly names: readonly string[];
  /** Whose next worker takes it; undefined: whoever comes. */
  readonly starter: Starter | undefined;
};

export class WorkerPlaces {
  /** By worker. */
  private readonly _places = new Map<number, Place>();
  /** Those of workers that have died, oldest first. */
  private readonly _vacant: Place[] = [];
  /** Programs that start no more workers. */
  private readonly _gone = new WeakSet<object>();

  /** A worker has come; takes the place of the one that died first, unless it has a place of its own by its name. */
  joined({ worker, name, address }: WorkerIntro, starter: Starter): void {
    const isNamed = hasOwnName(worker, name);
    const place = isNamed ? undefined : this._vacantFor(starter);
    if (place !== undefined) {
      this._vacant.splice(this._vacant.indexOf(place), 1);
    }
    const names = [
      ...(isNamed ? [name] : (place?.names ?? [])),
      String(worker),
      `worker-${worker}`,
      ...addressNames(address)
    ];
    const excess = names.length - MOST_NAMES;
    this._places.set(worker, {
      names:
        excess > 0 ? [...names.slice(0, 2), ...names.slice(2 + excess)] : names,
      starter
    });
  }

  /** What a worker is going to be called that is the next to come: as its user named it, or the number of its place. */
  nameOfNext({ worker, name }: WorkerIntro, starter: Starter): string {
    return hasOwnName(worker, name)
      ? name
      : (this._vacantFor(starter)?.names[0] ?? String(worker));
  }

  /** @param isReplaced - whether another is going to take its place. */
  left(worker: number, isReplaced: boolean): void {
    const place = this._places.get(worker);
    this._places.delete(worker);
    const isNamed = place !== undefined && hasOwnName(worker, place.names[0]!);
    if (place !== undefined && isReplaced && !isNamed) {
      this._vacant.push(place);
    }
  }

  /** Its program starts no other for this worker, which ends: whoever comes takes its place. */
  hasNoSuccessor(worker: number): void {
    const place = this._places.get(worker);
    if (place !== undefined) {
      this._places.set(worker, { ...place, starter: undefined });
    }
  }

  /** A program starts no more workers: whoever comes takes the places of its own. */
  starterLeft(starter: object): void {
    this._gone.add(starter);
  }

  /** All names of a worker, its place's number first, or the name that its user gave it. */
  namesOf({ worker, host }: WorkerIntro): string[] {
    const isHere = host === '' || host === hostname();
    return [
      ...(this._places.get(worker)?.names ?? []),
      ...(host === '' ? [] : [host]),
      ...(isHere ? MACHINE_NAMES : [])
    ];
  }

  /** Which vacant place is the next one for a worker of this program. */
  private _vacantFor(starter: Starter): Place | undefined {
    return (
      this._vacant.find(place => place.starter === starter) ??
      this._vacant.find(
        place =>
          place.starter === undefined ||
          (place.starter !== null && this._gone.has(place.starter))
      )
    );
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
