import fc from 'fast-check';
import { SpanOrigin } from '../../records/enumerations';
import type { SpanId } from '../../records/ids';
import { SpanTree } from '../store/span-tree';

const span = (id: number): SpanId => id as SpanId;

/** A row; what a test does not name differs by span. */
const rowOf = (id: number, parent: number, tag = `tag ${id}`) => ({
  span: span(id),
  parent: span(parent),
  tag,
  origin: SpanOrigin.Cell,
  client: 100 + id,
  opened: 10 * id,
  closed: NaN
});

const walked = (tree: SpanTree, id: number): number[] => {
  const found: number[] = [];
  tree.walk(span(id), each => found.push(each));
  return found;
};

describe('the tree of spans', () => {
  it('keeps every fact of a row', () => {
    const tree = new SpanTree();
    const code = JSON.stringify([{ filename: 'In [7]', cell: 'c0ffee' }]);
    tree.set({ ...rowOf(1, 0), code });
    expect(tree.get(span(1))).toEqual({
      span: 1,
      number: 1,
      parent: null,
      tag: 'tag 1',
      path: ['tag 1'],
      name: [],
      origin: 'cell',
      client: 101,
      opened: 10,
      closed: NaN,
      uuid: '',
      reused: 0,
      joined: 0,
      cellRun: { execution: 7, cell: 'c0ffee' }
    });
    tree.set({ ...rowOf(1, 0), origin: 99, closed: 20 });
    expect(tree.get(span(1))).toMatchObject({ origin: 'user', closed: 20 });
    expect(tree.version).toBe(2);
    expect(tree.pathOf(span(77))).toEqual(['default']);
  });

  it('counts no result twice that was asked for in a folded span, however many there are', () => {
    const most = 65_536;
    const tree = new SpanTree();
    tree.set(rowOf(1, 0));
    const tell = (id: number, reused: number, isNew = false) =>
      tree.addCounted(
        span(1),
        { id, closed: 1, uuid: '', reused, code: '' },
        isNew
      );
    // Two clients, each of which counts from a place of its own; the first one's last span has reused nothing yet.
    const other = 2 ** 20;
    const quiet = other - 1;
    tell(quiet, 0, true);
    for (let id = other; id < other + most + 1; id++) {
      tell(id, 1, true);
    }
    expect(tree.reusedOf(span(1))).toBe(most + 1);
    // One was forgotten: from now on it is known again. The others were not.
    tell(other, 5);
    tell(other + 2, 2);
    tell(other + most + 9, 4);
    tell(quiet, 3);
    expect(tree.reusedOf(span(1))).toBe(most + 9);
    tell(other, 6);
    expect(tree.reusedOf(span(1))).toBe(most + 10);
  });

  it('tells what a program called a span from the notebook and the cell around it', () => {
    const tree = new SpanTree();
    tree.set({ ...rowOf(3, 2, 'load'), origin: SpanOrigin.User });
    tree.set({ ...rowOf(4, 3, 'read'), origin: SpanOrigin.User });
    expect(tree.nameOf(span(4))).toEqual(['load', 'read']);
    // What is around it may come later, and be called otherwise then.
    tree.set(rowOf(2, 1, '# load'));
    tree.set({ ...rowOf(1, 0, 'a.ipynb'), origin: SpanOrigin.Notebook });
    expect(tree.pathOf(span(4))).toEqual(['a.ipynb', '# load', 'load', 'read']);
    expect(tree.nameOf(span(4))).toEqual(['load', 'read']);
    expect(tree.nameOf(span(2))).toEqual(['default']);
    expect(tree.nameOf(span(1))).toEqual(['default']);
    expect(tree.nameOf(span(77))).toEqual(['default']);
  });

  it('has the same parents, children and paths as rows that replace each other say', () => {
    const ids = [1, 2, 3, 4, 5, 6];
    const anyRow = fc.record({
      id: fc.constantFrom(...ids),
      parent: fc.constantFrom(0, ...ids),
      tag: fc.constantFrom('a', 'b', 'c')
    });
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 25 }), rows => {
        const tree = new SpanTree();
        const parents = new Map<number, number | null>();
        const tags = new Map<number, string>();
        const above = (id: number): number[] => {
          const parent = parents.get(id);
          return parent === null || parent === undefined
            ? []
            : [...above(parent), parent];
        };
        for (const { id, parent, tag } of rows) {
          tree.set(rowOf(id, parent, tag));
          const isRoot =
            [0, id].includes(parent) ||
            // It would be above itself.
            above(parent).includes(id);
          parents.set(id, isRoot ? null : parent);
          tags.set(id, tag);
          expect(tree.size).toBe(tags.size);
          for (const known of tags.keys()) {
            const path = [...above(known), known]
              .filter(each => tags.has(each))
              .map(each => tags.get(each));
            expect(tree.get(span(known))).toMatchObject({
              parent: parents.get(known),
              path,
              // What a task opens is its client's.
              client:
                100 +
                ([...above(known), known].find(each => tags.has(each)) ?? 0)
            });
            expect(tree.pathOf(span(known))).toEqual(path);
          }
          for (const each of ids) {
            const children = ids.filter(known => parents.get(known) === each);
            expect([...tree.childrenOf(span(each))].sort()).toEqual(children);
            expect(walked(tree, each).sort()).toEqual(
              ids.filter(known => known === each || above(known).includes(each))
            );
          }
        }
        expect([...tree.all()].map(each => each.span)).toEqual([
          ...tags.keys()
        ]);
      })
    );
  });

  it('finds a span by its id, and by those of spans that have joined it', () => {
    const tree = new SpanTree();
    const row = rowOf(1, 0);
    tree.set({ ...row, uuid: 'first' });
    tree.set({ ...row, closed: 20, reused: 3 });
    tree.set(rowOf(2, 1));
    expect(tree.get(span(1))).toMatchObject({
      uuid: 'first',
      closed: 20,
      reused: 3,
      joined: 0
    });
    expect([tree.idOf(span(1)), tree.idOf(span(2))]).toEqual([
      'first',
      'span-2'
    ]);
    // Told again, and then another one of its path, also twice.
    tree.set({ ...row, uuid: 'first' });
    for (let i = 0; i < 2; i++) {
      tree.set({ ...row, opened: 99, closed: 101, uuid: 'second' });
    }
    expect(tree.get(span(1))).toMatchObject({
      opened: 10,
      closed: 101,
      reused: 3,
      joined: 1
    });
    expect(tree.idOf(span(1))).toBe('second');
    tree.set({ ...row, opened: 10, uuid: 'first' });
    expect(tree.idOf(span(1))).toBe('second');
    expect(
      ['first', 'second', 'span-1', 'span-2', 'third', ''].map(id =>
        tree.byId(id)
      )
    ).toEqual([[1], [1], [1], [2], [], []]);
    // Two clients computed in one block.
    tree.set({ ...rowOf(3, 0), uuid: 'second' });
    expect(tree.byId('second')).toEqual([1, 3]);
    tree.set({ ...rowOf(3, 0), uuid: 'fourth' });
    expect(tree.byId('second')).toEqual([1, 3]);
    expect(tree.byId('fourth')).toEqual([3]);
  });

  it('has 256 levels and no more, in whatever order they come', () => {
    const deepest = 256;
    const tree = new SpanTree();
    for (let id = 1; id <= deepest + 1; id++) {
      tree.set(rowOf(id, id - 1));
    }
    expect(tree.pathOf(span(deepest))).toHaveLength(deepest);
    expect(tree.get(span(deepest + 1))!.parent).toBeNull();
    // A child with a level below it has one level less of room.
    const two = rowOf(1001, 1000);
    tree.set(two);
    tree.set(rowOf(1000, deepest - 1));
    expect(tree.get(span(1000))!.parent).toBeNull();
    tree.set(rowOf(1000, deepest - 2));
    expect(tree.pathOf(span(1001))).toHaveLength(deepest);
  });
});
