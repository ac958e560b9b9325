/** Cells of a page have the panels' words and units. */
import { MEANINGS } from '../../panels/fine-metrics/rows';
import type { Shown } from '../content';
import { partWord } from '../../panels/format';
import { english } from '../english';
import { textOf } from '../page/shown';

const SPACE = '\u00a0';

it('figures are in the panels’ units, and what is not known is none', () => {
  const texts: [number | null, Shown | undefined, string][] = [
    [0.00085, 'seconds', `850${SPACE}µs`],
    [217, 'seconds', `3${SPACE}min${SPACE}37${SPACE}s`],
    [2048, 'bytes', `2.00${SPACE}KiB`],
    [1500, 'bytes/s', `1.46${SPACE}KiB/s`],
    [212, 'percent', `212${SPACE}%`],
    [12640, 'count', '12,640'],
    [0, 'count', '0'],
    [0.25, 'amount', '0.25'],
    [-0.25, 'amount', '−0.25'],
    [0.00123, 'amount', '0.00123'],
    [-0.00123, 'amount', '−0.00123'],
    [0.09949, 'amount', '0.0995'],
    [0.0995, 'amount', '0.10'],
    [12.34, 'amount', '12.3'],
    [-999.4, 'amount', '−999'],
    [1234.5, 'amount', '1,235'],
    [12640, 'amount', '12,640'],
    [-3, 'amount', '−3'],
    [0, 'amount', '0'],
    [1_250_000.5, 'amount', `1.25${SPACE}M`],
    [null, 'amount', '–'],
    [NaN, 'amount', '–'],
    [null, 'seconds', '–'],
    [null, 'bytes/s', '–'],
    [null, undefined, '–']
  ];
  for (const [value, as, text] of texts) {
    expect(textOf({ value, ...(as && { as }) })).toBe(text);
  }
});

it('names are in the panels’ words', () => {
  const texts: [string, Shown | undefined, string][] = [
    ['thread-noncpu', 'activity', 'not on CPU, cause not known'],
    ['import', 'activity', 'importing modules'],
    ['disk-write', 'activity', 'write to disk'],
    ['compute', 'activity', 'compute, CPU not known'],
    ['compute', 'activity of amount', 'compute'],
    ['other', 'activity', 'rest of the task'],
    ['other', 'activity told', 'waiting for the event loop'],
    ['executor', 'activity told', 'executor'],
    ['disk-write', 'activity told', 'write to disk'],
    ['held-elsewhere', 'cause', 'held on another worker'],
    ['get-data', 'context', 'send'],
    ['background', 'context', 'background'],
    ['background', 'context of transfer', 'receive'],
    ['get-data', 'context of transfer', 'send'],
    ['transfer', 'moved', 'network'],
    ['memory-read', 'moved', 'from memory'],
    ['import', 'parts', 'importing modules, all parts'],
    ['compute', 'parts', 'compute, all parts'],
    ['managed_total', 'measure', 'managed and spilled'],
    ['worker-3', 'worker', 'worker 3'],
    // What nobody knows stays as it is, and so does a name of the user's.
    ['constructor', 'activity', 'constructor'],
    ['constructor', 'activity told', 'constructor'],
    ['constructor', 'moved', 'constructor'],
    ['toString', 'cause', 'toString'],
    ['valueOf', 'parts', 'valueOf, all parts'],
    ['worker-3', undefined, 'worker-3'],
    ['import', undefined, 'import']
  ];
  for (const [value, as, text] of texts) {
    expect(textOf({ value, ...(as && { as }) })).toBe(text);
  }
  expect(partWord('deserialize', english)).toBe('deserialise');
});

it.each(['activity', 'activity told', 'activity of amount'] as const)(
  'no two have one name as %s',
  as => {
    const names = Object.keys(MEANINGS);
    const words = names.map(value => textOf({ value, as }));
    expect(names).toContain('decompress');
    expect(new Set(words).size).toBe(names.length);
  }
);
