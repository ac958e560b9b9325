/** The words of legends in the user's language. Tables of words have them in English; here each stands as the translator's tools find it. */
import type { Trans } from '../../base/trans';
import { PART_WORDS } from './activity-words';

type Said = (trans: Trans) => string;

const LEGEND_WORDS: ReadonlyMap<string, Said> = new Map<string, Said>([
  // What a thread does.
  ['CPU', trans => trans.__('CPU')],
  ['compute', trans => trans.__('compute')],
  ['compute, CPU not known', trans => trans.__('compute, CPU not known')],
  [
    'not on CPU, cause not known',
    trans => trans.__('not on CPU, cause not known')
  ],
  ['waiting for a core', trans => trans.__('waiting for a core')],
  ['waiting for the GIL', trans => trans.__('waiting for the GIL')],
  [
    'blocked (I/O, sleep, other tasks)',
    trans => trans.__('blocked (I/O, sleep, other tasks)')
  ],
  ['blocked (I/O, sleep)', trans => trans.__('blocked (I/O, sleep)')],
  ['waiting for other tasks', trans => trans.__('waiting for other tasks')],
  [
    'CPU or waiting, not told which',
    trans => trans.__('CPU or waiting, not told which')
  ],
  // What its time goes into beside that.
  ['transfer', trans => trans.__('transfer')],
  ['transfer, waited for', trans => trans.__('transfer, waited for')],
  ['disk', trans => trans.__('disk')],
  ['disk read and write', trans => trans.__('disk read and write')],
  ['read from disk', trans => trans.__('read from disk')],
  ['write to disk', trans => trans.__('write to disk')],
  ['importing modules', trans => trans.__('importing modules')],
  ['(de)serialise', trans => trans.__('(de)serialise')],
  ['deserialise', trans => trans.__('deserialise')],
  ['serialise', trans => trans.__('serialise')],
  [
    'held by a task that seceded',
    trans => trans.__('held by a task that seceded')
  ],
  ['rest of the task', trans => trans.__('rest of the task')],
  [
    'waiting for the event loop',
    trans => trans.__('waiting for the event loop')
  ],
  // How a run ended.
  ['failed', trans => trans.__('failed')],
  ['cancelled', trans => trans.__('cancelled')],
  ['cancelled, still running', trans => trans.__('cancelled, still running')],
  ['lost', trans => trans.__('lost')],
  ['ok', trans => trans.__('ok')],
  ['running', trans => trans.__('running')],
  ['missing', trans => trans.__('missing')],
  ['failed, cancelled or lost', trans => trans.__('failed, cancelled or lost')],
  // Why a thread is idle.
  ['nothing runnable', trans => trans.__('nothing runnable')],
  ['inputs in flight', trans => trans.__('inputs in flight')],
  ['held on another worker', trans => trans.__('held on another worker')],
  ['held on another thread', trans => trans.__('held on another thread')],
  ['paused for memory', trans => trans.__('paused for memory')],
  ['worker stopped', trans => trans.__('worker stopped')],
  ['process stopped', trans => trans.__('process stopped')],
  [
    'scheduler not yet answered',
    trans => trans.__('scheduler not yet answered')
  ],
  ['pool start, handing out', trans => trans.__('pool start, handing out')],
  ['cause not known', trans => trans.__('cause not known')],
  // What the parts of a bar are of.
  ['CPU not known', trans => trans.__('CPU not known')],
  ['not on CPU', trans => trans.__('not on CPU')],
  ['data', trans => trans.__('data')],
  ['other labels', trans => trans.__('other labels')],
  ['idle', trans => trans.__('idle')],
  ['beside the threads', trans => trans.__('beside the threads')],
  ['still running', trans => trans.__('still running')],
  ['not accounted for', trans => trans.__('not accounted for')]
]);

/** `word` as the translator has it; a name that a source gives stays as it is. */
export function legendWord(word: string, trans: Trans): string {
  return LEGEND_WORDS.get(word)?.(trans) ?? word;
}

/** "worker 0": the names that Spanwise gives read as words, others as they are. */
export function workerLabel(name: string, trans: Trans): string {
  const given = /^(?:worker-)?(\d+)$/.exec(name);
  return given === null ? name : trans.__('worker %1', given[1]);
}

/** A part of a run. A word that is not known stays: a newer log, or a user's own, may be any that every object has. */
export function partWord(part: string, trans: Trans): string {
  const word = Object.hasOwn(PART_WORDS, part) ? PART_WORDS[part] : undefined;
  return legendWord(word ?? part, trans);
}
