/** Which passes of a run can be compared, and which two are proposed. */
import fc from 'fast-check';
import { nullTranslator } from '@jupyterlab/translation';
import { drawnSpans } from '../../../lab/__tests__/drawn-spans';
import type { SpanRow, SpansResult } from '../../../wire/panel-link';
import { formatClock } from '../../format';
import {
  isWithin,
  listedName,
  passesToChoose,
  proposedPasses,
  readPass,
  renewed,
  rowsOfPass,
  shortName,
  withinPass
} from '../chosen-pass';

const trans = nullTranslator.load('spanwise');

type Drawn = Partial<SpanRow>;

/** Drawn spans, each opened a second after the one before it. */
function told(drawing: string, ...over: readonly Drawn[]): SpansResult {
  const drawn = drawnSpans(drawing);
  return {
    ...drawn,
    rows: drawn.rows.map((row, i) => ({
      ...row,
      id: `id ${i}`,
      opened: i,
      closed: i + 1,
      ...over[i]
    }))
  };
}
const cell = (execution: number, id?: string): Drawn => ({
  origin: 'cell',
  execution,
  cell: id
});
const notebook: Drawn = { origin: 'notebook' };

/** Cell a was run as [2] and, edited, as [5]; between them b was, twice. */
const edited = told(
  `
    a.ipynb 9
      # fit 2
      # plot 1
      # plot 1
      # fit, faster 1
      # load 1
  `,
  notebook,
  cell(2, 'a'),
  cell(3, 'b'),
  cell(4, 'b'),
  cell(5, 'a'),
  cell(6, 'c')
);
const names = (
  pair: ReturnType<typeof proposedPasses>
): readonly string[] | null =>
  pair && [pair.before, pair.after].map(pass => shortName(pass, 0, trans));

describe('passes that are proposed', () => {
  it('are of the newest cell that ran before, however it was edited', () => {
    expect(names(proposedPasses('k', edited))).toEqual([
      '# fit [2]',
      '# fit, faster [5]'
    ]);
  });

  it('are of the one by which panels are filtered, if it has another', () => {
    const picked = (id: string) => names(proposedPasses('k', edited, id));
    expect(picked('id 3')).toEqual(['# plot [3]', '# plot [4]']);
    expect(picked('id 2')).toEqual(['# plot [3]', '# plot [4]']);
    expect(picked('id 5')).toEqual(['# fit [2]', '# fit, faster [5]']);
  });

  it('are of spans where there are no cells, and of nothing that ran no task', () => {
    const loop = told(
      `
        job.py 6
          train 1
          train 2
          check 0
          train 3
      `,
      notebook
    );
    expect(names(proposedPasses('k', loop))).toEqual([
      'train (2 of 3)',
      'train (3 of 3)'
    ]);
    const idle = { tasks: 0, running: 0 };
    const rows = loop.rows.map((row, i) =>
      i === 4 ? { ...row, ...idle } : row
    );
    expect(names(proposedPasses('k', { ...loop, rows }))).toEqual([
      'train (1 of 3)',
      'train (2 of 3)'
    ]);
    const inCell = rows.map((row, i) => ({
      ...row,
      ...(i === 0 && cell(1, 'a'))
    }));
    expect(proposedPasses('k', { ...loop, rows: inCell })).toBeNull();
    // What it asked for was there: that is what its user has to hear.
    const there = rows.map((row, i) => (i === 4 ? { ...row, reused: 9 } : row));
    expect(names(proposedPasses('k', { ...loop, rows: there }))).toEqual([
      'train (2 of 3)',
      'train (3 of 3)'
    ]);
    expect(proposedPasses('k', null)).toBeNull();
  });

  it('are of a span that two cells opened, where no cell ran twice', () => {
    const twice = told(
      `
        a.ipynb 6
          # fit 3
            train 3
          # again 2
            train 2
            step 1
            step 1
      `,
      notebook,
      cell(2, 'a'),
      {},
      cell(9, 'b')
    );
    expect(names(proposedPasses('k', twice))).toEqual([
      'train (1 of 2)',
      'train (2 of 2)'
    ]);
    // A cell that ran again comes first, whatever is newer.
    const rows = twice.rows.map(row => ({
      ...row,
      ...(row.cell !== undefined && { cell: 'a' })
    }));
    expect(names(proposedPasses('k', { ...twice, rows }))).toEqual([
      '# fit [2]',
      '# again [9]'
    ]);
  });

  it('are none that only found results, but the newer one', () => {
    const found: Drawn = { tasks: 0, reused: 4 };
    const notebookOf = (...over: readonly Drawn[]) =>
      told(
        ['a.ipynb 9', ...over.map(() => '  # fit 1')].join('\n'),
        notebook,
        ...over
      );
    const fits = notebookOf(
      cell(3, 'a'),
      { ...cell(5, 'a'), ...found },
      cell(7, 'a')
    );
    expect(names(proposedPasses('k', fits))).toEqual([
      '# fit [3]',
      '# fit [7]'
    ]);
    const picked = (id: string) => names(proposedPasses('k', fits, id));
    expect(picked('id 1')).toEqual(['# fit [3]', '# fit [5]']);
    expect(picked('id 2')).toEqual(['# fit [3]', '# fit [5]']);
    expect(picked('id 3')).toEqual(['# fit [3]', '# fit [7]']);
    // Two looks at what is there are newer, and tell nothing.
    const looked = notebookOf(
      cell(3, 'a'),
      cell(7, 'a'),
      { ...cell(8, 'b'), ...found },
      { ...cell(9, 'b'), ...found }
    );
    for (const id of [undefined, 'id 3', 'id 4']) {
      expect(names(proposedPasses('k', looked, id))).toEqual([
        '# fit [3]',
        '# fit [7]'
      ]);
    }
    expect(passesToChoose('k', looked)).toHaveLength(4);
  });

  it('are two of one cell, one after another, none of which is counted with others', () => {
    const anyRow = fc.record({
      cell: fc.constantFrom('a', 'b', 'c'),
      tasks: fc.nat(1),
      reused: fc.nat(1),
      others: fc.constantFrom(undefined, undefined, 2),
      opened: fc.nat(1000)
    });
    const count = { found: 0, none: 0 };
    fc.assert(
      fc.property(
        fc.uniqueArray(anyRow, { selector: ({ opened }) => opened }),
        drawn => {
          const [one] = edited.rows.slice(1) as [SpanRow];
          const rows = drawn.map((over, i) => ({
            ...one,
            ...over,
            span: 10 + i,
            id: `id ${i}`
          }));
          const pair = proposedPasses('k', { ...edited, rows });
          const own = (id: string) => rows.find(row => row.id === id)!;
          const apart = rows.filter(row => !row.others);
          const able = apart.filter(row => row.tasks > 0);
          const again = apart.filter(
            row =>
              row.tasks + row.reused > 0 &&
              able.some(
                other => other.cell === row.cell && other.opened < row.opened
              )
          );
          if (pair === null) {
            count.none++;
            expect(again).toEqual([]);
            return;
          }
          count.found++;
          const [before, after] = [own(pair.before.id), own(pair.after.id)];
          expect(before.cell).toBe(after.cell);
          expect(after.opened).toBe(
            Math.max(...again.map(({ opened }) => opened))
          );
          expect(before.opened).toBe(
            Math.max(
              ...able
                .filter(
                  row => row.cell === after.cell && row.opened < after.opened
                )
                .map(({ opened }) => opened)
            )
          );
        }
      )
    );
    expect(Math.min(count.found, count.none)).toBeGreaterThan(0);
  });
});

