/** What is said of workers that were lost, and where it is drawn. */
import type { Trans } from '../../../base/trans';
import { english } from '../../../testing/translators';
import type { LostWorker, MemoryResult } from '../../../wire/panel-link';
import { type Align, lostLegend, lostMarks, tableOf } from '../rows';
import { lostSentence } from '../../format';

const GiB = 2 ** 30;
const worker = (of: Partial<LostWorker> = {}): LostWorker => ({
  worker: 1,
  name: 'worker-1',
  t: 12.3,
  why: 'was ended by SIGKILL',
  process: 3.88 * GiB,
  memoryLimit: 4 * GiB,
  ...of
});
const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const run = (
  number: number,
  start: number,
  stopped: number | null
): MemoryResult['runs'][0] => ({
  run: number,
  label: `run ${number}`,
  measure: 'process',
  intervalSeconds: 0.5,
  start,
  stopped,
  t: [start],
  bytes: [1],
  samples: 1,
  first: 1,
  last: 1,
  peak: 1,
  peakAt: start,
  mean: 1,
  area: 0
});
const result = (of: Partial<MemoryResult>): MemoryResult => ({
  view: 'memory',
  measure: 'managed',
  series: [],
  limits: null,
  runs: [],
  now: null,
  ...of
});

describe('the sentence about a lost worker', () => {
  const said = (of: Partial<LostWorker>) =>
    plain(lostSentence(worker(of), english));

  it('says when, why, and how near its limit it was', () => {
    expect(said({})).toBe(
      'worker 1 was lost at 12.3 s. What is told of its end: “was ended by SIGKILL”. Its process last had 3.88 GiB, 97 % of its limit of 4.00 GiB.'
    );
  });

  it('quotes what the scheduler says, whatever it is, beside whole sentences of ours', () => {
    const told = (why: string) => {
      const texts: string[] = [];
      const trans: Trans = {
        ...english,
        __: (text, ...args) => {
          texts.push(text);
          return english.__(text, ...args);
        }
      };
      const sentence = plain(
        lostSentence(worker({ why, process: null }), trans)
      );
      return { sentence, texts };
    };
    for (const why of ['stopped answering', 'The process has ended.']) {
      const { sentence, texts } = told(why);
      expect(sentence).toBe(
        `worker 1 was lost at 12.3 s. What is told of its end: “${why}”.`
      );
      expect(texts).toEqual([
        'worker %1',
        '%1 was lost at %2.',
        'What is told of its end: “%1”.'
      ]);
    }
  });

  it('leaves out what nobody knows', () => {
    expect(said({ why: '', process: null, inOrder: true })).toBe(
      'worker 1 left at 12.3 s.'
    );
    expect(said({ why: 'lost', process: null })).toBe(
      'worker 1 was lost at 12.3 s.'
    );
    expect(said({ why: '', name: 'tcp://a:1', memoryLimit: 0 })).toBe(
      'tcp://a:1 was lost at 12.3 s. Its process last had 3.88 GiB, without a limit.'
    );
  });
});

describe('its marks', () => {
  const lost = [worker(), worker({ worker: 2, t: 30 })];
  const runs = [run(7, 10, 20), run(8, 12.3, null), run(9, 12.4, 29)];
  const times = (...of: Parameters<typeof lostMarks>) =>
    lostMarks(...of).map(({ key, t }) => [key, t]);

  it('are at its time by the clock, and where there is no run', () => {
    const both = [
      ['lost 1', 12.3],
      ['lost 2', 30]
    ];
    expect(times(result({ lost, runs }), 'clock', english)).toEqual(both);
    expect(times(result({ lost }), 'zero', english)).toEqual(both);
    expect(lostMarks(result({ runs }), 'clock', english)).toEqual([]);
  });

  it('are in each run that was under way, since that began', () => {
    const of = result({ lost, runs });
    expect(times(of, 'zero', english)).toEqual([
      ['lost 1 7', 12.3 - 10],
      ['lost 1 8', 0],
      ['lost 2 8', 30 - 12.3]
    ]);
    expect(times(of, 'zero', english, new Set(['run 8']))).toEqual([
      ['lost 1 7', 12.3 - 10]
    ]);
    expect(lostMarks(of, 'zero', english)[0]!.sentence).toBe(
      lostSentence(lost[0]!, english)
    );
  });
});

it('the legend names a single one, and counts several', () => {
  const legend = (of: Partial<MemoryResult>) =>
    lostLegend(result(of), lostMarks(result(of), 'clock', english), english);
  const one = lostSentence(worker(), english);
  expect(legend({})).toBeNull();
  expect(legend({ lost: [worker()] })).toEqual({
    text: 'worker 1 was lost',
    sentences: [one]
  });
  expect(legend({ lost: [worker(), worker()] })!.text).toBe(
    '2 workers were lost'
  );
  expect(legend({ lost: [worker()], lostLeftOut: 3 })).toEqual({
    text: '4 workers were lost',
    sentences: ['3 more were lost before these.', one]
  });
  const many = Array.from({ length: 1500 }, (_, i) => worker({ worker: i }));
  expect(legend({ lost: many })!.text).toBe('1,500 workers were lost');
  expect(legend({ lost: many })!.sentences).toHaveLength(11);
});

it('the legend names those alone that have marks', () => {
  const of = result({
    lost: [worker(), worker({ worker: 2, t: 30 })],
    runs: [run(7, 10, 20)]
  });
  const legend = (...at: [Align, ReadonlySet<string>?]) =>
    lostLegend(of, lostMarks(of, at[0], english, at[1]), english)?.text;
  expect(legend('clock')).toBe('2 workers were lost');
  expect(legend('zero')).toBe('worker 1 was lost');
  expect(legend('zero', new Set(['run 7']))).toBeUndefined();
});

it('the table has a row for each, with what it had last', () => {
  const { columns, rows } = tableOf(
    result({ lost: [worker()] }),
    0,
    0,
    english
  );
  const [row] = rows;
  const at = (name: string) =>
    row![columns.findIndex(column => column.name === name)]!;
  expect(at('Name').text).toBe(lostSentence(worker(), english));
  expect(at('Last').value).toBe(3.88 * GiB);
  expect(at('Peak').value).toBeNull();
  // Whatever measure is chosen.
  expect(at('Measure').text).toBe('process');
});
