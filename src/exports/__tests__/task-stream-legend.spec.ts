/**
 * @jest-environment <rootDir>/src/testing/browser-environment.cjs
 */
/** The legend of an exported picture tells apart what its boxes do. */
import { BOX_KINDS, legendItems } from '../../panels/task-stream/rows';
import type { TaskStreamResult } from '../../wire/panel-link';
import type { TaskStreamSection } from '../content';
import { english } from '../english';
import type { DrawnBox } from '../page/drawn-boxes';
import { styleSheet } from '../page/styles';
import { legendElement } from '../page/task-stream-legend';

const section = (
  more: Partial<Pick<TaskStreamSection, 'functions' | 'left'>> = {}
): TaskStreamSection => ({
  kind: 'task-stream',
  title: 'Task Stream',
  seconds: 1,
  actions: [],
  lanes: [],
  functions: [],
  records: {
    key: ['a', 'b', 'c'],
    lane: [0, 0, 0],
    function: [0, 0, 0],
    status: ['failed', 'ok', 'failed']
  },
  boxes: {
    record: [],
    start: [],
    duration: [],
    function: [],
    action: [],
    held: []
  },
  ...more
});
const box = (kind: string): DrawnBox => ({
  lane: 0,
  from: 0,
  to: 1,
  function: 0,
  kind: BOX_KINDS.findIndex(word => word === kind),
  strip: 0,
  tasks: 0,
  record: 0
});
const swatches = (legend: HTMLElement) =>
  [...legend.querySelectorAll('span')].map(item => {
    const swatch = item.querySelector('b')!;
    return [
      item.textContent,
      `${swatch.className} ${swatch.getAttribute('style') ?? ''}`
    ] as const;
  });

it('has a swatch for each function of which no two are equal', () => {
  const functions = [0, 1, 2].flatMap(round =>
    Array.from({ length: 12 }, (_, slot) => ({
      name: `f${12 * round + slot + 1}`,
      slot,
      round
    }))
  );
  const shown = swatches(legendElement(section({ functions }), []));
  expect(shown.slice(0, 36).map(([name]) => name)).toEqual(
    functions.map(({ name }) => name)
  );
  expect(new Set(shown.slice(0, 36).map(([, look]) => look)).size).toBe(36);
});

it('tells other functions from serialising, which has their grey', () => {
  const functions = [{ name: 'f', slot: -1, round: 0 }];
  const looks = swatches(
    legendElement(section({ functions }), [box('serialize')])
  ).slice(0, 2);
  expect(looks.map(([name]) => name)).toEqual([
    'other functions',
    '(de)serialise'
  ]);
  const [other, serialise] = looks.map(([, look]) => look.split(' ')[1]);
  expect([other, serialise]).toEqual(['lines-1', 'plain']);
});

it('has lines and patterns for which there is a style, over the colour', () => {
  const functions = [1, 2].map(round => ({ name: 'f', slot: 0, round }));
  const shown = swatches(
    legendElement(
      section({ functions }),
      ['transfer', 'disk', 'import', 'serialize'].map(box)
    )
  );
  const looks = shown.map(([, look]) => /^swatch (\S+)/.exec(look)![1]);
  expect(looks).toEqual([
    'lines-1',
    'lines-2',
    'slash',
    'horizontal',
    'grid',
    'plain',
    'failed'
  ]);
  const isDrawn = (look = '') =>
    new RegExp(`^\\.swatch\\.${look}[, ]`, 'm').test(styleSheet());
  expect([...new Set(looks)].filter(look => !isDrawn(look))).toEqual(['plain']);
  // Black would not be seen on the page of the dark shade.
  expect(styleSheet()).toMatch(
    /^\.swatch\.failed [^}]*outline: 1px solid var\(--sw-failed-line\)/m
  );
  expect(styleSheet().match(/--sw-failed-line: /g)).toHaveLength(2);
});

it('names what the panel’s legend names, in its words', () => {
  const status = ['failed', 'cancelled', 'missing', 'missing', 'lost', 'ok'];
  const { records, ...rest } = section();
  const ended: TaskStreamSection = {
    ...rest,
    records: { ...records, status }
  };
  // The second of those that were given back had held no thread.
  const boxes = [0, 1, 2, 4, 5].map(record => ({
    ...box('compute'),
    record,
    tasks: 1 as const
  }));
  const shown = [
    ...legendElement(ended, boxes).querySelectorAll<HTMLElement>('span')
  ];
  const items = legendItems(
    {
      functions: [],
      running: [],
      kinds: { failed: 1, lost: 1, cancelled: 1, missing: 1 }
    } as unknown as TaskStreamResult,
    'function',
    english
  );
  expect(items).toHaveLength(4);
  expect(shown.map(item => [item.textContent, item.title])).toEqual(
    items.map(({ name, text, title }) => [`${name} ${text}`, title])
  );
  expect(shown.map(item => item.querySelector('b') !== null)).toEqual(
    items.map(({ kind }) => kind !== 'unmarked')
  );
});

it('counts what failed only if all tasks are drawn', () => {
  const names = (left?: TaskStreamSection['left']) =>
    swatches(legendElement(section(left && { left }), [])).map(
      ([name]) => name
    );
  expect(names()).toEqual(['failed runs 2']);
  expect(names({ of: 9, seconds: 4 })).toEqual(['failed runs']);
});
