import { MessageLoop } from '@lumino/messaging';
import { DockPanel, Widget } from '@lumino/widgets';
import { clusterInfo, type FakeFeed } from '../../feed/__tests__/fake-feed';
import type { ClusterTarget } from '../../feed/cluster-ref';
import { SpanwisePanel } from '../../panels/panel';
import type { PanelName } from '../../panels/panel-context';
import { REFUSED_CLUSTER } from '../../wire/panel-link';
import type { ContextPool } from '../context-pool';
import { LAID_OUT } from '../default-layout';
import { PanelOpener, type PanelPlace } from '../panel-opener';
import { PANELS } from '../panel-list';
import { waitFor } from '../../testing/wait-for';
import { labContext } from './lab-context';

it('makes no panel that has no place in the layout', () => {
  const made: string[] = [];
  const panels = PANELS.map(panel => ({
    ...panel,
    create: () => {
      made.push(panel.name);
      return Object.assign(new Widget(), {
        face: panel,
        stateChanged: { connect: () => true }
      }) as unknown as ReturnType<typeof panel.create>;
    }
  }));
  const opener = new PanelOpener({
    shell: {
      mode: 'multiple-document',
      add: () => undefined,
      activateById: () => undefined,
      widgets: () => [][Symbol.iterator]()
    },
    tracker: {
      add: () => Promise.resolve(),
      save: () => Promise.resolve(),
      forEach: () => undefined
    },
    contexts: labContext().contexts,
    panels
  });
  // (and says that nothing is docked: the user is told)
  expect(opener.layOut({ name: 'first-look' }, null)).toBe(false);
  expect(made).toEqual(LAID_OUT);
});

it('lays out with the Spanwise tab in front, and the keyboard in the notebook', () => {
  const dock = new DockPanel();
  Widget.attach(dock, document.body);
  const [notebook, other] = [new Widget(), new Widget()];
  notebook.id = 'notebook';
  dock.addWidget(notebook);
  dock.addWidget(other);
  const shown: string[] = [];
  const opener = new PanelOpener({
    shell: {
      mode: 'multiple-document',
      add: () => undefined,
      activateById: id => shown.push(id),
      widgets: () => dock.widgets()
    },
    tracker: {
      add: () => Promise.resolve(),
      save: () => Promise.resolve(),
      forEach: () => undefined
    },
    contexts: labContext().contexts,
    panels: []
  });
  expect(opener.layOut({ name: 'first-look' }, notebook)).toBe(true);
  expect(shown).toEqual(['spanwise-sidebar', 'notebook']);
  dock.dispose();
});

