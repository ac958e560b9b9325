/** A row of the tree in a sidebar that is narrow. */
import { drawnSpans } from './drawn-spans';
import { renderedSpanTree } from './rendered-span-tree';

it('keeps its number whole beside what it counts, and has the full name in its title', () => {
  const drawn = drawnSpans(`
    chunks of the survey 10
    sums 2
  `);
  const spans = {
    ...drawn,
    rows: drawn.rows.map((row, i) =>
      i === 0 ? { ...row, tasks: 0, executions: 22_500 } : row
    )
  };
  renderedSpanTree(spans, host => {
    const figures = [...host.querySelectorAll('.sw-span-tree-tasks')].map(
      ({ childNodes }) => [...childNodes].map(({ textContent }) => textContent)
    );
    // The second part is left out where there is no room; the number still looks different.
    expect(host.querySelector('.sw-span-tree-tasks em')!.textContent).toBe(
      '22,500'
    );
    expect(figures).toEqual([['22,500', '\u00a0executions'], ['1']]);
    expect(host.querySelector('.sw-span-tree-unit')!.textContent).toBe(
      '\u00a0executions'
    );
    const titles = [...host.querySelectorAll('.sw-span-tree-row')].map(row =>
      row.getAttribute('title')!.split('\n')
    );
    expect(titles[0]![0]).toBe('chunks of the survey');
    expect(titles[0]![1]).toMatch(/22,500.executions/);
  });
});

it('leaves names what the longest time shown does not need', () => {
  const widthIn = (drawing: string) =>
    renderedSpanTree(drawnSpans(drawing), host =>
      host
        .querySelector<HTMLElement>('[role="tree"]')!
        .style.getPropertyValue('--sw-time-width')
    );
  expect(widthIn('sums 2')).toBe('6ch');
  expect(widthIn('chunks 217\nsums 2')).toBe('10ch');
});
