/** Importing modules has one account, one colour and one word, from the observer's folds to each panel. */
import { ask, tile } from '../../observer/__tests__/ask';
import { english } from '../../testing/translators';
import { drawRuns } from '../../testing/run-from-text';
import { boxPattern } from '../../charts/lane-fills';
import { COLOURS, KIND_PATTERNS } from '../../charts/palette';
import { colourOf, type LaneScene } from '../task-stream/lane-scene';
import { BOX_KINDS, cardOf, legendItems, partRows } from '../task-stream/rows';
import { activityRows } from '../fine-metrics/rows';

const WORD = 'importing modules';
const second = 2 ** 20;
// One column is a cell of level 20.
const log = drawRuns('0/0  aaaaaaaaaa', {
  secondsPerColumn: second / 1e6,
  tasks: {
    a: {
      function: 'fit',
      cpu: 4,
      parts: [
        { kind: 7, offset: 0, duration: 3 },
        { kind: 3, offset: 3, duration: 2 },
        { kind: 4, offset: 5, duration: 5 }
      ]
    }
  }
});

describe('importing modules', () => {
  it('is a box of its own, beside (de)serialising', () => {
    const { columns } = tile(log, 20, 0);
    const kinds = [...columns.kind].map(kind => BOX_KINDS[kind]);
    const at = kinds.indexOf('import');
    expect([columns.from[at], columns.to[at]]).toEqual([0, 3]);
    const other = kinds.indexOf('serialize');
    expect([columns.from[other], columns.to[other]]).toEqual([3, 5]);
    // Where a box stands for many, it is counted as its own kind too.
    const coarse = tile(log, 24, 0).columns;
    expect([...coarse.kind].map(kind => BOX_KINDS[kind])).toContain('import');
  });

  it('has the colour and pattern that Fine Performance Metrics has for it', () => {
    const scene = { palette: COLOURS.light, colourBy: 'function' } as never;
    const kind = BOX_KINDS.indexOf('import');
    expect(colourOf(scene as LaneScene, kind, 'fit')).toBe(
      COLOURS.light.kinds.import
    );
    expect(boxPattern(BOX_KINDS[kind]!)).toBe(KIND_PATTERNS.import);
    const rows = activityRows(ask(log, 'fine-metrics'));
    expect(rows.find(row => row.label === WORD)?.role).toEqual({
      kind: 'import'
    });
  });

  it('has one word in legend, card and drawer', () => {
    const stream = ask(log, 'task-stream');
    expect(stream.kinds).toMatchObject({ import: 1, serialize: 1 });
    const item = legendItems(stream, 'function', english).find(
      ({ kind }) => kind === 'import'
    );
    expect(item?.name).toBe(WORD);
    const [run] = ask(log, 'tasks').rows;
    expect(partRows(run!, english)[0]).toMatchObject({
      kind: 'import',
      label: WORD
    });
    const box = {
      run: 0,
      function: 'fit',
      kind: 'import' as const,
      inStrip: false,
      tasks: 0,
      from: 0,
      to: 3,
      worker: 'worker 0',
      thread: 0,
      running: false
    };
    expect(cardOf(box, null, english).title).toBe(`${WORD} for fit`);
  });
});
