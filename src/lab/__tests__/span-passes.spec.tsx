/** What ran more than once in the sidebar's tree: one row, and its passes in it. */
import { nullTranslator } from '@jupyterlab/translation';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../charts/shown-element';
import { SelectionModel } from '../../feed/selection';
import { formatClock } from '../../panels/format';
import type { SpanRow, SpansResult } from '../../wire/panel-link';
import { SpanTree } from '../span-tree';
import { treeAction } from '../span-tree-keys';
import {
  countSpans,
  type SpanNode,
  spanTree,
  standing,
  visibleSpans
} from '../span-tree-rows';
import { drawnSpans } from './drawn-spans';

const STARTED_AT = 1_800_000_000;
const trans = nullTranslator.load('spanwise');
const clock = (opened: number) =>
  formatClock(STARTED_AT + opened, Date.now() / 1000);

/** Drawn spans, each opened ten seconds after the one before it, with an id. */
function opened(
  drawing: string,
  over: (row: SpanRow, i: number) => Partial<SpanRow> = () => ({})
): SpansResult {
  const result = drawnSpans(drawing);
  return {
    ...result,
    rows: result.rows.map((drawn, i) => {
      const row = { ...drawn, id: `id ${i}`, opened: 10 * i };
      return { ...row, closed: 10 * i + 2, ...over(row, i) };
    })
  };
}

/** A cell that was run three times, the last time as [7]. */
const notebook = opened(
  `
    a.ipynb 9
      # fit 2
        train 2
      # fit 3
        train 3
      # plot 0
      # fit 4
        train 4
  `,
  (row, i) => ({
    origin: row.tag.startsWith('#')
      ? 'cell'
      : row.tag === 'train'
        ? 'user'
        : 'notebook',
    ...(row.tag === '# fit' && {
      cell: 'c0ffee',
      execution: ({ 1: 3, 3: 5, 6: 7 } as Record<number, number>)[i]
    })
  })
);

/** One after another, each as many seconds as its number. */
const loop = (times: number, over?: Parameters<typeof opened>[1]) =>
  opened(
    Array.from({ length: times }, (_, i) => `    epoch ${i + 1}`).join('\n'),
    over
  );

function nodes(tree: readonly SpanNode[]): readonly SpanNode[] {
  return tree.flatMap(node => [node, ...nodes(node.children)]);
}

function withTag(tree: readonly SpanNode[], tag: string): SpanNode {
  return nodes(tree).find(node => node.tag === tag)!;
}

function render(
  spans: SpansResult,
  selection: SelectionModel,
  turned: ReadonlySet<string>,
  arrange: 'path' | 'cell' = 'path',
  isOver = false
) {
  const host = document.createElement('div');
  const root = createRoot(host);
  const turns: [readonly string[], boolean][] = [];
  flushSync(() =>
    root.render(
      <SpanTree
        rows={visibleSpans(spanTree(spans, arrange), turned, '')}
        search=""
        selection={selection}
        startedAt={STARTED_AT}
        isOver={isOver}
        trans={trans}
        setCollapsed={(...turn) => turns.push(turn)}
      />
    )
  );
  const item = (name: string) =>
    host.querySelector<HTMLElement>(`[aria-label="${name}"]`)!;
  return {
    host,
    turns,
    item,
    click: (name: string) =>
      item(name)
        .querySelector('.sw-span-tree-row')!
        .dispatchEvent(new MouseEvent('click', { bubbles: true })),
    end: () => flushSync(() => root.unmount())
  };
}

