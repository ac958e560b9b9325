import { drawRuns } from '../../testing/run-from-text';
import type { Filter } from '../../wire/panel-link';
import { FunctionSlots, fnv1a32, OTHER_SLOT } from '../function-slots';
import { ownersOf } from '../folds/owners';
import { compiledFor, compileFilter } from '../filter';
import { LogStore } from '../store/log-store';
import { SpanOrigin } from '../../records/enumerations';
import type { LaneId, SpanId } from '../../records/ids';
import { idOf } from '../../testing/ids';
import { rowsToBlock } from '../../testing/rows-to-block';
import { ingestBlock } from '../store/ingest';
import { ask } from './ask';

const drawing = `
  0/0  abcde
  1/0  fff..
`;
const tasks = {
  a: { span: 'load', function: 'read' },
  b: { span: 'load/clean', function: 'fix' },
  c: { span: 'fit', function: 'fix', status: 1 },
  d: { span: 'fit/clean', function: 'fit' },
  e: { function: 'loose' },
  f: { span: 'load/clean', function: 'read', status: 2 }
};

/** Letters of the tasks that pass. */
function passing(filter: Filter): string {
  const { rows } = ask(drawRuns(drawing, { tasks }), 'tasks', { filter });
  return rows
    .map(({ key }) => key.at(-1))
    .sort()
    .join('');
}

describe('filters', () => {
  it.each<[string, Filter, string]>([
    ['nothing', {}, 'abcdef'],
    ['a subtree', { spans: { any: [{ path: ['load'] }] } }, 'abf'],
    ['a deeper path', { spans: { any: [{ path: ['load', 'clean'] }] } }, 'bf'],
    ['a tag at any depth', { spans: { any: [{ tag: 'clean' }] } }, 'bdf'],
    [
      'any of two',
      { spans: { any: [{ path: ['fit'] }, { path: ['load', 'clean'] }] } },
      'bcdf'
    ],
    [
      'all of two',
      { spans: { all: [{ path: ['load'] }, { tag: 'clean' }] } },
      'bf'
    ],
    ['not', { spans: { not: [{ path: ['load'] }] } }, 'cde'],
    [
      'any without not',
      { spans: { any: [{ path: ['fit'] }], not: [{ tag: 'clean' }] } },
      'c'
    ],
    ['the default', { spans: { any: [{ path: ['default'] }] } }, 'e'],
    [
      'one span by its id, with what is below it',
      { spans: { any: [{ path: [], id: 'span-1' }] } },
      'abf'
    ],
    [
      'the default by its id',
      { spans: { any: [{ path: [], id: 'span-0' }] } },
      'e'
    ],
    ['an id that no span has', { spans: { any: [{ path: [], id: 'x' }] } }, ''],
    [
      'all without one by its id',
      { spans: { not: [{ path: [], id: 'span-1' }] } },
      'cde'
    ],
    ['an unknown span', { spans: { any: [{ path: ['gone'] }] } }, ''],
    ['functions', { functions: ['read', 'fit'] }, 'adf'],
    ['not functions', { notFunctions: ['fix'] }, 'adef'],
    ['an unknown function', { functions: ['gone'] }, ''],
    ['a worker', { workers: [1] }, 'f'],
    ['what failed', { status: ['failed'] }, 'c'],
    ['what was lost', { status: ['lost'] }, 'f'],
    [
      'everything at once',
      { spans: { any: [{ tag: 'clean' }] }, functions: ['read'], workers: [1] },
      'f'
    ]
  ])('by %s', (_, filter, expected) => {
    expect(passing(filter)).toBe(expected);
  });
});

describe('filters of what a program called its spans', () => {
  const log = new LogStore('notebook');
  const open = (span: number, parent: number, tag: string, origin: number) =>
    log.spans.set({
      span: span as SpanId,
      parent: parent as SpanId,
      tag,
      client: 0,
      opened: 0,
      closed: NaN,
      origin
    });
  open(1, 0, 'a.ipynb', SpanOrigin.Notebook);
  open(2, 1, 'load', SpanOrigin.Cell);
  open(3, 2, 'load', SpanOrigin.User);
  open(4, 3, 'read', SpanOrigin.User);
  open(5, 1, '# fit', SpanOrigin.Cell);
  open(6, 5, 'load', SpanOrigin.User);

  it.each<[readonly string[], readonly number[]]>([
    [['load'], [3, 4, 6]],
    [['load', 'read'], [4]],
    [['a.ipynb'], [1, 2, 3, 4, 5, 6]],
    [
      ['a.ipynb', 'load'],
      [2, 3, 4]
    ],
    [['a.ipynb', '# fit', 'load'], [6]],
    [['# fit'], []],
    [['default'], [1, 2, 5]],
    [['read'], []]
  ])('the path %p, with and without notebook and cell', (path, spans) => {
    const { spans: table } = compileFilter({ spans: { any: [{ path }] } }, log);
    expect(
      [1, 2, 3, 4, 5, 6].filter(span => table[span as SpanId] === 1)
    ).toEqual(spans);
  });
});

