/** Compare in a panel that is narrower than its tables, with the style sheets of the page. */
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { nullTranslator } from '@jupyterlab/translation';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../../charts/shown-element';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { METRICS_PARAMS } from '../model';
import { areSame, type Side } from '../rows';
import { CompareView } from '../view';

const STYLES = path.resolve(__dirname, '../../../../style');

const side = (name: string, drawn: string): Side => ({
  name,
  kind: 'embedded',
  metrics: ask(
    drawRuns(drawn, {
      tasks: Object.fromEntries(
        [...'abc'].map(name => [name, { function: name }])
      )
    }),
    'fine-metrics',
    { params: METRICS_PARAMS }
  ),
  spans: null,
  memory: null
});

it('keeps the difference in view', () => {
  for (const name of ['panel.css', 'compare.css']) {
    const sheet = document.createElement('style');
    // jsdom knows no container queries.
    sheet.textContent = readFileSync(path.join(STYLES, name), 'utf8').replace(
      /@container[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g,
      ''
    );
    document.head.append(sheet);
  }
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  flushSync(() =>
    root.render(
      <CompareView
        sides={[side('one', '0/0 aaab'), side('two', '0/0 aac')]}
        by="function"
        figure="thread"
        isFiltered={false}
        turned=""
        failure={null}
        controls={null}
        trans={nullTranslator.load('spanwise')}
      />
    )
  );
  expect(host.textContent).toContain('only in two');
  // What stays is at the panel's edges: in its padding what scrolls would be seen.
  const { paddingTop, paddingRight } = getComputedStyle(
    host.querySelector('.sw-Compare')!
  );
  const tables = [...host.querySelectorAll('table')];
  expect(tables).toHaveLength(2);
  for (const table of tables) {
    const heads = [...table.querySelectorAll('thead th')];
    const place = heads.findIndex(
      ({ textContent }) => textContent === 'Difference'
    );
    // Below 540 px changes are not displayed.
    const isLeft = (cell: Element) =>
      !cell.classList.contains('sw-Compare-change');
    const columns = heads.filter(isLeft).length;
    for (const row of table.rows) {
      const spans = [...row.cells].filter(isLeft).map(({ colSpan }) => colSpan);
      expect([row.textContent, spans]).toEqual([
        row.textContent,
        Array(columns).fill(1)
      ]);
      const cell = row.cells[place]!;
      const { position, right } = getComputedStyle(cell);
      expect([cell.textContent, position, right]).toEqual([
        cell.textContent,
        'sticky',
        `-${paddingRight}`
      ]);
    }
    for (const head of heads) {
      const { position, top, zIndex } = getComputedStyle(head);
      // (that of the differences is over those that scroll below it)
      const layer = head === heads[place] ? '2' : '1';
      expect([head.textContent, position, top, zIndex]).toEqual([
        head.textContent,
        'sticky',
        `-${paddingTop}`,
        layer
      ]);
    }
  }
  flushSync(() => root.unmount());
});

it('shows no difference where nobody could tell the two apart', () => {
  const host = document.createElement('div');
  const root = createRoot(host);
  const [first, second] = [side('one', '0/0 aaab'), side('two', '0/0 aaab')];
  const metrics = second.metrics!;
  const byFunction = metrics.byFunction.map(row => ({
    ...row,
    total: row.total + (row.function === 'a' ? 3e-7 : 0.5)
  }));
  flushSync(() =>
    root.render(
      <CompareView
        sides={[first, { ...second, metrics: { ...metrics, byFunction } }]}
        by="function"
        figure="thread"
        isFiltered={false}
        turned=""
        failure={null}
        controls={null}
        trans={nullTranslator.load('spanwise')}
      />
    )
  );
  const shown = (name: string) => {
    const row = [...host.querySelectorAll('tbody tr')].find(
      ({ firstElementChild }) => firstElementChild?.textContent === name
    )!;
    const [difference, change] = [...row.children].slice(-2);
    return [
      difference!.textContent?.replaceAll('\u00a0', ' '),
      difference!.classList.contains('sw-Compare-same'),
      change!.textContent?.replaceAll('\u00a0', ' '),
      row.querySelector<HTMLElement>('.sw-fill')?.style.width
    ];
  };
  expect(shown('Executions')).toEqual(['same', true, '', undefined]);
  expect(shown('Disk, waited for')).toEqual(['same', true, '', undefined]);
  expect(shown('a')).toEqual(['same', true, '', '0%']);
  expect(shown('b')).toEqual(['+500 ms', false, '+50 %', '50%']);
  flushSync(() => root.unmount());
});

it('tells apart what is printed as different, by a microsecond at least, and whole numbers always', () => {
  expect(areSame([0, 0], 'seconds')).toBe(true);
  expect(areSame([1.2e-6, 1.9e-6], 'seconds')).toBe(true);
  expect(areSame([0, 3e-7], 'seconds')).toBe(true);
  expect(areSame([1.2e-6, 2.3e-6], 'seconds')).toBe(false);
  expect(areSame([1.231, 1.2312], 'seconds')).toBe(true);
  expect(areSame([1.23, 1.24], 'seconds')).toBe(false);
  expect(areSame([2 ** 30, 2 ** 30 + 9], 'bytes')).toBe(true);
  expect(areSame([1_250_000, 1_250_001], 'count')).toBe(false);
  expect(areSame([7, 7], 'count')).toBe(true);
  expect(areSame([null, 0], 'seconds')).toBe(false);
});

it('has no difference, change or bar where nothing is in common', () => {
  const answered = (name: string, drawn: string): Side => ({
    ...side(name, drawn),
    spans: ask(drawRuns(drawn), 'spans')
  });
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  flushSync(() =>
    root.render(
      <CompareView
        sides={[answered('one', '0/0 aaab'), answered('two', '0/0 cc')]}
        by="activity"
        figure="thread"
        isFiltered={false}
        turned=""
        failure={null}
        controls={null}
        trans={nullTranslator.load('spanwise')}
      />
    )
  );
  expect(host.querySelector('h3')?.textContent).toBe(
    'one and two have nothing in common'
  );
  expect(host.textContent).not.toMatch(/%|largest difference|same/);
  const cells = host.querySelectorAll('td.sw-Compare-difference');
  expect(cells.length).toBeGreaterThan(3);
  expect([...cells].map(({ textContent }) => textContent)).toEqual(
    Array(cells.length).fill('')
  );
  expect(host.querySelector('.sw-Compare-track')).toBeNull();
  root.unmount();
  host.remove();
});

it('says at a glance that there is no verdict, and below it why', () => {
  const host = document.body.appendChild(document.createElement('div'));
  const spans = ask(drawRuns('0/0 a'), 'spans');
  const [one, two] = [side('one', '0/0 aaab'), side('two', '0/0 aac')];
  const going = { ...two.metrics!, runningSeconds: 1 };
  flushSync(() =>
    createRoot(host).render(
      <CompareView
        sides={[
          { ...one, spans },
          { ...two, spans, metrics: going }
        ]}
        by="function"
        figure="thread"
        isFiltered={false}
        turned=""
        failure={null}
        controls={null}
        trans={nullTranslator.load('spanwise')}
      />
    )
  );
  const texts = (selector: string) =>
    [...host.querySelectorAll(selector)].map(({ textContent }) =>
      textContent!.replaceAll('\u00a0', ' ')
    );
  expect(texts('h3')).toEqual([
    'No verdict: tasks of the second run still run'
  ]);
  expect(texts('.sw-Compare-details > li')).toEqual(['two still runs']);
});
