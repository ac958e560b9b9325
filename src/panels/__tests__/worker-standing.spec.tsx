/** How a worker that begins no task is shown, from the observer's account of it to the strip above every panel. */
import { flushSync } from 'react-dom';
import { rowsToBlock } from '../../testing/rows-to-block';
import { drawBlocks } from '../../testing/run-from-text';
import { standings } from '../worker-standing';
import { ShownStrips } from './shown-strips';

const PAUSED = 900;
const RESUMED = 901;
const full =
  '321 of 400 MiB are in use (300 MiB results, 21 MiB <b>modules</b>)';

describe('workers that begin no task', () => {
  let strips: ShownStrips;

  const step = (worker: number, state: number, kind: number, text = '') =>
    strips.take(
      rowsToBlock(1, 'capacity', [{ t: 5, worker, threads: 1, state }]),
      rowsToBlock(1, 'events', [{ t: 5, kind, worker, run: 0xffffffff, text }])
    );

  beforeEach(() => {
    strips = new ShownStrips();
    strips.take(
      ...drawBlocks('0/0 aa\n1/0 b\n2/0 c\n3/0 dd'),
      rowsToBlock(1, 'names', [
        { id: PAUSED, text: 'paused' },
        { id: RESUMED, text: 'resumed' }
      ])
    );
  });
  afterEach(() => strips.remove());

  it('are counted above the figures until they go on, with what fills them and what to do', () => {
    expect(strips.text()).toBe('');
    step(1, 1, PAUSED, full);
    step(3, 1, PAUSED, '9 of 10 MiB');
    expect(strips.text()).toContain('2 of 4 workers paused: memory full.');
    expect(standings(strips.cluster.info())).toEqual(
      new Map([
        [1, 'paused'],
        [3, 'paused']
      ])
    );
    const button = strips.host.querySelector('button')!;
    expect(button.textContent).toBe('What to do');
    expect(button.title).toContain(`worker-1: ${full}.`);
    flushSync(() => button.click());
    expect(button.getAttribute('aria-expanded')).toBe('true');
    const details = document.getElementById(
      button.getAttribute('aria-controls') ?? ''
    )!;
    expect(details.textContent).toContain(`worker-1: ${full}.`);
    expect(details.textContent).toContain('worker-3: 9 of 10 MiB.');
    expect(details.textContent).toContain('Client(memory_limit=…)');
    expect(details.querySelector('b')).toBeNull();

    step(1, 0, RESUMED);
    expect(strips.text()).toContain('1 of 4 workers paused: memory full.');
    expect(strips.host.textContent).not.toContain('worker-1');
    step(3, 0, RESUMED);
    expect(strips.text()).toBe('');
    expect(standings(strips.cluster.info()).size).toBe(0);
  });

  it('stand above what the panel says of its own figures', () => {
    expect(strips.text({ remark: 'Times are exact to 4 ms.' })).toBe(
      'Times are exact to 4 ms.'
    );
    step(1, 1, PAUSED, full);
    expect(strips.text({ remark: 'Times are exact to 4 ms.' })).toMatch(
      /^1 of 4 workers paused.*Times are exact to 4 ms\.$/
    );
  });

  it('that are stopped are not called full', () => {
    strips.take(
      rowsToBlock(1, 'capacity', [{ t: 5, worker: 2, threads: 1, state: 4 }])
    );
    const text = strips.text();
    expect(text).toContain('1 of 4 workers stopped.');
    expect(text).not.toContain('memory');
    expect(standings(strips.cluster.info())).toEqual(new Map([[2, 'stopped']]));
  });

  it('that are paused are not called stopped when the row that says why is gone', () => {
    strips.take(
      rowsToBlock(1, 'capacity', [{ t: 5, worker: 2, threads: 1, state: 1 }])
    );
    const text = strips.text();
    expect(text).toContain('1 of 4 workers paused: memory full.');
    expect(text).not.toContain('stopped');
    expect(standings(strips.cluster.info())).toEqual(new Map([[2, 'paused']]));
  });

  it('are not told of where nothing is known of them', () => {
    step(1, 1, PAUSED, full);
    strips.cluster.linkLost();
    expect(strips.text()).not.toContain('paused');
    strips.cluster.end('closed', 9);
    expect(strips.text()).not.toContain('paused');
  });
});
