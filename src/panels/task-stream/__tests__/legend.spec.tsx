import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { nullTranslator } from '@jupyterlab/translation';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../../charts/shown-element';
import { SelectionModel } from '../../../feed/selection';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { Legend } from '../legend';
import { TaskStreamModel } from '../model';
import { legendItems, legendRows } from '../rows';

it('folds the small functions, and none that runs for the first time', () => {
  const result = ask(drawnStore(firstLook(38)), 'task-stream', { ended: true });
  const { functions } = result;
  const none = { slot: 1, round: 0, seconds: 0, executions: 0 };
  const task = { ...result.running[0]!, key: 'k', span: 0, started: 1 };
  const model = new TaskStreamModel();
  model.setResult({
    ...result,
    functions: [
      ...functions,
      { ...none, name: 'new' },
      // (of no time, and nothing of it runs)
      { ...none, name: 'old' }
    ],
    running: [{ ...task, function: 'new' }]
  });
  const host = document.createElement('div');
  const root = createRoot(host);
  flushSync(() =>
    root.render(
      <Legend
        model={model}
        selection={new SelectionModel()}
        trans={nullTranslator.load('spanwise')}
      />
    )
  );
  const names = () =>
    [...host.querySelectorAll('button .sw-legend-name')]
      .map(({ textContent }) => textContent)
      .filter(name => name !== 'failed runs');
  const fold = () => host.querySelector<HTMLElement>('[aria-expanded]')!;
  const all = functions.map(({ name }) => name);
  expect(names()).toEqual([...all.slice(0, 12), 'new']);
  expect(fold().textContent).toBe(`${all.length - 12 + 1} other functions`);
  // Of those that are shown: colours are a dozen, and three times as many with lines.
  const said = () => host.querySelector('li:last-child')!.textContent;
  const shared = (count: number) =>
    `${count} with light lines share the colours of others`;
  const lined = (of: typeof functions) =>
    of.filter(({ slot, round }) => slot >= 0 && round > 0).length;
  expect(said()).toBe(shared(lined(functions.slice(0, 12))));
  flushSync(() => fold().click());
  expect(names()).toEqual([...all, 'new', 'old']);
  expect(said()).toBe(
    `${shared(lined(functions))} · ${functions.filter(({ slot }) => slot < 0).length} are grey alike`
  );
  expect(fold().textContent).toBe('fewer');
  flushSync(() => root.unmount());
});

it('counts also the functions that the answer does not name', () => {
  const result = ask(drawnStore(firstLook(38)), 'task-stream', { ended: true });
  const { functions } = result;
  const model = new TaskStreamModel();
  model.setResult({
    ...result,
    otherFunctions: { functions: 1234, seconds: 5, executions: 2345 }
  });
  const host = document.createElement('div');
  const root = createRoot(host);
  const trans = nullTranslator.load('spanwise');
  const selection = new SelectionModel();
  flushSync(() =>
    root.render(<Legend model={model} selection={selection} trans={trans} />)
  );
  const fold = () => host.querySelector<HTMLElement>('[aria-expanded]')!;
  const count = functions.length - 12 + 1234;
  expect(fold().textContent).toBe(
    `${count.toLocaleString('en-US')} other functions`
  );
  const others = () =>
    [...host.querySelectorAll('li')].find(
      ({ title }) => title.replace('\u00a0', ' ') === '2,345 executions'
    );
  expect(others()).toBeUndefined();
  flushSync(() => fold().click());
  expect(others()!.textContent!.replace('\u00a0', ' ')).toBe(
    '1,234 other functions5.00 s'
  );
  const grey = functions.filter(({ slot }) => slot < 0).length + 1234;
  expect(host.querySelector('li:last-child')!.textContent).toContain(
    `${grey.toLocaleString('en-US')} are grey alike`
  );
  flushSync(() => root.unmount());
  // Their time is in that of the kind, and in the table.
  const told = { ...result, otherFunctions: model.result!.otherFunctions! };
  const seconds = (of: typeof result) =>
    legendItems(of, 'kind', trans).find(({ kind }) => kind === 'compute')!;
  expect(seconds(told).text).not.toBe(seconds(result).text);
  expect(legendRows(told, trans)[functions.length]).toMatchObject([
    { text: '1,234 other functions' },
    { value: 5 },
    { value: 2345 }
  ]);
});

