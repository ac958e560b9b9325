import { nullTranslator } from '@jupyterlab/translation';
import { SelectionModel } from '../../feed/selection';
import { treeAction, type TreeKey } from '../span-tree-keys';
import {
  type Arrange,
  countSpans,
  hasCells,
  sharedBeginnings,
  type SpanNode,
  spanTree,
  standing,
  visibleSpans,
  workText
} from '../span-tree-rows';
import type { SpanRow, SpansResult } from '../../wire/panel-link';
import { drawnSpans } from './drawn-spans';

const result = drawnSpans(`
  flow 10
    load 4
      read 3
    fit 6
      load 1
  other 10
    load 2
`);

function find(tree: readonly SpanNode[], ...path: string[]): SpanNode {
  const [tag, ...rest] = path;
  const node = tree.find(one => one.tag === tag);
  if (node === undefined) {
    throw new Error(`no ${path.join('/')}`);
  }
  return rest.length === 0 ? node : find(node.children, ...rest);
}

/** The shown rows, indented by level. */
function shown(collapsed: readonly string[][] = [], search = ''): string[] {
  const tree = spanTree(result, 'path');
  const keys = new Set(collapsed.map(path => find(tree, ...path).key));
  return visibleSpans(tree, keys, search).map(
    row =>
      ' '.repeat(row.level) +
      (row.isExpanded === false ? '+' : '') +
      row.node.tag +
      (row.isFound ? '!' : '')
  );
}

