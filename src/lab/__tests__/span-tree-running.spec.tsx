/** Spans whose tasks run. */
import type { SpansResult } from '../../wire/panel-link';
import { spanTree, visibleSpans } from '../span-tree-rows';
import { drawnSpans } from './drawn-spans';
import { renderedSpanTree } from './rendered-span-tree';

const still = drawnSpans(`
  flow 10
    load 3
  other 10
`);

/** `flow › load` has a task that has run for so many seconds. */
function after(seconds: number): SpansResult {
  return {
    ...still,
    runningSeconds: seconds,
    rows: still.rows.map(row =>
      row.tag === 'other'
        ? row
        : { ...row, running: 1, runningSeconds: seconds }
    )
  };
}

describe('while a task of a span runs', () => {
  it('its seconds and share go on in the tree, and those of no other', () => {
    const figures = (seconds: number) =>
      visibleSpans(spanTree(after(seconds), 'path'), new Set(), '').map(
        ({ node }) => [node.tag, node.seconds, node.share]
      );
    expect(figures(20)).toEqual([
      ['flow', 30, 0.75],
      ['load', 23, 23 / 40],
      ['other', 10, 0.25]
    ]);
    expect(figures(21)[1]).toEqual(['load', 24, 24 / 41]);
  });

  it('they go on in what is outside the spans of a notebook', () => {
    const [notebook, load] = after(5).rows;
    const rows = [
      {
        ...notebook!,
        origin: 'notebook' as const,
        running: 2,
        runningCancelled: 2,
        runningSeconds: 12
      },
      { ...load!, runningCancelled: 1 }
    ];
    const tree = spanTree({ ...after(12), rows }, 'path');
    expect(
      tree.map(({ tag, seconds, running, runningCancelled }) => [
        tag,
        seconds,
        running,
        runningCancelled
      ])
    ).toEqual([
      ['default', 7 + 7, 1, 1],
      ['load', 3 + 5, 1, 1]
    ]);
  });

  it('its row has a mark', () => {
    renderedSpanTree(after(20), host => {
      const rows = [...host.querySelectorAll('.sw-span-tree-row')];
      expect(
        rows.map(row => row.querySelector('.sw-span-tree-running') !== null)
      ).toEqual([true, true, false]);
      expect(rows[0]!.getAttribute('title')).toMatch(/ 1 running$/);
    });
    const some = after(20);
    const of = some.rows.map(row => ({
      ...row,
      runningCancelled: row.running
    }));
    renderedSpanTree({ ...some, rows: of }, host => {
      const [row] = host.querySelectorAll('.sw-span-tree-row');
      expect(row!.getAttribute('title')).toMatch(
        / 1 cancelled, still running$/
      );
    });
  });
});