describe('passes to choose from', () => {
  it('are those of cells, and of spans that were opened again, the newest first', () => {
    const time = (opened: number) => formatClock(opened, Date.now() / 1000);
    expect(
      passesToChoose('k', edited).map(pass => listedName(pass, 0, trans))
    ).toEqual([
      `[6] # load · ${time(5)}`,
      `[5] # fit, faster · ${time(4)}`,
      `[4] # plot · ${time(3)}`,
      `[3] # plot · ${time(2)}`,
      `[2] # fit · ${time(1)}`
    ]);
    const nested = told(
      `
        flow 3
          load 1
          load 2
      `
    );
    expect(
      passesToChoose('k', nested).map(pass => listedName(pass, 0, trans))
    ).toEqual([
      `2 of 2 · flow › load · ${time(2)}`,
      `1 of 2 · flow › load · ${time(1)}`
    ]);
  });

  it('are five of each, and thirty', () => {
    const many = (cells: number, times: number) => {
      const rows = Array.from({ length: cells * times }, (_, i) => ({
        ...edited.rows[1]!,
        span: i + 1,
        id: `id ${i}`,
        opened: i,
        cell: `cell ${i % cells}`
      }));
      return passesToChoose('k', { ...edited, rows });
    };
    expect(many(1, 9).map(({ opened }) => opened)).toEqual([8, 7, 6, 5, 4]);
    expect(many(9, 9)).toHaveLength(30);
  });
});

describe('a chosen pass', () => {
  const [newest] = passesToChoose('k', edited);
  const pass = newest!;

  it('narrows any filter, and an answer to that is known', () => {
    const filter = { spans: { all: [{ tag: 'x' }] }, functions: ['f'] };
    const narrowed = withinPass(filter, pass);
    expect(narrowed).toEqual({
      spans: { all: [{ tag: 'x' }, { path: pass.path, id: pass.id }] },
      functions: ['f']
    });
    expect(withinPass(filter, null)).toBe(filter);
    expect([filter, narrowed].map(of => isWithin(of, pass))).toEqual([
      false,
      true
    ]);
    expect([filter, narrowed].map(of => isWithin(of, null))).toEqual([
      true,
      false
    ]);
  });

  it('is read from a layout, and called as it is called now', () => {
    const saved = JSON.parse(JSON.stringify(pass)) as never;
    expect({ ...pass, place: null }).toMatchObject(readPass(saved)!);
    expect(renewed(readPass(saved)!, edited)).toMatchObject({
      place: { at: 1, of: 1 }
    });
    expect(renewed(readPass(saved)!, null)).toEqual(readPass(saved));
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(() => readPass(value as never)).not.toThrow();
      })
    );
  });

  it('has no rows once it is counted with others', () => {
    expect(rowsOfPass(edited, pass)).toHaveLength(1);
    const rows = edited.rows.map(row => ({ ...row, others: 3 }));
    expect(rowsOfPass({ ...edited, rows }, pass)).toEqual([]);
    expect(rowsOfPass(null, pass)).toEqual([]);
  });
});
