/** What stands below the tree. */
import { nullTranslator } from '@jupyterlab/translation';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../charts/shown-element';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import type { SpanRow, SpansResult, TimeRange } from '../../wire/panel-link';
import { SidebarModel } from '../sidebar-model';
import { SpansSection } from '../spans-section';
import { drawnSpans } from './drawn-spans';
import { labContext } from './lab-context';

function textOf(
  result: SpansResult | null,
  running = 0,
  watch: { spansFailure?: string; isAskingSpans?: boolean } = {},
  time: TimeRange = 'all',
  before: (model: SidebarModel) => void = () => undefined,
  then: (host: HTMLElement) => void = () => undefined
): string {
  const { feed, contexts } = labContext();
  const model = new SidebarModel({
    feed,
    contexts,
    notebookOf: ({ notebook }) => notebook?.path
  });
  feed.setClusters(clusterInfo({ running }));
  model.context.selection.setTime(time);
  for (const [name, value] of Object.entries({ spans: result, ...watch })) {
    Object.defineProperty(model, name, { value });
  }
  before(model);
  const host = document.createElement('div');
  const root = createRoot(host);
  flushSync(() =>
    root.render(
      <SpansSection model={model} trans={nullTranslator.load('spanwise')} />
    )
  );
  const text = host.textContent ?? '';
  then(host);
  flushSync(() => root.unmount());
  return text;
}

describe('below the tree', () => {
  const spans = drawnSpans(`
    flow 10
      load 4
  `);

  it('is said how many spans have no row of their own, if there are any', () => {
    expect(textOf(spans)).not.toContain('more span');
    expect(textOf({ ...spans, folded: 1 })).toContain(
      '1 more span is counted in these rows'
    );
    expect(textOf({ ...spans, folded: 31_268 })).toContain(
      '31,268 more spans are counted in these rows'
    );
  });

  it('stand cells where there are no spans of the program, until one chooses', () => {
    const cells = {
      ...spans,
      rows: spans.rows.map((row, i) => ({
        ...row,
        origin: i === 0 ? ('notebook' as const) : ('cell' as const),
        parent: i === 0 ? null : 1
      }))
    };
    expect(textOf(cells)).toContain('load');
    expect(textOf(cells)).not.toContain('default');
    expect(
      textOf(cells, 0, {}, 'all', model => model.setArrange('path'))
    ).toContain('default');
    const own = drawnSpans('train 1').rows.map(row => ({ ...row, span: 9 }));
    const both = { ...cells, rows: [...cells.rows, ...own] };
    expect(textOf(both)).toContain('default');
    expect(textOf(both)).not.toContain('load');
  });

  it('stand cells once one has computed again, whatever spans there are', () => {
    const notebook = drawnSpans(`
      a.ipynb 9
        load 1
          read 1
        load 2
    `);
    const told = (
      again: Partial<SpanRow>,
      before?: (model: SidebarModel) => void
    ) => {
      const origins = ['notebook', 'cell', 'user', 'cell'] as const;
      const rows = notebook.rows.map((row, i) => ({
        ...row,
        id: `id ${i}`,
        opened: i,
        origin: origins[i]!,
        ...(i === 3 ? again : {})
      }));
      return textOf({ ...notebook, rows }, 0, {}, 'all', before);
    };
    expect(told({})).toMatch(/a\.ipynb.*load×2/u);
    expect(told({}, model => model.setArrange('path'))).toContain('default');
    // It ran nothing, or is another one.
    expect(told({ tasks: 0 })).not.toContain('a.ipynb');
    const path = ['a.ipynb', 'fit'];
    expect(told({ tag: 'fit', path })).not.toContain('a.ipynb');
    // The rest of its runs share a row.
    expect(told({ tag: 'fit', path, others: 3 })).toContain('×4');
    // An observer of before tells of no passes.
    expect(told({ id: undefined })).not.toContain('a.ipynb');
  });

  it('stays what is arranged so, once a span was picked', () => {
    const click = new MouseEvent('click', { bubbles: true });
    const kept = jest.fn();
    textOf(
      spans,
      0,
      {},
      'all',
      model => Object.assign(model, { keepArrange: kept }),
      host => {
        expect(kept).not.toHaveBeenCalled();
        host.querySelector('.sw-span-tree-row')!.dispatchEvent(click);
      }
    );
    expect(kept).toHaveBeenCalled();
  });

  it('stays what is arranged so while the pointer is there', () => {
    const held: boolean[] = [];
    textOf(
      spans,
      0,
      {},
      'all',
      model =>
        Object.assign(model, {
          holdArrange: (isHeld: boolean) => held.push(isHeld)
        }),
      host => {
        const row = host.querySelector('.sw-span-tree-row')!;
        const move = (type: string, relatedTarget: Element | null) =>
          row.dispatchEvent(
            new MouseEvent(type, { bubbles: true, relatedTarget })
          );
        document.body.append(host);
        move('pointerover', document.body);
        move('pointerout', document.body);
        host.remove();
      }
    );
    expect(held).toEqual([true, false]);
  });

  it('is said what runs, also before the first task has ended', () => {
    const said = (running: number, of: Partial<SpansResult>) =>
      textOf({ ...spans, ...of }, running).replaceAll('\u00a0', ' ');
    const first = { totalTasks: 0, totalThreadSeconds: 0 };
    expect(said(8, first)).toMatch(/8 running$/);
    expect(said(8, first)).not.toContain('0 task runs');
    expect(said(0, first)).toContain('0 task runs · 0 s of thread time');
    const some = { totalTasks: 1, totalThreadSeconds: 2 };
    expect(said(8, { ...some, runningSeconds: 17 })).toContain('19.0 s');
    expect(said(8, some)).toContain(
      '1 task run · 2.00 s of thread time · 8 running'
    );
    expect(said(0, some)).not.toContain('running');
    expect(said(8, { rows: [] })).toContain('8 running. Write “with span(');
    expect(said(0, { rows: [] })).toContain('No tasks yet. Write “with span(');
  });

  it('is said that figures are of the whole run while a part of it is chosen', () => {
    const said = (time: TimeRange) =>
      textOf({ ...spans, totalTasks: 1 }, 0, {}, time);
    expect(said({ from: 1, to: 2 })).toMatch(
      /Of the whole run: 1\u00a0task run/
    );
    expect(said('all')).not.toContain('whole run');
  });

  it('is no word of tasks before the first answer', () => {
    for (const running of [0, 8]) {
      const text = textOf(null, running, { isAskingSpans: true });
      expect(text).toMatch(/Loading the spans of first-look…$/);
      expect(text).not.toContain('No tasks yet');
    }
  });

  it('is no promise where no answer comes', () => {
    expect(textOf(null, 8)).not.toContain('Loading');
    expect(
      textOf(null, 8, {
        spansFailure: 'There is no room.',
        isAskingSpans: true
      })
    ).toContain('The spans of first-look cannot be shown: There is no room.');
  });

  it('is said if spans are not told', () => {
    const sentence =
      'The scheduler does not tell in which spans its tasks are.';
    expect(textOf(spans)).not.toContain(sentence);
    expect(textOf({ ...spans, areNotTold: true })).toContain(sentence);
  });
});
