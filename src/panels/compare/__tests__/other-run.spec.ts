/** Which run the first is compared with at first. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { waitFor } from '../../../testing/wait-for';
import type { NotebookOf } from '../../../feed/cluster-ref';
import type { ClusterInfo } from '../../../wire/panel-link';
import { comparePanel } from '..';
import { METRICS_PARAMS } from '../model';
import { proposedRun } from '../other-run';
import { SharedFunctions } from '../shared-functions';

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

type Run = Partial<ClusterInfo> & { readonly functions?: readonly number[] };

/** Each began a second after the one before it. Of each it is told with each how many functions they have in common. */
function begun(...runs: Run[]): ClusterInfo[] {
  const id = (i: number) => String.fromCharCode('a'.charCodeAt(0) + i);
  return runs.map(({ functions, ...over }, i) =>
    clusterInfo({
      cluster: id(i),
      name: id(i),
      startedAt: 1000 + i,
      ...over,
      sharedFunctions: runs.flatMap((other, j) =>
        functions === undefined || other.functions === undefined || i === j
          ? []
          : [
              {
                cluster: id(j),
                count: functions.filter(fn => other.functions!.includes(fn))
                  .length
              }
            ]
      )
    })
  );
}

const notebook = (path: string) => ({ notebook: { path } });
const client = (name: string, path?: string) => ({
  client: 0,
  name,
  joined: 0,
  ...(path !== undefined && { notebook: { path } })
});

describe('what is proposed', () => {
  const ofPath: NotebookOf = user => user.notebook?.path;
  const proposed = (
    first: number,
    runs: readonly Run[],
    notebookOf = ofPath
  ) => {
    const infos = begun(...runs);
    const own = infos[first]!;
    const shared = new SharedFunctions();
    shared.follow(infos, own);
    return proposedRun(infos, own, null, shared.of, notebookOf)?.cluster;
  };
  const [one, two] = [notebook('one.ipynb'), notebook('two.ipynb')];

  it('is the last run of the same notebook that began before', () => {
    expect(proposed(2, [one, one, one, two, one])).toBe('b');
    expect(proposed(2, [one, { ...one, tasks: 0 }, one])).toBe('a');
  });

  it('is the next run of the notebook if none began before', () => {
    expect(proposed(1, [two, one, two, one, one, two])).toBe('d');
  });

  it('is the newest run if there is no other of the notebook', () => {
    expect(proposed(0, [one, two, two])).toBe('c');
    expect(proposed(0, [one, two, { ...two, tasks: 0 }])).toBe('b');
    expect(proposed(0, [one])).toBeUndefined();
  });

  it('is no run of a notebook of the same name in another folder', () => {
    const of = (folder: string) => ({
      name: 'fit',
      ...notebook(`${folder}/fit.ipynb`)
    });
    expect(proposed(2, [of('x'), of('y'), of('x'), of('y')])).toBe('a');
  });

  it('is of a notebook that was a guest of both', () => {
    const used = (...paths: string[]) => ({
      clients: paths.map(path => client(path, path))
    });
    expect(
      proposed(2, [
        used('one.ipynb'),
        used('two.ipynb'),
        used('three', 'one.ipynb')
      ])
    ).toBe('a');
  });

  it('knows a notebook by its kernels, also under a new name', () => {
    const byKernel = (kernelId: string, path: string) => ({
      notebook: { kernelId, path }
    });
    const runs = [
      byKernel('k1', 'draft.ipynb'),
      byKernel('k2', 'other.ipynb'),
      byKernel('k3', 'final.ipynb')
    ];
    const known: Record<string, string> = {
      k1: 'final.ipynb',
      k2: 'other.ipynb',
      k3: 'final.ipynb'
    };
    const notebookOf: NotebookOf = user => known[user.notebook?.kernelId ?? ''];
    expect(proposed(2, runs, notebookOf)).toBe('a');
  });

  it('is of the same program, by the name of what it recorded or its own', () => {
    const daily = { name: 'daily', kind: 'local' } as const;
    expect(proposed(2, [daily, { name: 'hourly' }, daily])).toBe('a');
    const by = (program: string) => ({ clients: [client(program)] });
    expect(proposed(2, [by('fit.py'), by('load.py'), by('fit.py')])).toBe('a');
    // A path is known of one of the two alone.
    expect(proposed(2, [{ name: 'fit' }, {}, { name: 'fit', ...one }])).toBe(
      'a'
    );
  });

  it('is a run of the same functions, of the same notebook if there is one', () => {
    const fit = { functions: [1, 5, 9] };
    const plot = { functions: [2, 3] };
    const tried = { functions: [5, 7] };
    // The last that began before, with a function in common; the next one of those.
    expect(
      proposed(3, [
        { ...one, ...fit },
        { ...one, ...plot },
        { ...two, ...fit },
        { ...one, ...tried }
      ])
    ).toBe('a');
    expect(
      proposed(1, [
        { ...one, ...plot },
        { ...one, ...fit },
        { ...two, ...fit },
        { ...one, ...plot },
        { ...one, functions: [5, 7, 9] }
      ])
    ).toBe('e');
    // None of the notebook has one: the newest that has.
    const unlike = [
      { ...one, ...plot },
      { ...two, ...tried },
      { ...two, ...fit },
      { ...two, ...plot },
      { ...one, ...fit }
    ];
    expect(proposed(4, unlike)).toBe('c');
    // Nobody has: as where it is not known.
    expect(
      proposed(4, [...unlike.slice(0, 4), { ...one, functions: [4] }])
    ).toBe('a');
    expect(proposed(4, [...unlike.slice(0, 4), one])).toBe('a');
  });

  it('is a run of most of the functions, rather than one of the same notebook with few', () => {
    const fit = { functions: [1, 5, 9] };
    const few = { functions: [5, 7] };
    expect(
      proposed(3, [
        { ...two, ...fit },
        { ...two, ...few },
        { ...one, ...few },
        { ...one, ...fit }
      ])
    ).toBe('a');
    // What was edited since has most of them.
    expect(
      proposed(2, [
        { ...one, ...fit },
        { ...one, functions: [1, 5, 8] },
        { ...one, ...fit }
      ])
    ).toBe('b');
  });

  it('is no other program whose file is not known either', () => {
    const unnamed = { name: 'python' };
    const used = { clients: [client('python')] };
    expect(proposed(2, [unnamed, {}, unnamed])).toBe('b');
    expect(proposed(2, [used, {}, used])).toBe('b');
  });
});

