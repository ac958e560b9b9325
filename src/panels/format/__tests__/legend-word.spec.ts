import type { TranslationBundle } from '@jupyterlab/translation';
import { IDLE_CAUSES } from '../../../observer/folds/idle';
import { ACTIVITIES } from '../../../observer/store/activity-cells';
import type { FineMetricsResult } from '../../../wire/panel-link';
import { idleParts, partsOf } from '../../fine-metrics/rows';
import { KIND_WORDS, legendWord, PART_WORDS } from '..';
import { THREAD_STATES } from '../../profile/rows';

/** Says what went through it. */
const trans = { __: (text: string) => `‹${text}›` } as TranslationBundle;
const activities = Object.fromEntries(ACTIVITIES.map(name => [name, 1]));
const idle = IDLE_CAUSES.map(cause => ({ cause, seconds: 1 }));

describe('the words of legends', () => {
  it('all go through the translator', () => {
    const words = [
      ...THREAD_STATES.map(({ label }) => label),
      ...partsOf(activities, 1, 'seconds').map(({ label }) => label),
      ...partsOf(activities, 1, 'seconds', true).map(({ label }) => label),
      ...partsOf(activities, 1, 'count').map(({ label }) => label),
      ...[false, true].flatMap(isLocal =>
        idleParts({ idle } as unknown as FineMetricsResult, 1, isLocal).map(
          ({ label }) => label
        )
      ),
      ...Object.values(KIND_WORDS),
      ...Object.values(PART_WORDS),
      'failed',
      'lost'
    ];
    expect(words.length).toBeGreaterThan(ACTIVITIES.length + 2 * idle.length);
    expect(words.map(word => legendWord(word, trans))).toEqual(
      words.map(word => `‹${word}›`)
    );
  });

  it('leave names of functions and unknown activities alone', () => {
    expect(legendWord('load_table', trans)).toBe('load_table');
    expect(legendWord('constructor', trans)).toBe('constructor');
  });
});