it('says where boxes of each kind of part stand, and what behind other work means', () => {
  const result = ask(drawnStore(firstLook()), 'task-stream', { ended: true });
  const model = new TaskStreamModel();
  model.setResult(result);
  const host = document.createElement('div');
  const root = createRoot(host);
  const trans = nullTranslator.load('spanwise');
  const selection = new SelectionModel();
  flushSync(() =>
    root.render(<Legend model={model} selection={selection} trans={trans} />)
  );
  const told = [...host.querySelectorAll('li')]
    .filter(({ title }) => /\bparts?\n.*behind other work/.test(title))
    .map(item => item.querySelector('.sw-legend-name')!.textContent);
  expect(told).toEqual(['transfer', 'disk', '(de)serialise']);
  flushSync(() => root.unmount());
});

it('draws the lines of a swatch within it', () => {
  // At its edge a light line is taken for what is around the swatch. (jsdom has no places of backgrounds)
  const sheet = readFileSync(
    path.join(__dirname, '../../../../style/marks.css'),
    'utf8'
  );
  const places = (lines: 1 | 2) =>
    [...sheet.matchAll(/([^{}]*)\{([^{}]*)\}/g)]
      .filter(([, selectors]) =>
        selectors!.includes(`.sw-swatch.sw-toplines-${lines}`)
      )
      .flatMap(([, , rules]) =>
        [...rules!.matchAll(/background-position:\s*([^;]*);/g)].map(
          ([, value]) => value!.replace(/\s+/g, ' ')
        )
      );
  expect(places(1)).toEqual(['0 2px']);
  expect(places(2).at(-1)).toBe('0 2px, 0 6px');
});

it('has no swatch for what looks like any other box', () => {
  const model = new TaskStreamModel();
  const result = ask(drawnStore(firstLook(4)), 'task-stream', { ended: true });
  model.setResult({
    ...result,
    kinds: { ...result.kinds, failed: 1, cancelled: 3, missing: 1 }
  });
  const host = document.createElement('div');
  const root = createRoot(host);
  flushSync(() =>
    root.render(
      <Legend
        model={model}
        selection={new SelectionModel()}
        trans={nullTranslator.load('spanwise')}
      />
    )
  );
  const shown = ['failed runs', 'cancelled runs', 'missing runs'].map(name => {
    const item = [...host.querySelectorAll('li')].find(
      each => each.querySelector('.sw-legend-name')?.textContent === name
    )!;
    const figure = item.querySelector('.sw-legend-figure')!.textContent;
    return [name, figure, item.querySelector('.sw-swatch') !== null];
  });
  flushSync(() => root.unmount());
  expect(shown).toEqual([
    ['failed runs', '1', true],
    ['cancelled runs', '3', true],
    ['missing runs', '1', false]
  ]);
});

it('selects runs by how they ended, and gives that up again', () => {
  const model = new TaskStreamModel();
  const result = ask(drawnStore(firstLook(4)), 'task-stream', { ended: true });
  const ended = { failed: 2, lost: 4, cancelled: 3, missing: 1 };
  model.setResult({ ...result, kinds: { ...result.kinds, ...ended } });
  const host = document.createElement('div');
  const root = createRoot(host);
  const selection = new SelectionModel();
  const trans = nullTranslator.load('spanwise');
  flushSync(() =>
    root.render(<Legend model={model} selection={selection} trans={trans} />)
  );
  const named = (name: string) =>
    [...host.querySelectorAll('button')].find(
      each => each.querySelector('.sw-legend-name')?.textContent === name
    );
  const click = (name: string, altKey = false) =>
    flushSync(() =>
      named(name)!.dispatchEvent(
        new MouseEvent('click', { bubbles: true, altKey })
      )
    );
  document.body.append(host);
  for (const [name, status] of [
    ['failed runs', 'failed'],
    ['lost runs', 'lost'],
    ['cancelled runs', 'cancelled']
  ] as const) {
    expect(named(name)!.getAttribute('aria-pressed')).toBe('false');
    click(name, true);
    expect(selection.filter).toEqual({});
    click(name);
    expect(selection.filter).toEqual({ status: [status] });
    expect(named(name)!.getAttribute('aria-pressed')).toBe('true');
    click(name);
    expect(selection.filter).toEqual({});
  }
  click('failed runs');
  click('lost runs');
  expect(selection.filter).toEqual({ status: ['failed', 'lost'] });
  selection.undo();
  expect(selection.filter).toEqual({ status: ['failed'] });
  // No filter knows those that were given back.
  expect(named('missing runs')).toBeUndefined();
  flushSync(() => root.unmount());
  host.remove();
});

