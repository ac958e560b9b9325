/** How a worker that begins no task is shown, from the observer's account of it to the strip above every panel. */
import { nullTranslator } from '@jupyterlab/translation';
import { flushSync } from 'react-dom';
import { createRoot, type Root } from 'react-dom/client';
import { createElement } from '../../charts/shown-element';
import { ClusterRef } from '../../feed/cluster-ref';
import { FakeFeed } from '../../feed/__tests__/fake-feed';
import { encodeBlock } from '../../records/block';
import { type ObservedCluster } from '../../sidecar/observer-process/observed-cluster';
import { emptyCluster } from '../../testing/observed-cluster';
import { rowsToBlock } from '../../testing/rows-to-block';
import { drawBlocks } from '../../testing/run-from-text';
import { StripList } from '../strip-list';
import { standings } from '../worker-standing';

const PAUSED = 900;
const RESUMED = 901;
const full =
  '321 of 400 MiB are in use (300 MiB results, 21 MiB <b>modules</b>)';
const trans = nullTranslator.load('spanwise');

describe('workers that begin no task', () => {
  let host: HTMLElement;
  let root: Root;
  let seq = 0;
  let cluster: ObservedCluster;
  const feed = new FakeFeed();
  const ref = new ClusterRef({ feed, target: {}, notebookOf: () => undefined });

  const take = (...blocks: ReturnType<typeof rowsToBlock>[]) =>
    cluster.take(
      blocks.map(block =>
        encodeBlock(
          ++seq,
          block.table,
          block.rows,
          block.columns as never,
          block.text
        )
      )
    );
  const step = (worker: number, state: number, kind: number, text = '') =>
    take(
      rowsToBlock(1, 'capacity', [{ t: 5, worker, threads: 1, state }]),
      rowsToBlock(1, 'events', [{ t: 5, kind, worker, run: 0xffffffff, text }])
    );
  const shown = (remark = '') => {
    feed.setClusters(cluster.info());
    flushSync(() =>
      root.render(
        <StripList
          feed={feed}
          cluster={ref}
          hasFigures
          figuresTo={1}
          failure={null}
          tellsWhatWaits={false}
          remark={remark}
          trans={trans}
        />
      )
    );
    return host.textContent ?? '';
  };

  beforeEach(() => {
    host = document.body.appendChild(document.createElement('div'));
    root = createRoot(host);
    seq = 0;
    cluster = emptyCluster();
    take(
      ...drawBlocks('0/0 aa\n1/0 b\n2/0 c\n3/0 dd'),
      rowsToBlock(1, 'names', [
        { id: PAUSED, text: 'paused' },
        { id: RESUMED, text: 'resumed' }
      ])
    );
  });
  afterEach(() => {
    flushSync(() => root.unmount());
    host.remove();
  });

  it('are counted above the figures until they go on, with what fills them and what to do', () => {
    expect(shown()).toBe('');
    step(1, 1, PAUSED, full);
    step(3, 1, PAUSED, '9 of 10 MiB');
    expect(shown()).toContain('2 of 4 workers paused: memory full.');
    expect(standings(cluster.info())).toEqual(
      new Map([
        [1, 'paused'],
        [3, 'paused']
      ])
    );
    const button = host.querySelector('button')!;
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
    expect(shown()).toContain('1 of 4 workers paused: memory full.');
    expect(host.textContent).not.toContain('worker-1');
    step(3, 0, RESUMED);
    expect(shown()).toBe('');
    expect(standings(cluster.info()).size).toBe(0);
  });

  it('stand above what the panel says of its own figures', () => {
    expect(shown('Times are exact to 4 ms.')).toBe('Times are exact to 4 ms.');
    step(1, 1, PAUSED, full);
    expect(shown('Times are exact to 4 ms.')).toMatch(
      /^1 of 4 workers paused.*Times are exact to 4 ms\.$/
    );
  });

  it('that are stopped are not called full', () => {
    take(
      rowsToBlock(1, 'capacity', [{ t: 5, worker: 2, threads: 1, state: 4 }])
    );
    const text = shown();
    expect(text).toContain('1 of 4 workers stopped.');
    expect(text).not.toContain('memory');
    expect(standings(cluster.info())).toEqual(new Map([[2, 'stopped']]));
  });

  it('that are paused are not called stopped when the row that says why is gone', () => {
    take(
      rowsToBlock(1, 'capacity', [{ t: 5, worker: 2, threads: 1, state: 1 }])
    );
    const text = shown();
    expect(text).toContain('1 of 4 workers paused: memory full.');
    expect(text).not.toContain('stopped');
    expect(standings(cluster.info())).toEqual(new Map([[2, 'paused']]));
  });

  it('are not told of where nothing is known of them', () => {
    step(1, 1, PAUSED, full);
    cluster.linkLost();
    expect(shown()).not.toContain('paused');
    cluster.end('closed', 9);
    expect(shown()).not.toContain('paused');
  });
});