describe('the span tree', () => {
  it('nests by path, each with its share of all thread time', () => {
    const tree = spanTree(result, 'path');
    expect(shown()).toEqual([
      'flow',
      ' load',
      '  read',
      ' fit',
      '  load',
      'other',
      ' load'
    ]);
    expect(find(tree, 'flow', 'fit').share).toBeCloseTo(0.3);
    expect(find(tree, 'flow', 'load').term).toEqual({ path: ['flow', 'load'] });
    expect(countSpans(tree)).toBe(7);
  });

  it('has a row above the spans of each notebook, if several have computed', () => {
    const { rows } = drawnSpans(`
      load 1
        read 1
      load 3
      default 6
    `);
    const [load, read, theirs, rest] = rows.map((row, i) => ({
      ...row,
      client: [0, 0, 1, 1][i]!
    })) as [SpanRow, SpanRow, SpanRow, SpanRow];
    const clients = ['/home/alice/work.ipynb', '/home/bob/work.ipynb'];
    const shared = {
      ...result,
      totalThreadSeconds: 10,
      clients,
      rows: [load, read, theirs, rest]
    };
    const tree = spanTree(shared, 'path');
    expect(
      visibleSpans(tree, new Set(), '').map(
        ({ level, node }) => `${' '.repeat(level)}${node.tag} ${node.seconds}`
      )
    ).toEqual([
      'alice/work.ipynb 1',
      ' load 1',
      '  read 1',
      'bob/work.ipynb 9',
      ' load 3',
      ' default 6'
    ]);
    const ofBob = find(tree, 'bob/work.ipynb');
    expect(ofBob.term).toEqual({ path: [], client: clients[1] });
    expect(ofBob.share).toBe(0.9);
    const keys = tree.flatMap(({ children }) => children.map(({ key }) => key));
    expect(new Set(keys).size).toBe(3);
    const loads = ['alice/work.ipynb', 'bob/work.ipynb'].map(name =>
      find(tree, name, 'load')
    );
    expect(loads.map(({ term }) => term)).toEqual(
      clients.map(client => ({ path: ['load'], client }))
    );
    const byBob = { spans: { any: [ofBob.term!] } };
    expect(loads.map(node => standing(node, byBob))).toEqual([
      'outside',
      'inside'
    ]);
    const byLoad = { spans: { any: [loads[1]!.term!] } };
    expect(tree.map(node => standing(node, byLoad))).toEqual([
      'outside',
      'inside'
    ]);
    const [aliceTags] = spanTree(shared, 'tag');
    expect(aliceTags!.children.map(({ term }) => term)).toEqual([
      { tag: 'load', client: clients[0] },
      { tag: 'read', client: clients[0] }
    ]);
  });

  describe('of a notebook', () => {
    const { rows } = drawnSpans(`
      a.ipynb 8
        # load 3
          read 1
        # fit 4
          read 2
            part 2
      load 3
    `);
    const origins = {
      'a.ipynb': 'notebook',
      '# load': 'cell',
      '# fit': 'cell'
    } as const;
    // Each has one task of its own.
    const tasks = [6, 2, 1, 3, 2, 1, 1];
    const notebook = (last: number): SpansResult => ({
      ...result,
      clients: ['/a.ipynb', '/b.ipynb'],
      rows: rows.map((row, i) => ({
        ...row,
        origin: origins[row.tag as keyof typeof origins] ?? 'user',
        tasks: tasks[i]!,
        client: row.tag === 'load' ? last : 0
      }))
    });
    const shown = (arrange: Arrange, last = 0) =>
      visibleSpans(spanTree(notebook(last), arrange), new Set(), '').map(
        ({ level, node: { tag, seconds, tasks } }) =>
          `${' '.repeat(level)}${tag} ${seconds} ${tasks}`
      );

    it('has spans as the program calls them, and the rest as the default', () => {
      expect(shown('path')).toEqual([
        'default 5 3',
        'read 3 3',
        ' part 2 1',
        'load 3 1'
      ]);
      expect(shown('tag')).toEqual([
        'default 5 3',
        'read 3 3',
        'part 2 1',
        'load 3 1'
      ]);
      const tree = spanTree(notebook(0), 'path');
      expect(find(tree, 'read').term).toEqual({ path: ['read'] });
      expect(find(tree, 'default').term).toEqual({ path: ['default'] });
    });

    it('has its cells, if one wants to see them', () => {
      expect(shown('cell')).toEqual([
        'a.ipynb 8 6',
        ' # load 3 2',
        '  read 1 1',
        ' # fit 4 3',
        '  read 2 2',
        '   part 2 1',
        'load 3 1'
      ]);
      expect(hasCells(notebook(0))).toBe(true);
      expect(hasCells(result)).toBe(false);
      // Nothing else can be shown where there are none.
      expect(spanTree(result, 'cell')).toEqual(spanTree(result, 'path'));
    });

    it('has one row of each notebook, also where it is a span itself', () => {
      expect(shown('cell', 1)).toEqual([
        'a.ipynb 8 6',
        ' # load 3 2',
        '  read 1 1',
        ' # fit 4 3',
        '  read 2 2',
        '   part 2 1',
        'b.ipynb 3 1',
        ' load 3 1'
      ]);
      expect(shown('path', 1)).toEqual([
        'a.ipynb 8 6',
        ' default 5 3',
        ' read 3 3',
        '  part 2 1',
        'b.ipynb 3 1',
        ' load 3 1'
      ]);
    });

    it('says where spans stand to a filter of the other arrangement', () => {
      const [byPath, byCell] = [
        spanTree(notebook(0), 'path'),
        spanTree(notebook(0), 'cell')
      ];
      const fit = { spans: { any: [find(byCell, 'a.ipynb', '# fit').term!] } };
      expect(byPath.map(node => standing(node, fit))).toEqual([
        'inside',
        'inside',
        'outside'
      ]);
      const read = { spans: { any: [{ path: ['load'] }] } };
      expect(byCell.map(node => standing(node, read))).toEqual([
        'outside',
        'inside'
      ]);
    });
  });

  it('has no such row while one notebook alone has computed', () => {
    const one = {
      ...result,
      clients: ['/a.ipynb', '/b.ipynb'],
      rows: result.rows.map((row, i) => ({
        ...row,
        client: i === 0 ? null : 1
      }))
    };
    const tree = spanTree(one, 'path');
    expect(tree.map(({ tag }) => tag)).toEqual(['flow', 'other']);
    const byNotebook = (client: string) =>
      standing(find(tree, 'other'), { spans: { any: [{ path: [], client }] } });
    expect(byNotebook('/b.ipynb')).toBe('inside');
    expect(byNotebook('/a.ipynb')).toBe('outside');
  });

  it('counts executions where a span has no tasks of its own', () => {
    const trans = nullTranslator.load('spanwise');
    const fused = {
      ...result,
      rows: result.rows.map(row =>
        row.tag === 'read' ? { ...row, tasks: 0, executions: 12 } : row
      )
    };
    const tree = spanTree(fused, 'path');
    const text = (...path: string[]) =>
      workText(find(tree, ...path), trans).replace('\u00a0', ' ');
    expect(text('flow', 'load', 'read')).toBe('12 executions');
    expect(text('flow', 'load')).toBe('1 task run');
    expect(workText({ tasks: 0, executions: 0 }, trans)).toMatch(
      /^0.task runs$/
    );
  });

  it('shows a span that was opened again once, with the sum of its figures', () => {
    const again = drawnSpans(`
      flow 4
        load 1
      flow 6
        load 2
        fit 3
    `);
    const tree = spanTree(again, 'path');
    expect(tree.map(node => [node.tag, node.seconds])).toEqual([['flow', 10]]);
    expect(
      find(tree, 'flow').children.map(node => [node.tag, node.seconds])
    ).toEqual([
      ['load', 3],
      ['fit', 3]
    ]);
    expect(find(tree, 'flow').share).toBeCloseTo(1);
  });

  it('joins equal tags, and counts a tag inside itself once', () => {
    const nested = drawnSpans(`
      a 8
        b 5
          a 3
      b 2
    `);
    const byTag = spanTree(nested, 'tag');
    expect(byTag.map(({ tag, seconds }) => [tag, seconds])).toEqual([
      ['a', 8],
      ['b', 7]
    ]);
    expect(byTag[0]?.term).toEqual({ tag: 'a' });
  });

  it('hides what is inside a collapsed span', () => {
    expect(shown([['flow']])).toEqual(['+flow', 'other', ' load']);
  });

  it('shows what is found and the way to it, collapsed or not', () => {
    expect(shown([['flow']], 'REA')).toEqual(['flow', ' load', '  read!']);
    expect(shown([], 'load')).toEqual([
      'flow',
      ' load!',
      ' fit',
      '  load!',
      'other',
      ' load!'
    ]);
    expect(shown([], 'nothing')).toEqual([]);
  });

  it('says where each span stands to the filter', () => {
    const tree = spanTree(result, 'path');
    const model = new SelectionModel();
    model.toggleSpan({ path: ['flow', 'load'] }, 'any');
    model.toggleSpan({ tag: 'read' }, 'not');
    const at = (...path: string[]) =>
      standing(find(tree, ...path), model.filter);
    expect(at('flow')).toBe('inside');
    expect(at('flow', 'load')).toBe('inside');
    expect(at('flow', 'load', 'read')).toBe('excluded');
    expect(at('flow', 'fit')).toBe('outside');
    expect(at('other', 'load')).toBe('outside');
  });
});