describe('in the panel', () => {
  let panel: ReturnType<typeof comparePanel.create>;
  afterEach(() => panel.dispose());

  /** @param own - the place of the panel's own run; the last if left out. */
  function open(
    runs: readonly Run[],
    { own = runs.length - 1, state = {} as object } = {}
  ) {
    const { feed, contexts } = labContext();
    const infos = begun(...runs);
    feed.setClusters(...infos);
    panel = comparePanel.create({
      context: contexts.of(infos[own]!, 'run'),
      state: state as never
    });
    Widget.attach(panel, document.body);
    const watched = () =>
      feed.running
        .filter(({ spec }) => spec.view === 'fine-metrics')
        .map(({ spec }) => spec.cluster);
    return { feed, infos, watched };
  }
  function seen({ feed }: Pick<ReturnType<typeof open>, 'feed'>): void {
    const log = drawRuns('0/0 aaa');
    for (const watch of feed.running) {
      if (watch.spec.view === 'spans') {
        watch.answer(ask(log, 'spans'));
      }
    }
    for (const watch of feed.running) {
      if (watch.spec.view === 'fine-metrics') {
        const params = METRICS_PARAMS;
        watch.answer(ask(log, 'fine-metrics', { params }));
      }
    }
  }

  /** First and second. */
  const shown = () => panel.clusters.map(info => info?.cluster);
  const saved = () =>
    (panel.savedState()['other'] as { cluster?: string } | null)?.cluster;

  async function choose(side: 'First run' | 'Second run', cluster: string) {
    const select = await waitFor(side, () => {
      MessageLoop.flush();
      return (
        panel.node.querySelector<HTMLSelectElement>(
          `select[aria-label="${side}"]`
        ) ?? undefined
      );
    });
    select.value = cluster;
    select.dispatchEvent(new Event('change', { bubbles: true }));
  }

  async function press(tool: string) {
    const button = await waitFor(tool, () => {
      MessageLoop.flush();
      return (
        panel.node.querySelector<HTMLElement>(
          `button[aria-label="${tool}"]:not([aria-disabled])`
        ) ?? undefined
      );
    });
    button.click();
  }

  it('a run is proposed at once, and no other is asked for anything', () => {
    const { watched } = open([{}, {}, {}, {}]);
    expect(shown()).toEqual(['c', 'd']);
    expect(watched()).toEqual(['d', 'c']);
  });

  it('what is proposed is not saved as if the user had chosen it', async () => {
    open([{}, {}, {}]);
    expect(shown()).toEqual(['b', 'c']);
    expect(saved()).toBeUndefined();
    await choose('First run', 'a');
    expect(saved()).toBe('a');
  });

  it('the older run is first, whichever the panel was opened for', () => {
    const own = { ...notebook('own.ipynb'), functions: [1] };
    open([own, own]);
    expect(shown()).toEqual(['a', 'b']);
    panel.dispose();
    seen(open([own, own], { own: 0 }));
    expect(shown()).toEqual(['a', 'b']);
    expect(panel.title.label).toContain('a, b');
  });

  it('what the user put first or second stays there, also after a reload', async () => {
    open([{}, {}, {}]);
    expect(shown()).toEqual(['b', 'c']);
    await press('Swap');
    expect(shown()).toEqual(['c', 'b']);
    expect(panel.title.label).toContain('c, b');
    const state = panel.savedState();
    panel.dispose();
    open([{}, {}, {}], { state });
    expect(shown()).toEqual(['c', 'b']);
    await choose('First run', 'a');
    expect(shown()).toEqual(['a', 'b']);
    await press('Swap');
    expect(shown()).toEqual(['b', 'a']);
    await choose('First run', 'c');
    expect(shown()).toEqual(['c', 'a']);
  });

  it('to a run that the user put first the next one is proposed', async () => {
    const own = notebook('own.ipynb');
    open([own, own, own, { name: 'd' }], { own: 0 });
    expect(shown()).toEqual(['a', 'b']);
    await choose('First run', 'b');
    expect(shown()).toEqual(['b', 'c']);
  });

  it('what the user chose stays, whatever would be proposed', async () => {
    const { feed } = open([{}, {}, { name: 'c' }]);
    await choose('First run', 'a');
    feed.setClusters(...begun({}, { name: 'c' }, { name: 'c' }));
    expect(shown()).toEqual(['a', 'c']);
    await choose('Second run', 'b');
    expect(shown()).toEqual(['a', 'b']);
    expect(saved()).toBe('a');
  });

  it('what was saved is taken', () => {
    const other = { cluster: 'a', name: 'a' };
    open([{}, {}, {}], { state: { other } });
    expect(shown()).toEqual(['a', 'c']);
  });

  it('the functions in common with its own run are asked for while it is shown, and count on while it is hidden', async () => {
    const fit = { functions: [1, 5] };
    const { feed, infos } = open([fit, {}, fit, { functions: [9] }], {
      own: 2
    });
    const asked = () =>
      feed.running.flatMap(({ spec }) =>
        spec.sharedFunctions === true ? [spec.cluster] : []
      );
    expect(asked()).toEqual(['c']);
    expect(shown()).toEqual(['a', 'c']);
    panel.hide();
    expect(asked()).toEqual([]);
    feed.setClusters(
      ...infos.map(({ sharedFunctions: _, ...info }) => info),
      clusterInfo({ cluster: 'e', name: 'c', startedAt: 1001.5 })
    );
    expect(shown()).toEqual(['a', 'c']);
    panel.show();
    expect(asked()).toEqual(['c']);
    await choose('Second run', 'd');
    expect(asked()).toEqual(['d']);
  });

  it('a proposal stays when a newer run of anything comes', () => {
    const { feed } = open([{}, {}], { own: 0 });
    expect(shown()).toEqual(['a', 'b']);
    feed.setClusters(...begun({}, {}, {}));
    expect(shown()).toEqual(['a', 'b']);
  });

  it('a proposal of the same functions stays when a newer run of them comes', () => {
    const fit = { functions: [1, 5] };
    const { feed } = open([{}, fit, {}, fit], { own: 3 });
    expect(shown()).toEqual(['b', 'd']);
    feed.setClusters(...begun({}, fit, {}, fit, fit, {}));
    expect(shown()).toEqual(['b', 'd']);
  });

  describe('while the own run goes on', () => {
    const few = { functions: [1] };
    const many = { functions: [1, 5, 9] };
    /** Its first function is one of *b*, those that follow are of *a*. */
    const going = (own: Run) => begun(many, few, own);

    it('another is proposed until figures of both were seen', () => {
      const { feed } = open([many, few, few]);
      expect(shown()).toEqual(['b', 'c']);
      feed.setClusters(...going(many));
      expect(shown()).toEqual(['a', 'c']);
    });

    it('a proposal whose figures were seen stays until it is gone', () => {
      const opened = open([many, few, few]);
      seen(opened);
      const { feed } = opened;
      const [a, , c] = going(many);
      feed.setClusters(...going(many));
      expect(shown()).toEqual(['b', 'c']);
      feed.setClusters(a!, c!);
      expect(shown()).toEqual(['a', 'c']);
    });

    it('figures of runs without a function in common let another be proposed', () => {
      const opened = open([many, few, { functions: [3] }]);
      seen(opened);
      expect(shown()).toEqual(['b', 'c']);
      opened.feed.setClusters(...going(many));
      expect(shown()).toEqual(['a', 'c']);
    });

    it('another own run has a proposal of its own', async () => {
      const opened = open([many, few, few, { ...many, name: 'd' }], { own: 2 });
      seen(opened);
      expect(shown()).toEqual(['c', 'd']);
      await choose('First run', 'a');
      expect(shown()).toEqual(['a', 'd']);
    });
  });

  describe('before it is told what runs have in common', () => {
    const many = { functions: [1, 5, 9], name: 'other' };
    const few = { functions: [7], name: 'same' };
    const told = begun(many, few, { ...many, name: 'same' });
    const untold = told.map(info => ({ ...info, sharedFunctions: [] }));
    function openUntold() {
      const { feed, contexts } = labContext();
      feed.setClusters(...untold);
      panel = comparePanel.create({
        context: contexts.of(untold[2]!, 'run')
      });
      const titles: string[] = [];
      const note = () => {
        const { label } = panel.title;
        if (titles.at(-1) !== label) {
          titles.push(label);
        }
      };
      panel.title.changed.connect(note);
      Widget.attach(panel, document.body);
      note();
      return { feed, titles };
    }
    const state = () => {
      MessageLoop.flush();
      return panel.node.querySelector('.sw-state')?.textContent ?? '';
    };
    const isOwn = expect.stringMatching(/^Compare · same, started /u);
    const isNear = expect.stringMatching(/^Compare · other, same$/u);
    const isOfProgram = expect.stringMatching(/^Compare · same · .*, same · /u);

    it('no run is shown that may give way to a nearer one', async () => {
      const { feed, titles } = openUntold();
      seen({ feed });
      await waitFor(
        'that it looks for a run',
        () => state().startsWith('Looking for a run') || undefined
      );
      feed.setClusters(...told);
      expect(titles).toEqual([isOwn, isNear]);
      expect(shown()).toEqual(['a', 'c']);
    });

    it('one of its program is shown where it is not told in time, and stays once its figures were seen', async () => {
      const { feed, titles } = openUntold();
      await waitFor('a proposal', () => titles[1]);
      expect(titles).toEqual([isOwn, isOfProgram]);
      seen({ feed });
      const [a, b, c] = begun(
        many,
        { ...few, functions: [1] },
        { ...many, name: 'same' }
      );
      feed.setClusters(a!, b!, c!);
      expect(shown()).toEqual(['b', 'c']);
      // With nothing in common there is nothing to compare.
      feed.setClusters(...told);
      expect(shown()).toEqual(['a', 'c']);
    });
  });

  const acts: Readonly<
    Record<string, readonly [() => Promise<void>, string[]]>
  > = {
    pinned: [() => press('Pin to these runs'), ['a', 'b']],
    swapped: [() => press('Swap'), ['b', 'a']],
    'once the other was chosen': [() => choose('First run', 'z'), ['z', 'b']]
  };

  it.each(Object.entries(acts))(
    '%s, both runs stay, also when the notebook has another cluster',
    async (_, [act, expected]) => {
      const own = notebook('own.ipynb');
      const { feed, contexts } = labContext();
      const [a, b, c] = begun(own, own, own);
      const z = clusterInfo({ cluster: 'z', name: 'z', startedAt: 1 });
      feed.setClusters(a!, b!, z);
      panel = comparePanel.create({ context: contexts.of(b!, 'follows') });
      Widget.attach(panel, document.body);
      expect(shown()).toEqual(['a', 'b']);
      await act();
      feed.setClusters(a!, { ...b!, state: 'ended' }, c!, z);
      expect([panel.turns, ...shown()]).toEqual([false, ...expected]);
    }
  );

  it('a proposal stays while a new observer lists other runs again', () => {
    const own = notebook('own.ipynb');
    const { feed, infos } = open([own, own, own]);
    expect(shown()).toEqual(['b', 'c']);
    feed.setClusters(infos[0]!, infos[2]!);
    expect(shown()).toEqual(['b', 'c']);
  });

  it('the previous run is proposed when it comes to be known', () => {
    const { feed } = open([{}, {}, { name: 'c' }]);
    expect(shown()).toEqual(['b', 'c']);
    feed.setClusters(...begun({ name: 'c' }, {}, { name: 'c' }));
    expect(shown()).toEqual(['a', 'c']);
  });

  it('another run is proposed to another run of the panel', async () => {
    const [one, two] = [notebook('one.ipynb'), notebook('two.ipynb')];
    open([one, two, one, two]);
    expect(shown()).toEqual(['b', 'd']);
    await choose('Second run', 'c');
    expect(shown()).toEqual(['a', 'c']);
  });

  it('the newest run is proposed to another run without one of its own', async () => {
    const { feed } = open([{}, {}], { own: 0 });
    feed.setClusters(...begun({}, {}, {}, {}));
    expect(shown()).toEqual(['a', 'b']);
    await choose('First run', 'c');
    expect(shown()).toEqual(['c', 'd']);
  });

  it('no run is proposed to itself', async () => {
    open([{ tasks: 0 }, {}], { own: 0 });
    expect(shown()).toEqual(['a', 'b']);
    await choose('First run', 'b');
    expect(shown()).toEqual(['b']);
  });

  it('each question is asked once when the panel turns', async () => {
    const { feed } = open([{}, {}, {}]);
    const asked = jest.spyOn(feed, 'watch');
    await choose('Second run', 'b');
    expect(shown()).toEqual(['c', 'b']);
    expect(asked.mock.calls.map(([spec]) => spec.cluster).sort()).toEqual([
      'b',
      'b',
      'b',
      'c',
      'c',
      'c'
    ]);
  });

  it('a hidden panel watches nothing, whatever is proposed', () => {
    const { feed } = open([{}, {}, { name: 'c' }]);
    panel.hide();
    expect(feed.running).toEqual([]);
    feed.setClusters(...begun({ name: 'c' }, {}, { name: 'c' }));
    expect(shown()).toEqual(['a', 'c']);
    expect(feed.running).toEqual([]);
    panel.show();
    expect(feed.running.map(({ spec }) => spec.cluster).sort()).toEqual([
      'a',
      'a',
      'a',
      'c',
      'c',
      'c'
    ]);
  });
});