describe('of two notebooks', () => {
  class ResizeObserverStub {
    observe(): void {}
    unobserve(): void {}
    disconnect(): void {}
  }
  const inA = clusterInfo({
    cluster: 'a',
    name: 'first-look',
    notebook: { path: 'a.ipynb' }
  });
  const inB = clusterInfo({
    cluster: 'b',
    name: 'survey',
    startedAt: 2000,
    notebook: { path: 'b.ipynb' }
  });
  /** One that another of its name has followed. */
  const old = { ...inA, cluster: 'old', state: 'ended' as const, startedAt: 1 };
  const a = { notebook: 'a.ipynb' };
  const b = { notebook: 'b.ipynb' };
  let dock: DockPanel;
  let opener: PanelOpener;
  let contexts: ContextPool;
  let feed: FakeFeed;
  let shown: string[];
  const titles = () => opener.open.map(({ title }) => title.label).sort();
  const show = (name: PanelName, target: ClusterTarget): SpanwisePanel =>
    opener.show(name, target);

  beforeEach(() => {
    Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });
    dock = new DockPanel();
    Widget.attach(dock, document.body);
    const lab = labContext();
    lab.feed.setClusters(inA, old, inB);
    ({ contexts, feed } = lab);
    const panels: SpanwisePanel[] = [];
    shown = [];
    opener = new PanelOpener({
      shell: {
        mode: 'multiple-document',
        add: (widget, _area, { mode, ref } = {}) =>
          dock.addWidget(widget, {
            mode: mode as DockPanel.InsertMode | undefined,
            ref: [...dock.widgets()].find(({ id }) => id === ref)
          }),
        activateById: id => shown.push(id),
        widgets: () => dock.widgets()
      },
      tracker: {
        add: panel => {
          panels.push(panel);
          panel.disposed.connect(() => panels.splice(panels.indexOf(panel), 1));
          return Promise.resolve();
        },
        save: () => Promise.resolve(),
        forEach: act => panels.forEach(act)
      },
      contexts,
      panels: PANELS
    });
  });
  afterEach(() => dock.dispose());

  it('panels turn to the cluster that is chosen, pinned ones stay', () => {
    show('system', a);
    show('bandwidth', a).setPinned(true);
    opener.turn(b);
    expect(titles()).toEqual(['Bandwidth · first-look', 'System · survey']);
    expect(opener.showing(inA).map(({ face }) => face.name)).toEqual([
      'bandwidth'
    ]);
    opener.setPinned(inA, false);
    opener.turn(b);
    expect(titles()).toEqual(['Bandwidth · survey', 'System · survey']);
  });

  it('panels that stay with another cluster are told of, until they turn', () => {
    expect(opener.insteadOf(inB)).toBeUndefined();
    expect(opener.lastTarget).toBeUndefined();
    const panel = show('system', a);
    expect(opener.lastTarget).toEqual(a);
    expect(opener.insteadOf(inA)).toBeUndefined();
    expect(opener.insteadOf(inB)).toEqual({ clusters: [inA], isAll: true });
    // It was told to stay.
    panel.setPinned(true);
    expect(opener.insteadOf(inB)).toBeUndefined();
    expect(opener.lastTarget).toBeUndefined();
    panel.setPinned(false);
    const ofNone = show('bandwidth', { notebook: 'none.ipynb' });
    show('profile', a);
    expect(opener.insteadOf(inB)).toEqual({
      clusters: [inA, null],
      isAll: true
    });
    ofNone.dispose();
    opener.turn(b);
    expect(opener.insteadOf(inB)).toBeUndefined();
    opener.turn({ notebook: 'none.ipynb' });
    expect(opener.insteadOf(inB)).toEqual({ clusters: [null], isAll: true });
  });

  it('what only pinned panels show, or those that compare, is not said of all', () => {
    const notebook = 'c.ipynb';
    const inC = { ...inB, cluster: 'c', notebook: { path: notebook } };
    feed.setClusters(inA, inB, inC);
    show('system', a);
    const instead = () => opener.insteadOf(inC);
    const some = { clusters: [inA], isAll: false };
    const compare = show('compare', a);
    expect(compare.clusters).toHaveLength(2);
    expect(instead()).toEqual(some);
    compare.dispose();
    expect(instead()).toEqual({ ...some, isAll: true });
    const pinned = show('bandwidth', b);
    pinned.setPinned(true);
    expect(instead()).toEqual(some);
    pinned.dispose();
    show('profile', a).setPinned(true);
    expect(instead()).toEqual({ ...some, isAll: true });
    show('memory', { notebook });
    expect(instead()).toBeUndefined();
  });

  it('an empty panel turns, and none is opened beside it', () => {
    const none = { notebook: 'none.ipynb' };
    const empty = show('system', none);
    // Neither has the other notebook a cluster.
    const second = show('system', { notebook: 'nothing.ipynb' });
    expect(second.id).not.toBe(empty.id);
    second.dispose();
    expect(show('system', b).id).toBe(empty.id);
    expect(titles()).toEqual(['System · survey']);
    const dragged = show('bandwidth', none);
    expect(opener.forDrop('bandwidth', b).id).toBe(dragged.id);
    show('profile', none);
    opener.show('profile', b, 'split-right');
    expect(titles()).toEqual([
      'Bandwidth · survey',
      'Profile · survey',
      'System · survey'
    ]);
    show('system', a);
    expect(titles()).toContain('System · first-look');
    expect(titles()).toContain('System · survey');
  });

  it('of panels that show nothing it is told while one shows the cluster', () => {
    const none = { notebook: 'none.ipynb' };
    show('bandwidth', none);
    show('profile', a);
    show('system', b);
    expect(opener.insteadOf(inB)).toEqual({ clusters: [null], isAll: false });
    opener.turn(b);
    expect(opener.insteadOf(inB)).toBeUndefined();
    // There is one of its kind already.
    contexts.lend(none);
    opener.open[0]!.turnTo(contexts.lend(none));
    const other = show('bandwidth', b);
    expect(other.cluster).toEqual(inB);
    expect(opener.insteadOf(inB)).toBeUndefined();
  });

  it('panels that say why a cluster was refused show none', () => {
    feed.setClusters({ ...inA, cluster: REFUSED_CLUSTER });
    show('system', a);
    expect(opener.insteadOf(inB)).toEqual({ clusters: [null], isAll: true });
  });

  it('of two panels of one kind none turns to the cluster of the other', () => {
    const [first, second] = [show('system', a), show('system', b)];
    expect(second).not.toBe(first);
    shown.length = 0;
    opener.turn(b);
    expect(titles()).toEqual(['System · first-look', 'System · survey']);
  });

  it('a panel that compares turns as others do, and is brought before none of them', () => {
    show('system', a);
    const compare = show('compare', a);
    expect(compare.isVisible).toBe(false);
    shown.length = 0;
    opener.turn(a);
    opener.turn(b);
    expect(shown).toEqual([]);
    expect(compare.cluster).toEqual(inB);
    expect(titles()).toContain('System · survey');
    compare.setPinned(true);
    opener.turn(a);
    expect(compare.cluster).toEqual(inB);
    expect(titles()).toContain('System · first-look');
  });

  it('two runs have one Compare, whichever of them it is opened for', () => {
    const compare = show('compare', a);
    expect(compare.clusters).toEqual([old, inA]);
    const before = contexts.targetOf(old, 'follows');
    expect(show('compare', before).id).toBe(compare.id);
    opener.turn(before);
    expect(compare.clusters).toEqual([old, inA]);
    expect(opener.insteadOf(old)).toBeUndefined();
    expect(opener.insteadOf(inB)).toEqual({ clusters: [inA], isAll: false });
    opener.turn(b);
    show('compare', b);
    expect(opener.open.map(({ id }) => id)).toEqual([compare.id]);
  });

  it('Compare stays with what was chosen in it, says so, and turns once it is let go', async () => {
    const other = { cluster: 'old', name: 'first-look' };
    const id = 'spanwise-compare-1';
    const compare = opener.restore({
      panel: 'compare',
      id,
      target: b,
      state: { other }
    });
    const pin = (isPressed: boolean) =>
      waitFor(`the pin, pressed: ${isPressed}`, () => {
        MessageLoop.flush();
        const name = '[aria-label="Pin to these runs"]';
        const button = compare.node.querySelector<HTMLElement>(name);
        return button?.getAttribute('aria-pressed') === String(isPressed)
          ? button
          : undefined;
      });
    opener.turn(a);
    expect(compare.clusters).toEqual([old, inB]);
    expect(compare.title.caption).toMatch(/\nPinned to first-look, survey\.$/u);
    const pressed = await pin(true);
    // The sidebar's pin, taken off, is no word about what was chosen.
    opener.setPinned(inB, true);
    opener.setPinned(inB, false);
    expect(compare.turns).toBe(false);
    pressed.click();
    const free = await pin(false);
    expect(compare.title.caption).not.toContain('Pinned');
    expect(compare.clusters).toEqual([old, inB]);
    opener.turn(a);
    expect(compare.clusters).toEqual([old, inA]);
    free.click();
    await pin(true);
    opener.turn(b);
    expect(compare.clusters).toEqual([old, inA]);
    expect(compare.savedState()).toMatchObject({ other });
  });

  it.each<[string, (panel: SpanwisePanel) => void]>([
    ['turns to another', () => opener.turn(b)],
    ['is closed', panel => panel.dispose()]
  ])(
    'the context of one run goes when the last panel that had it %s',
    (_, leave) => {
      const run = contexts.targetOf(old, 'follows');
      expect(run.cluster).toBe('old');
      const first = show('system', run);
      const second = show('bandwidth', run);
      // Given to it once more, by what it shows already.
      first.turnTo(contexts.lend(run));
      const { cluster, selection, release } = contexts.lend(run);
      release();
      second.dispose();
      expect(cluster.isDisposed).toBe(false);
      leave(first);
      expect([cluster.isDisposed, selection.isDisposed]).toEqual([true, true]);
      expect(contexts.lend(a).cluster.isDisposed).toBe(false);
    }
  );

  describe('and a notebook', () => {
    let notebook: Widget;
    const open = (name: PanelName, place?: PanelPlace) =>
      opener.show(name, a, place, notebook);
    /** What is in the tabs of each place. */
    const places = () =>
      [...dock.tabBars()].map(({ titles }) =>
        titles.map(({ owner }) =>
          owner instanceof SpanwisePanel ? owner.face.name : owner.id
        )
      );
    beforeEach(() => {
      notebook = new Widget();
      notebook.id = 'notebook';
      dock.addWidget(notebook);
    });

    it('a panel that is opened beside it goes to the other panels and never hides it', () => {
      open('system');
      open('compare');
      open('bandwidth');
      expect(places()).toEqual([
        ['notebook'],
        ['system', 'compare', 'bandwidth']
      ]);
    });

    it('one without a place in the layout stands behind the same panel as there', () => {
      opener.layOut(a, notebook);
      open('compare');
      open('system');
      const there = [
        ['notebook'],
        ['memory'],
        ['task-stream'],
        ['fine-metrics', 'compare'],
        ['profile', 'system']
      ];
      expect(places()).toEqual(there);
      opener.layOut(a, notebook);
      expect(places()).toEqual(there);
    });

    it('and panels all in one place, a further one is beside them', () => {
      open('system', 'tab-after');
      expect(places()).toEqual([['notebook', 'system']]);
      open('profile');
      open('bandwidth');
      expect(places()).toEqual([
        ['notebook', 'system'],
        ['profile', 'bandwidth']
      ]);
    });

    it('a panel stands where it was asked for', () => {
      open('system');
      open('compare', 'split-bottom');
      expect(places()).toEqual([['notebook'], ['compare'], ['system']]);
      open('profile', 'tab-after');
      expect(places()[0]).toEqual(['notebook', 'profile']);
    });
  });

  it('a pinned panel of the cluster is the one that is shown', () => {
    const pinned = show('system', a);
    pinned.setPinned(true);
    expect(pinned.clusterTarget).toEqual({
      notebook: 'a.ipynb',
      name: 'first-look'
    });
    expect(show('system', a)).toBe(pinned);
    expect(titles()).toHaveLength(1);
  });

  it('the layout uses the panels that are open, and keeps pinned ones in tabs behind those of their kind', () => {
    const notebook = new Widget();
    notebook.id = 'notebook';
    dock.addWidget(notebook);
    opener.layOut(a, notebook);
    const four = titles();
    expect(four).toHaveLength(4);
    opener.layOut(b, notebook);
    expect(titles()).toEqual(
      four.map(title => title.replace('first-look', 'survey'))
    );
    const tabs = () =>
      [...dock.tabBars()].map(bar =>
        bar.titles.map(({ label, owner }) => label || owner.id)
      );
    expect(tabs().every(titles => titles.length === 1)).toBe(true);

    opener.find('profile', b)!.setPinned(true);
    show('system', b);
    opener.layOut(a, notebook);
    expect(tabs()).toContainEqual([
      'Profile · first-look',
      'Profile · survey',
      'System · first-look'
    ]);
    expect(tabs()).toContainEqual(['notebook']);
  });

  it('a Compare that is not pinned turns with the layout, and where it is opened for another notebook', () => {
    const inC = clusterInfo({
      cluster: 'c',
      name: 'spill',
      startedAt: 3000,
      notebook: { path: 'c.ipynb' }
    });
    const c = { notebook: 'c.ipynb' };
    const compare = show('compare', a);
    expect(compare.clusters).toEqual([old, inA]);
    feed.setClusters(inA, old, inB, inC);
    opener.layOut(c, null);
    expect(compare.cluster).toEqual(inC);
    // From the gallery, too: no second one is opened.
    expect(show('compare', a).id).toBe(compare.id);
    expect(compare.clusters).toEqual([old, inA]);
    compare.setPinned(true);
    opener.layOut(c, null);
    expect(compare.clusters).toEqual([old, inA]);
    expect(show('compare', c).id).not.toBe(compare.id);
  });
});