it('begins with what gave no result, which must not be below its fold', () => {
  const result = ask(drawnStore(firstLook()), 'task-stream', { ended: true });
  const kinds = {
    ...result.kinds,
    failed: 2,
    lost: 1,
    cancelled: 3,
    missing: 4
  };
  const model = new TaskStreamModel();
  const host = document.createElement('div');
  const root = createRoot(host);
  const trans = nullTranslator.load('spanwise');
  const selection = new SelectionModel();
  const names = () =>
    [...host.querySelectorAll('.sw-legend-name')].map(
      ({ textContent }) => textContent
    );
  const show = (next: typeof result) =>
    flushSync(() => {
      model.setResult(next);
      root.render(<Legend model={model} selection={selection} trans={trans} />);
    });
  show({ ...result, kinds });
  expect(names().slice(0, 4)).toEqual([
    'failed runs',
    'lost runs',
    'cancelled runs',
    result.functions[0]!.name
  ]);
  // (its boxes look like any others)
  expect(names().at(-1)).toBe('missing runs');
  show({ ...result, kinds: { ...kinds, failed: 0, lost: 0, cancelled: 0 } });
  expect(names()[0]).toBe(result.functions[0]!.name);
  flushSync(() => root.unmount());
});

describe('a legend that has no room', () => {
  it('says how many entries are out of sight, and shows them', () => {
    // A line of 18 pixels for 400: entries of 100 pixels, one beside the other.
    const places = (element: Element): Partial<DOMRect> => {
      const entries = [...(element.parentElement?.children ?? [])];
      const at = entries.indexOf(element);
      if (element.matches('ul')) {
        return { top: 0, bottom: 18, left: 0, right: 400 };
      }
      if (element.matches('.sw-legend-rest')) {
        return { top: 0, bottom: 18, left: 370, right: 400 };
      }
      const [line, column] = [Math.floor(at / 4), at % 4];
      return {
        top: 18 * line,
        bottom: 18 * line + 18,
        left: 100 * column,
        right: 100 * column + 90
      };
    };
    const spy = jest
      .spyOn(Element.prototype, 'getBoundingClientRect')
      .mockImplementation(function (this: Element) {
        return places(this) as DOMRect;
      });
    const model = new TaskStreamModel();
    model.setResult(
      ask(drawnStore(firstLook()), 'task-stream', { ended: true })
    );
    const host = document.createElement('div');
    const root = createRoot(host);
    const trans = nullTranslator.load('spanwise');
    const selection = new SelectionModel();
    flushSync(() =>
      root.render(<Legend model={model} selection={selection} trans={trans} />)
    );
    const rest = () => host.querySelector<HTMLElement>('.sw-legend-rest')!;
    const button = () => rest().querySelector('button')!;
    const entries = host.querySelectorAll('li:not(.sw-legend-rest)').length;
    // (the button lies over the fourth)
    const hidden = entries - 3;
    expect(hidden).toBeGreaterThan(5);
    expect(button().textContent).toBe(`+${hidden}`);
    expect(button().getAttribute('aria-label')).toBe(
      `Show ${hidden} more entries of the legend`
    );
    expect(button().getAttribute('aria-expanded')).toBe('false');
    flushSync(() => button().click());
    expect(host.querySelector('ul')!.className).toContain('sw-is-whole');
    expect(button().getAttribute('aria-expanded')).toBe('true');
    flushSync(() => button().click());
    expect(button().textContent).toBe(`+${hidden}`);
    spy.mockRestore();
    // There is room for all.
    flushSync(() =>
      root.render(<Legend model={model} selection={selection} trans={trans} />)
    );
    expect(host.querySelector('.sw-legend-rest')).toBeNull();
    flushSync(() => root.unmount());
  });
});
