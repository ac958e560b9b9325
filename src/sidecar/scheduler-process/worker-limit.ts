/** How many workers a cluster may have, and what they may be called. In the scheduler process. */
import { hostname } from 'node:os';
import { LARGEST_U16 } from '../../records/enumerations';

/** Each is a process with threads and sockets of its own, all on one machine; `MOST_WORKERS` in `spanwise/client/launch.py`. */
const MOST_WORKERS = 1_024;
/** A name is sent to all clients with each change of the workers. */
const MOST_NAME_CHARACTERS = 256;
/** What users call this machine. */
export const MACHINE_NAMES = ['localhost', '127.0.0.1', '::1'];
/** What the scheduler calls workers by itself. */
const OWN_NAME = /^(worker-)?\d+$/;

export type WorkerLimit = {
  /** Workers that have joined. */
  readonly count: number;
  /** Numbers that were given to workers, ever. */
  readonly numbers: number;
  /** Whether users may mean a worker that is there by this name. */
  isTaken(name: string): boolean;
};

/** Why workers cannot come; empty: they can. */
export function whyNoMore(
  limit: WorkerLimit,
  count: number,
  names: readonly string[],
  expected: number
): string {
  if (names.length > 0 && names.length !== count) {
    return `${names.length} names are given for ${count} workers.`;
  }
  if (Math.max(limit.count, expected) + count > MOST_WORKERS) {
    return `A cluster has at most ${MOST_WORKERS.toLocaleString('en')} workers, and this one has ${limit.count}.`;
  }
  if (limit.numbers + count >= LARGEST_U16) {
    return `This cluster has had ${limit.numbers} workers, and has no numbers left: start another.`;
  }
  for (const [i, name] of names.entries()) {
    if (name === '' || name.length > MOST_NAME_CHARACTERS) {
      return `A worker's name has 1 to ${MOST_NAME_CHARACTERS} characters.`;
    }
    if (MACHINE_NAMES.includes(name) || name === hostname()) {
      return `"${name}" means all workers of this machine: give another name.`;
    }
    if (OWN_NAME.test(name)) {
      return `"${name}" is what the scheduler calls workers itself: give a name with other letters.`;
    }
    if (limit.isTaken(name) || names.indexOf(name) !== i) {
      return `There is a worker of the name "${name}" already: give another name, or none.`;
    }
  }
  return '';
}
