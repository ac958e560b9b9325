/** Which run the first is compared with at first. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { waitFor } from '../../../testing/wait-for';
import type { ClusterInfo } from '../../../wire/panel-link';
import { comparePanel } from '..';
import { METRICS_PARAMS } from '../model';
import { otherRuns, previousRun } from '../other-run';

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

/** Each began a second after the one before it. */
function begun(...runs: Partial<ClusterInfo>[]): ClusterInfo[] {
  return runs.map((over, i) => {
    const cluster = String.fromCharCode('a'.charCodeAt(0) + i);
    return clusterInfo({
      cluster,
      name: cluster,
      startedAt: 1000 + i,
      ...over
    });
  });
}

const notebook = (path: string) => ({ notebook: { path } });
const client = (name: string, path?: string) => ({
  client: 0,
  name,
  joined: 0,
  ...(path !== undefined && { notebook: { path } })
});

describe('the previous run', () => {
  const previous = (first: number, ...runs: Partial<ClusterInfo>[]) => {
    const infos = begun(...runs);
    const others = otherRuns(infos, infos[first]!);
    return previousRun(others, infos[first]!)?.cluster;
  };

  it('is the last of the same notebook that began before', () => {
    const [one, two] = [notebook('one.ipynb'), notebook('two.ipynb')];
    expect(previous(2, one, one, one, two, one)).toBe('b');
    // A later one if there is none before.
    expect(previous(0, one, two, one, two)).toBe('c');
    expect(previous(1, one, two)).toBeUndefined();
    expect(previous(2, one, { ...one, tasks: 0 }, one)).toBe('a');
  });

  it('is no run of a notebook of the same name in another folder', () => {
    const of = (folder: string) => ({
      name: 'fit',
      ...notebook(`${folder}/fit.ipynb`)
    });
    expect(previous(2, of('x'), of('y'), of('x'))).toBe('a');
  });

  it('is of a notebook that was a guest of both', () => {
    const used = (...paths: string[]) => ({
      clients: paths.map(path => client(path, path))
    });
    expect(
      previous(
        2,
        used('one.ipynb'),
        used('two.ipynb'),
        used('three', 'one.ipynb')
      )
    ).toBe('a');
  });

  it('is of the same program, by the name of what it recorded or its own', () => {
    const daily = { name: 'daily', kind: 'local' } as const;
    expect(previous(2, daily, { name: 'hourly' }, daily)).toBe('a');
    const by = (program: string) => ({ clients: [client(program)] });
    expect(previous(2, by('fit.py'), by('load.py'), by('fit.py'))).toBe('a');
  });
});

describe('without a previous run', () => {
  let panel: ReturnType<typeof comparePanel.create>;
  afterEach(() => panel.dispose());

  function open(...runs: Partial<ClusterInfo>[]) {
    const { feed, contexts } = labContext();
    const infos = begun(...runs);
    feed.setClusters(...infos);
    panel = comparePanel.create({
      context: contexts.get({ name: infos.at(-1)!.name }),
      state: undefined
    });
    Widget.attach(panel, document.body);
    const watched = (cluster: string) =>
      feed.running.filter(
        ({ spec }) => spec.cluster === cluster && spec.view === 'fine-metrics'
      );
    /** @param drawn - runs, each by the letter of its function. */
    const answer = (cluster: string, drawn: string) => {
      const tasks = Object.fromEntries(
        [...drawn].map(name => [name, { function: name }])
      );
      watched(cluster).forEach(watch =>
        watch.answer(
          ask(drawRuns(`0/0 ${drawn}`, { tasks }), 'fine-metrics', {
            params: METRICS_PARAMS
          })
        )
      );
      MessageLoop.flush();
    };
    return { feed, watched, answer };
  }
  const second = () =>
    (panel.savedState()['second'] as { cluster?: string } | null)?.cluster;

  it('the run with the most like functions is taken, once all have answered', () => {
    const { answer, watched } = open({}, {}, {}, {});
    answer('d', 'aabb');
    expect(panel.node.textContent).not.toContain('There is no other run');
    answer('c', 'xyz');
    answer('a', 'abc');
    expect(second()).toBeUndefined();
    answer('b', 'axyz');
    expect(second()).toBe('a');
    // Those that were asked are let go.
    expect(['a', 'b', 'c', 'd'].map(each => watched(each).length)).toEqual([
      1, 0, 0, 1
    ]);
  });

  it('the newest is taken if none has any of these functions', () => {
    const { answer, watched } = open({}, {}, {});
    answer('a', 'xx');
    watched('b').forEach(watch => watch.fail('It is gone.'));
    answer('c', 'aa');
    expect(second()).toBe('b');
  });

  it('the only other run is taken at once', () => {
    const { watched } = open({}, {});
    expect(second()).toBe('a');
    expect(watched('a')).toHaveLength(1);
  });

  it('what the user chooses meanwhile stays', async () => {
    const { answer, feed } = open({}, {}, {});
    answer('c', 'aa');
    const select = await waitFor('the second run', () => {
      MessageLoop.flush();
      return (
        panel.node.querySelector<HTMLSelectElement>(
          'select[aria-label="Second run"]'
        ) ?? undefined
      );
    });
    select.value = 'b';
    select.dispatchEvent(new Event('change', { bubbles: true }));
    answer('b', 'xx');
    answer('a', 'aa');
    expect(second()).toBe('b');
    feed.setClusters(...begun({}, {}, {}));
    expect(second()).toBe('b');
  });

  it('the previous run is taken if it comes to be known', () => {
    const { feed } = open({}, {}, { name: 'c' });
    expect(second()).toBeUndefined();
    feed.setClusters(...begun({}, { name: 'c' }, { name: 'c' }));
    expect(second()).toBe('b');
  });
});