describe('filters and owners by client', () => {
  const log = new LogStore('shared');
  // Client 3 is the notebook of 1 with its kernel restarted; 9, of a worker, is not described.
  const paths = { 1: '/a.ipynb', 2: '/b.ipynb', 3: '/a.ipynb' };
  const ofClient = (client: number) => ({
    client,
    joined: 0,
    left: NaN,
    name: 'kernel',
    kernel: ''
  });
  for (const [client, path] of Object.entries(paths)) {
    log.clients.set({ ...ofClient(Number(client)), path });
  }
  const described = { parent: 0 as SpanId, opened: 0, closed: NaN };
  const open = (span: number, parent: number, tag: string, client: number) =>
    log.spans.set({
      span: span as SpanId,
      parent: parent as SpanId,
      tag,
      client,
      opened: 0,
      closed: NaN,
      origin: tag === 'default' ? SpanOrigin.Default : SpanOrigin.User
    });
  open(0, 0, 'default', 0);
  open(1, 0, 'load', 1);
  open(2, 0, 'load', 2);
  open(3, 0, 'load', 3);
  open(4, 2, 'of a task', 9);
  open(5, 0, 'default', 2);

  it('name whose each span is, if there are several', () => {
    expect([0, 1, 2, 3, 4].map(span => ownersOf(log)(span as SpanId))).toEqual([
      '',
      'a.ipynb',
      'b.ipynb',
      'a.ipynb',
      'b.ipynb'
    ]);
    const alone = new LogStore('alone');
    alone.clients.set({ ...ofClient(1), path: '/a.ipynb' });
    for (const client of [1, 2]) {
      alone.spans.set({
        ...described,
        span: client as SpanId,
        client,
        tag: client === 1 ? 'load' : 'default',
        origin: client === 1 ? SpanOrigin.User : SpanOrigin.Default
      });
    }
    alone.clients.set({ ...ofClient(2), path: '/b.ipynb' });
    // Nobody knows who this one is.
    const unknown = { span: 3 as SpanId, client: 9, tag: 'load' };
    const user = { origin: SpanOrigin.User };
    alone.spans.set({ ...described, ...unknown, ...user });
    // The other one has computed nothing.
    const owners = () =>
      [1, 2, 3, 99].map(span => ownersOf(alone)(span as SpanId));
    expect(owners()).toEqual(['', '', '', '']);
    const running = { node: 1, function: 1, started: 1, span: 2 as SpanId };
    alone.shape.setRunning(idOf<LaneId>(4), running);
    expect(owners()).toEqual(['a.ipynb', 'b.ipynb', '', '']);
    alone.shape.running.clear();
    expect(owners()).toEqual(['', '', '', '']);
    ingestBlock(alone, rowsToBlock(1, 'runs', [{ span: 2, duration: 1 }]));
    expect(owners()).toEqual(['a.ipynb', 'b.ipynb', '', '']);
  });

  it('are compiled again when the log describes somebody or something', () => {
    const fresh = new LogStore('fresh');
    const versions = [compiledFor(fresh)];
    const told = (change: () => void): void => {
      change();
      versions.push(compiledFor(fresh));
    };
    told(() => fresh.clients.set({ ...ofClient(4), path: '/d.ipynb' }));
    told(() =>
      ingestBlock(fresh, rowsToBlock(1, 'names', [{ id: 1, text: 'f' }]))
    );
    told(() => ingestBlock(fresh, rowsToBlock(2, 'lanes', [{ lane: 1 }])));
    told(() => ingestBlock(fresh, rowsToBlock(3, 'spans', [{ id: 1 }])));
    expect(new Set(versions).size).toBe(5);
  });

  it.each<[string, Filter['spans'], string]>([
    ['nobody', { any: [{ path: ['load'] }] }, '1234'],
    ['one', { any: [{ path: ['load'], client: '/b.ipynb' }] }, '24'],
    [
      'one that came again',
      { any: [{ tag: 'load', client: '/a.ipynb' }] },
      '13'
    ],
    ['all that one does', { any: [{ path: [], client: '/b.ipynb' }] }, '245'],
    ['all but that', { not: [{ path: [], client: '/b.ipynb' }] }, '013'],
    ['everybody’s default', { any: [{ path: ['default'] }] }, '05'],
    [
      'one’s default',
      { any: [{ path: ['default'], client: '/b.ipynb' }] },
      '5'
    ],
    ['one who is not here', { any: [{ path: [], client: '/c.ipynb' }] }, '']
  ])('that name %s', (_, spans, expected) => {
    const compiled = compileFilter({ spans }, log);
    const passing = [0, 1, 2, 3, 4, 5].filter(
      span => compiled.spans[span as SpanId] === 1
    );
    expect(passing.join('')).toBe(expected);
  });
});

