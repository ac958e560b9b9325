/** The words of legends in the user's language. Tables of words have them in English; here each stands as the translator's tools find it. */
import type { Trans } from '../../base/trans';
import { PART_WORDS } from './activity-words';

type Said = (trans: Trans) => string;

const SAID: readonly Said[] = [
  // What a thread does.
  trans => trans.__('CPU'),
  trans => trans.__('compute'),
  trans => trans.__('compute, CPU not known'),
  trans => trans.__('not on CPU, cause not known'),
  trans => trans.__('waiting for a core'),
  trans => trans.__('waiting for the GIL'),
  trans => trans.__('blocked (I/O, sleep, other tasks)'),
  trans => trans.__('blocked (I/O, sleep)'),
  trans => trans.__('waiting for other tasks'),
  trans => trans.__('CPU or waiting, not told which'),
  // What its time goes into beside that.
  trans => trans.__('transfer'),
  trans => trans.__('transfer, waited for'),
  trans => trans.__('disk'),
  trans => trans.__('disk read and write'),
  trans => trans.__('read from disk'),
  trans => trans.__('write to disk'),
  trans => trans.__('importing modules'),
  trans => trans.__('(de)serialise'),
  trans => trans.__('deserialise'),
  trans => trans.__('serialise'),
  trans => trans.__('held by a task that seceded'),
  trans => trans.__('rest of the task'),
  trans => trans.__('waiting for the event loop'),
  // How a run ended.
  trans => trans.__('failed'),
  trans => trans.__('cancelled'),
  trans => trans.__('cancelled, still running'),
  trans => trans.__('lost'),
  trans => trans.__('ok'),
  trans => trans.__('running'),
  trans => trans.__('missing'),
  trans => trans.__('failed, cancelled or lost'),
  // Why a thread is idle.
  trans => trans.__('nothing runnable'),
  trans => trans.__('inputs in flight'),
  trans => trans.__('held on another worker'),
  trans => trans.__('held on another thread'),
  trans => trans.__('nowhere to run'),
  trans => trans.__('paused for memory'),
  trans => trans.__('worker stopped'),
  trans => trans.__('process stopped'),
  trans => trans.__('scheduler not yet answered'),
  trans => trans.__('pool start, handing out'),
  trans => trans.__('cause not known'),
  // What the parts of a bar are of.
  trans => trans.__('CPU not known'),
  trans => trans.__('not on CPU'),
  trans => trans.__('data'),
  trans => trans.__('other labels'),
  trans => trans.__('idle'),
  trans => trans.__('beside the threads'),
  trans => trans.__('still running'),
  trans => trans.__('not accounted for')
];
const english = { __: (text: string) => text } as Trans;
/** By the word in English. */
const LEGEND_WORDS: ReadonlyMap<string, Said> = new Map(
  SAID.map(said => [said(english), said])
);

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
