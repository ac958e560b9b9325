import fc from 'fast-check';
import { FrameDecoder, FrameEncoder } from '../frame';
import type { TimeRange, ViewName } from '../panel-link';
import { paramsOf, timeOf } from '../question';

/** What each view understands, by the kind of its values; the results in `panel-link.ts` say so. */
const KNOWN: Readonly<Record<ViewName, Readonly<Record<string, Kind>>>> = {
  spans: { all: 'flag', after: 'number' },
  'task-stream': {},
  tasks: {
    sort: 'text',
    descending: 'flag',
    offset: 'number',
    limit: 'number',
    search: 'text'
  },
  records: {
    after: 'pair',
    end: 'number',
    limit: 'number',
    newest: 'flag',
    detailed: 'flag'
  },
  'fine-metrics': { unit: 'text', top: 'number', entries: 'flag' },
  profile: {
    groupBy: 'text',
    order: 'text',
    maxNodes: 'number',
    addresses: 'texts',
    after: 'number',
    end: 'number'
  },
  memory: { measure: 'text', show: 'text' },
  summary: {},
  transfers: {},
  system: {},
  progress: {}
};
type Kind = 'text' | 'texts' | 'flag' | 'number' | 'pair';
const VIEWS = Object.keys(KNOWN) as ViewName[];
const SPECIMENS: Readonly<
  Record<Kind, { good: readonly unknown[]; bad: readonly unknown[] }>
> = {
  text: { good: ['', 'duration', '0'], bad: [1, true, ['duration']] },
  texts: {
    good: [[], ['tcp://1'], ['', 'a']],
    bad: ['a', 1, [1], ['a', 1], [['a']], { 0: 'a' }]
  },
  // A flag that is down is the same as none.
  flag: { good: [true], bad: [false, 1, 'true', [true]] },
  number: {
    good: [0, -3, 2.5, 2 ** 53],
    bad: [NaN, Infinity, -Infinity, '5', true, [5]]
  },
  pair: {
    good: [
      [0, 7],
      [2, 0]
    ],
    bad: [
      [],
      [7],
      ['7', 8],
      [7, '8'],
      [-1, 8],
      [8, -1],
      [1.5, 2],
      [2, 1.5],
      [2 ** 53, 2],
      [2, 2 ** 53],
      7,
      '78',
      { 0: 7, 1: 8 }
    ]
  }
};

const known = VIEWS.flatMap(view =>
  Object.entries(KNOWN[view]).map(([name, kind]) => [view, name, kind] as const)
);

it.each(known)('%s is asked with %s, which is a %s', (view, name, kind) => {
  for (const value of SPECIMENS[kind].good) {
    expect(paramsOf(view, { [name]: value })).toEqual({ [name]: value });
  }
  for (const value of [...SPECIMENS[kind].bad, null, undefined, {}]) {
    expect(paramsOf(view, { [name]: value })).toStrictEqual({});
  }
});

it('takes no more of a place than its two numbers', () => {
  expect(paramsOf('records', { after: [3, 4, 5] })).toEqual({ after: [3, 4] });
});

it.each(VIEWS)(
  'what is asked of %s has one form, on both sides of the link',
  view => {
    const anyText = fc
      .tuple(
        fc.constantFrom('', '\ufeff', '\ufeff\ufeff'),
        fc.string({ unit: 'binary', maxLength: 8 }),
        // Long texts are decoded otherwise than short ones.
        fc.constantFrom('', 'x'.repeat(300)),
        fc.constantFrom('', '\ud800', '\udc00', '\ufeff')
      )
      .map(parts => parts.join(''));
    const anyValue = fc.oneof(
      anyText,
      fc.boolean(),
      fc.double(),
      fc.integer(),
      fc.tuple(fc.nat(), fc.nat()),
      fc.constant(null)
    );
    const anyParam = fc.tuple(
      fc.constantFrom('unknown', ...Object.keys(KNOWN[view])),
      anyValue
    );
    const encoder = new FrameEncoder('panel', 'up');
    const decoder = new FrameDecoder('panel', 'up');
    fc.assert(
      fc.property(fc.array(anyParam, { maxLength: 8 }), drawn => {
        // Of one name the first value, in either order.
        const given = new Map([...drawn].reverse());
        const turned = new Map([...given].reverse());
        const params = paramsOf(view, Object.fromEntries(given));
        expect(JSON.stringify(paramsOf(view, Object.fromEntries(turned)))).toBe(
          JSON.stringify(params)
        );
        const message = decoder.decode(
          encoder.encodeBody('change', { id: 1, params })
        );
        const come = message.type === 'change' ? message.fields.params : null;
        expect(JSON.stringify(paramsOf(view, come ?? {}))).toBe(
          JSON.stringify(params)
        );
      })
    );
  }
);
it('keeps the characters of a text that can be sent', () => {
  for (const search of ['größer', '😀', 'a\ufeffb', '\ufffd']) {
    expect(paramsOf('tasks', { search })).toEqual({ search });
  }
  expect(paramsOf('tasks', { search: '\ufeff\ufeffa\ud83d' })).toEqual({
    search: 'a\ufffd'
  });
});

it('a time has one form', () => {
  const same: readonly (readonly [TimeRange, TimeRange])[] = [
    ['all', 'all'],
    [
      { to: 7, from: 3 },
      { from: 3, to: 7 }
    ],
    [{ last: 5, more: 1 } as TimeRange, { last: 5 }],
    [{ from: 3, more: 1, to: 7 } as TimeRange, { from: 3, to: 7 }]
  ];
  for (const [given, form] of same) {
    expect(JSON.stringify(timeOf(given))).toBe(JSON.stringify(form));
  }
});