describe('keys in the span tree', () => {
  const tree = spanTree(result, 'path');
  const rows = visibleSpans(tree, new Set(), '');
  const key = (...path: string[]) => find(tree, ...path).key;
  const press = (name: string, at: string, extra: Partial<TreeKey> = {}) =>
    treeAction(
      { key: name, shiftKey: false, altKey: false, ...extra },
      rows,
      at
    );

  it('moves through the rows that are shown', () => {
    expect(press('ArrowDown', key('flow'))).toEqual({
      do: 'focus',
      key: key('flow', 'load')
    });
    expect(press('ArrowUp', key('other'))).toEqual({
      do: 'focus',
      key: key('flow', 'fit', 'load')
    });
    expect(press('ArrowUp', key('flow'))).toBeNull();
    expect(press('End', key('flow'))).toEqual({
      do: 'focus',
      key: key('other', 'load')
    });
  });

  it('opens, closes, and goes in and out', () => {
    expect(press('ArrowLeft', key('flow', 'fit'))).toEqual({
      do: 'collapse',
      keys: [key('flow', 'fit')]
    });
    expect(press('ArrowLeft', key('flow', 'load', 'read'))).toEqual({
      do: 'focus',
      key: key('flow', 'load')
    });
    expect(press('ArrowRight', key('flow'))).toEqual({
      do: 'focus',
      key: key('flow', 'load')
    });
    expect(press('*', key('flow'))).toEqual({
      do: 'expand',
      keys: [key('flow'), key('other')]
    });
  });

  it('matches by Space: any, with Shift all, with Alt not', () => {
    const at = key('flow');
    expect(press(' ', at)).toEqual({ do: 'match', match: 'any' });
    expect(press(' ', at, { shiftKey: true })).toEqual({
      do: 'match',
      match: 'all'
    });
    expect(press(' ', at, { altKey: true })).toEqual({
      do: 'match',
      match: 'not'
    });
  });

  it('lets every other key go on', () => {
    expect(press('Tab', key('flow'))).toBeNull();
    expect(press('ArrowDown', 'no such row')).toBeNull();
  });
});

describe('names that begin alike', () => {
  it.each([
    [
      ['load of north', 'load of northern lights', 'load of south', 'press'],
      ['load of ', 'load of ', 'load of ', '']
    ],
    // A beginning ends where a word does: the rest is readable.
    [
      ['standardise-rows', 'standardise-columns', 'standard'],
      ['standardise-', 'standardise-', '']
    ],
    [
      ['preprocessing', 'preprocessor'],
      ['preprocess', 'preprocess']
    ],
    // Something is left of each name, and a few letters are not worth it.
    [
      ['features', 'features of all'],
      ['', 'features']
    ],
    [
      ['fit a', 'fit b'],
      ['', '']
    ],
    [['only one name here'], ['']],
    [
      ['same again', 'same again'],
      ['', '']
    ]
  ])('of %p are shared: %p', (names, beginnings) => {
    const shared = sharedBeginnings(names);
    expect(names.map(name => name.slice(0, shared.get(name)))).toEqual(
      beginnings
    );
  });
});