describe('function slots', () => {
  it('hash as FNV-1a does', () => {
    expect(fnv1a32('')).toBe(0x811c9dc5);
    expect(fnv1a32('a')).toBe(0xe40c292c);
    expect(fnv1a32('foobar')).toBe(0xbf9cf968);
  });

  it('are all different within a dozen, and grey from the 37th on', () => {
    const slots = new FunctionSlots();
    const given = Array.from({ length: 40 }, (_, i) => slots.assign(`f${i}`));
    for (const round of [0, 1, 2]) {
      const dozen = given.slice(round * 12, round * 12 + 12);
      expect(new Set(dozen.map(({ slot }) => slot)).size).toBe(12);
      expect(dozen.every(slot => slot.round === round)).toBe(true);
    }
    expect(given.slice(36)).toEqual(Array(4).fill(OTHER_SLOT));
    expect(slots.assign('f3')).toEqual(given[3]);
  });

  const weigh = (
    slots: FunctionSlots,
    more: Readonly<Record<string, number>>,
    whole = 1
  ): void => slots.weigh(new Map(Object.entries(more)), whole);
  const full = (): FunctionSlots => {
    const slots = new FunctionSlots();
    for (let i = 0; i < 50; i++) {
      slots.meet(`small${i}`);
    }
    return slots;
  };

  it('keep a dozen for late comers that matter', () => {
    const slots = full();
    expect(slots.of('small23').round).toBe(1);
    expect(slots.of('small24')).toEqual(OTHER_SLOT);
    weigh(slots, { large: 0.001, small3: 0.4 });
    expect(slots.of('large')).toEqual(OTHER_SLOT);
    weigh(slots, { second: 0.2, large: 0.4 });
    // The largest first.
    const alone = fnv1a32('large') % 12;
    // (in place of a light one, which has the lines now)
    expect(slots.of('large')).toEqual({ slot: alone, round: 0 });
    expect(slots.of('second').slot).toBeGreaterThanOrEqual(0);
    // What it has had counts, too.
    weigh(slots, { slow: 0.003 });
    expect(slots.of('slow')).toEqual(OTHER_SLOT);
    weigh(slots, { slow: 0.003 });
    expect(slots.of('slow').slot).toBeGreaterThanOrEqual(0);
  });

  it('of late comers are those of the heaviest', () => {
    const slots = full();
    const small0 = slots.of('small0');
    const slotted = (): string[] =>
      [...Array(12).keys()]
        .map(i => `late${i}`)
        .filter(name => slots.of(name).slot >= 0);
    for (let i = 0; i < 12; i++) {
      weigh(slots, { [`late${i}`]: 10 + i }, 1000);
    }
    expect(slotted()).toHaveLength(12);
    const had = slots.of('late0');
    weigh(slots, { heavy: 19 }, 1000);
    expect(slots.of('heavy')).toEqual(OTHER_SLOT);
    weigh(slots, { heavy: 1 }, 1000);
    expect(slots.of('heavy')).toEqual(had);
    expect(slots.of('late0')).toEqual(OTHER_SLOT);
    expect(slotted()).toHaveLength(11);
    // It comes back when it is much heavier than another.
    weigh(slots, { late0: 12 }, 1000);
    expect(slots.of('late0').slot).toBeGreaterThanOrEqual(0);
    expect(slots.of('late1')).toEqual(OTHER_SLOT);
    // Who came first keeps its slot.
    weigh(slots, { small0: 1e-9 }, 1000);
    expect(slots.of('small0').slot).toBe(small0.slot);
  });

  it('are given to whoever was heavy before the first dozens were full', () => {
    const slots = new FunctionSlots();
    weigh(slots, { early: 0.5 });
    expect(slots.of('early')).toEqual(OTHER_SLOT);
    for (let i = 0; i < 24; i++) {
      slots.meet(`f${i}`);
    }
    weigh(slots, { f1: 0.1 });
    expect(slots.of('early').slot).toBe(fnv1a32('early') % 12);
  });

  it('give the first to come the slot of its hash, and the next one the fifth from there', () => {
    const names = Array.from({ length: 60 }, (_, i) => `g${i}`);
    const first = names[0]!;
    const rival = names
      .slice(1)
      .find(name => fnv1a32(name) % 12 === fnv1a32(first) % 12)!;
    const slots = new FunctionSlots();
    expect(slots.assign(first).slot).toBe(fnv1a32(first) % 12);
    expect(slots.assign(rival).slot).toBe((fnv1a32(first) + 5) % 12);
  });
});