describe('passes in the span tree', () => {
  it('of a cell are folded beside its spans, the newest first, each with its own figures', () => {
    const tree = spanTree(notebook, 'cell');
    const fit = withTag(tree, '# fit');
    expect([fit.passes, fit.seconds]).toEqual([3, 9]);
    const [group, train] = fit.children as [SpanNode, SpanNode];
    expect(group).toMatchObject({
      pass: { kind: 'all', count: 3 },
      term: null,
      isFolded: true,
      seconds: 9
    });
    expect(group.children.map(({ seconds }) => seconds)).toEqual([4, 3, 2]);
    expect(group.children.map(({ pass }) => pass)).toMatchObject([
      { execution: 7, opened: 60, place: { at: 3, of: 3 }, seconds: 2 },
      { execution: 5, opened: 30, place: { at: 2, of: 3 } },
      { execution: 3, opened: 10, place: { at: 1, of: 3 } }
    ]);
    // What is in all of them has passes of its own.
    expect([train.tag, train.passes, train.isFolded]).toEqual([
      'train',
      3,
      true
    ]);
    expect(withTag(tree, '# plot').passes).toBe(1);
    expect(countSpans(tree)).toBe(4);
    const shown = visibleSpans(tree, new Set(), '');
    expect(shown.map(row => row.node.pass?.kind ?? row.node.tag)).toEqual([
      'a.ipynb',
      '# fit',
      'all',
      'train',
      '# plot'
    ]);
  });

  it('are told only where the observer tells them apart, and not of what is in no span', () => {
    const plain = loop(3, () => ({ id: undefined }));
    expect(spanTree(plain, 'path')).toMatchObject([
      { tag: 'epoch', passes: 1, children: [] }
    ]);
    // By path, the cells' own tasks are of the default.
    const byPath = spanTree(notebook, 'path');
    expect(byPath.map(({ tag, passes }) => [tag, passes])).toEqual([
      ['train', 3],
      ['default', 1]
    ]);
  });

  it('are ten at once; earlier ones are folded, and what shares a row is counted', () => {
    const many = loop(14, (_, i) => (i === 0 ? { others: 5 } : {}));
    const [epoch] = spanTree(many, 'path') as [SpanNode];
    expect([epoch.passes, epoch.isFolded]).toEqual([19, true]);
    const last = epoch.children.slice(-2);
    expect(epoch.children).toHaveLength(12);
    expect(last).toMatchObject([
      { pass: { kind: 'earlier', count: 3 }, term: null, seconds: 4 + 3 + 2 },
      { pass: { kind: 'together', count: 6 }, term: null, seconds: 1 }
    ]);
    expect(last[0]!.children.map(({ seconds }) => seconds)).toEqual([4, 3, 2]);
    // Which one each is of all is not known.
    expect(
      nodes(epoch.children).flatMap(({ pass }) =>
        pass?.kind === 'one' ? [pass.place] : []
      )
    ).toEqual(Array(13).fill(null));
    const sum = epoch.children.reduce((all, { seconds }) => all + seconds, 0);
    expect(sum).toBe(epoch.seconds);
    const keys = nodes([epoch]).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('are chosen one by one, by what they are called', () => {
    const selection = new SelectionModel();
    const tree = spanTree(notebook, 'cell');
    const fit = withTag(tree, '# fit');
    const turned = new Set([fit.children[0]!.key]);
    const shown = render(notebook, selection, turned, 'cell');
    const name = `[5] · ${clock(30)}`;
    expect(shown.item('# fit').getAttribute('aria-description')).toContain(
      '3\u00a0passes'
    );
    expect(shown.item(name).getAttribute('aria-description')).toContain(
      '3.00\u00a0s of thread time, 33\u00a0% · 1\u00a0task run · took 2.00\u00a0s'
    );
    shown.click(name);
    const term = {
      path: ['a.ipynb', '# fit'],
      id: 'id 3',
      pass: name
    };
    expect(selection.filter).toEqual({ spans: { any: [term] } });
    expect(selection.conditions).toMatchObject([
      { kind: 'any', value: `a.ipynb › # fit › ${name}` }
    ]);
    const { path } = term;
    expect(
      [term, { path, id: 'id 6' }, { path }].map(one => selection.matchOf(one))
    ).toEqual(['any', null, null]);
    const at = (node: SpanNode) => standing(node, selection.filter);
    const [group, train] = fit.children as [SpanNode, SpanNode];
    expect(group.children.map(at)).toEqual(['outside', 'inside', 'outside']);
    expect([tree[0]!, fit, group, train].map(at)).toEqual(
      Array(4).fill('inside')
    );
    expect(at(withTag(tree, '# plot'))).toBe('outside');
    shown.click(name);
    expect(selection.isFiltered).toBe(false);
    // It is of one log: the next one has no such pass.
    shown.click(name);
    selection.enterLog();
    expect(selection.isFiltered).toBe(false);
    shown.end();
  });

  it('that stand together are opened by a click or a key, and choose nothing', () => {
    const selection = new SelectionModel();
    const shown = render(notebook, selection, new Set(), 'cell');
    const group = shown.item('3\u00a0passes');
    expect(group.getAttribute('aria-expanded')).toBe('false');
    expect(group.querySelector('button')).toBeNull();
    shown.click('3\u00a0passes');
    expect(shown.turns).toEqual([[[group.dataset.key], false]]);
    expect(selection.isFiltered).toBe(false);
    shown.end();
    const rows = visibleSpans(spanTree(notebook, 'cell'), new Set(), '');
    const key = { key: 'Enter', shiftKey: false, altKey: false };
    expect(treeAction(key, rows, group.dataset.key!)).toEqual({
      do: 'expand',
      keys: [group.dataset.key]
    });
  });

  it('are not what is searched for, and nothing says that they could be opened there', () => {
    const [row] = visibleSpans(spanTree(loop(3), 'path'), new Set(), 'epoch');
    expect([row!.isFound, row!.isExpanded]).toEqual([true, null]);
    const found = visibleSpans(spanTree(notebook, 'cell'), new Set(), 'train');
    expect(found.map(({ node, isExpanded }) => [node.tag, isExpanded])).toEqual(
      [
        ['a.ipynb', true],
        ['# fit', true],
        ['train', null]
      ]
    );
  });

  it('of which nobody has told the end are open while the cluster is there, and no longer', () => {
    const spans = loop(2, (_row, i) => (i === 1 ? { closed: null } : {}));
    const turned = new Set([spanTree(spans, 'path')[0]!.key]);
    const said = (isOver: boolean) => {
      const shown = render(spans, new SelectionModel(), turned, 'path', isOver);
      const item = shown.item(`2 of 2 · ${clock(10)}`);
      shown.end();
      return item.getAttribute('aria-description');
    };
    expect(said(false)).toMatch(/ · still open$/u);
    expect(said(true)).toMatch(/ · nobody has told when it ended$/u);
  });

  it('show how long they took, or the thread time where that is not known', () => {
    const shownTime = (over: Partial<SpanRow>) => {
      const spans = loop(2, (_row, i) => (i === 1 ? over : {}));
      const turned = new Set([spanTree(spans, 'path')[0]!.key]);
      const shown = render(spans, new SelectionModel(), turned);
      const item = shown.item(`2 of 2 · ${clock(10)}`);
      const time = item.querySelector('.sw-span-tree-time')!.textContent;
      const all = shown.item('epoch').querySelector('.sw-span-tree-time')!;
      shown.end();
      expect(all.textContent).toBe('9.00\u00a0s');
      return [time, item.getAttribute('aria-description')!.split(' · ').at(-1)];
    };
    const threads = { threadSeconds: 8 };
    expect(shownTime(threads)).toEqual(['2.00\u00a0s', 'took 2.00\u00a0s']);
    expect(shownTime({ ...threads, lastStop: 12.005 })).toEqual([
      '2.00\u00a0s',
      'took 2.00\u00a0s'
    ]);
    expect(shownTime({ ...threads, lastStop: 13 })).toEqual([
      '8.00\u00a0s',
      'open for 2.00\u00a0s, tasks of it ran later'
    ]);
    expect(shownTime({ ...threads, closed: null })).toEqual([
      '8.00\u00a0s',
      'still open'
    ]);
    expect(shownTime({ ...threads, running: 1 })).toEqual([
      '8.00\u00a0s',
      '1 running'
    ]);
  });

  it('together tell how long one of them took, and not once more what the row above them does', () => {
    const shown = (took: readonly (number | null)[]) => {
      let at = 0;
      const spans = opened(
        `
          flow 2
            load 1
          flow 3
            load 1
          flow 4
            load 1
        `,
        row => {
          if (row.tag !== 'flow') {
            return {};
          }
          const seconds = took[at++] ?? null;
          return { closed: seconds === null ? null : row.opened + seconds };
        }
      );
      const tree = render(spans, new SelectionModel(), new Set());
      const item = tree.item('3\u00a0passes');
      tree.end();
      const row = item.querySelector('.sw-span-tree-row')!;
      expect(row.querySelector('.sw-span-tree-time')).toBeNull();
      expect(row.querySelector('.sw-span-tree-tasks')).toBeNull();
      return [
        row.querySelector('.sw-span-tree-range')!.textContent,
        item.getAttribute('aria-description')!.split(' · ').at(-1)
      ];
    };
    const range = '1.50\u00a0s – 4.00\u00a0s';
    expect(shown([4, 1.5, 2])).toEqual([range, `one took ${range}`]);
    expect(shown([4, 1.5, null])).toEqual([range, `one took ${range}`]);
    expect(shown([2, 2, null])).toEqual([
      '2.00\u00a0s',
      'one took 2.00\u00a0s'
    ]);
    expect(shown([null, null, null])).toEqual(['', '3\u00a0task runs']);
  });

  it('of a span are called by their place and their time', () => {
    const shown = render(
      loop(2),
      new SelectionModel(),
      new Set([spanTree(loop(2), 'path')[0]!.key])
    );
    const names = [...shown.host.querySelectorAll('[role="treeitem"]')].map(
      item => item.getAttribute('aria-label')
    );
    expect(names).toEqual([
      'epoch',
      `2 of 2 · ${clock(10)}`,
      `1 of 2 · ${clock(0)}`
    ]);
    shown.end();
  });
});
