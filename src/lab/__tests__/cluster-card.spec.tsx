import { nullTranslator } from '@jupyterlab/translation';
import type * as React from 'react';
import { flushSync } from 'react-dom';
import { createRoot, type Root } from 'react-dom/client';
import { createElement } from '../../charts/shown-element';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import { bracketing } from '../../testing/translators';
import { REFUSED_CLUSTER, type ClusterInfo } from '../../wire/panel-link';
import type { ClusterActions } from '../cluster-actions';
import { ClusterCard } from '../cluster-card';
import { clusterUsers } from '../cluster-users';

let host: HTMLElement;
let root: Root;

beforeEach(() => {
  host = document.body.appendChild(document.createElement('div'));
  root = createRoot(host);
});
afterEach(() => {
  flushSync(() => root.unmount());
  host.remove();
});

const atRest = {
  troubles: [],
  isStarting: false,
  isUnderWay: () => false
} as unknown as ClusterActions;

function textOf(
  cluster: ClusterInfo | null,
  actions = atRest,
  more: Partial<React.ComponentProps<typeof ClusterCard>> = {}
): string {
  flushSync(() =>
    root.render(
      <ClusterCard
        cluster={cluster}
        users={
          cluster === null
            ? { owner: undefined, notebooks: [], programs: [] }
            : clusterUsers(cluster, user => user.notebook?.path)
        }
        usersOf={of => clusterUsers(of, user => user.notebook?.path)}
        actions={actions}
        clusters={cluster === null ? [] : [cluster]}
        status={{ kind: 'open' }}
        trans={nullTranslator.load('spanwise')}
        onChoose={() => undefined}
        onAttach={null}
        {...more}
      />
    )
  );
  return host.textContent ?? '';
}

function buttonTexts(): (string | null)[] {
  return [...host.querySelectorAll('.sw-cluster-buttons button')].map(
    each => each.textContent
  );
}

const [here, there] = clusterInfo().workers as [
  ClusterInfo['workers'][number],
  ClusterInfo['workers'][number]
];

const joined = {
  client: 2,
  name: 'local',
  notebook: { path: 'work/local.ipynb' },
  joined: 5
};
const job = { client: 3, name: 'job', joined: 6 };

describe('ClusterCard', () => {
  it('says whose Client starts a cluster, or else why there is none', () => {
    expect(textOf(null)).toMatch(
      /“client = Client\(\)” in a notebook.*“from spanwise import Client”/
    );
    const sentence = 'Install Node.js 22.';
    const status = { kind: 'no-node', sentence } as const;
    const why = textOf(null, atRest, { status });
    expect(why).toContain(sentence);
    expect(why).not.toContain('Client');
  });

  it('pins the panels that show it, and says why it cannot', () => {
    const toggle = jest.fn();
    const pinButton = () =>
      host.querySelector<HTMLButtonElement>('[aria-label^="Pin panels"]')!;
    const show = (isPinned: boolean, panels: number) =>
      textOf(clusterInfo(), atRest, { pin: { isPinned, panels, toggle } });
    show(false, 0);
    expect(pinButton().title).toContain('no open panel shows it');
    pinButton().click();
    expect(toggle).not.toHaveBeenCalled();
    show(false, 2);
    expect(pinButton().getAttribute('aria-pressed')).toBe('false');
    pinButton().click();
    expect(toggle).toHaveBeenCalledTimes(1);
    show(true, 2);
    expect(pinButton().getAttribute('aria-pressed')).toBe('true');
  });

  it('counts the workers that are there; of an ended cluster those that were', () => {
    const info = clusterInfo({
      workers: [here, { ...there, state: 'gone', process: 0 }],
      threads: 2
    });
    expect(textOf(info)).toContain('1\u00a0worker2 threads');
    const going = { ...info, running: 8 };
    expect(textOf(going)).toContain('2 threads8 running');
    expect(textOf({ ...going, runningCancelled: 3 })).toContain(
      '2 threads8 running, 3 of them cancelled'
    );
    const waiting = [{ reason: 'no-worker', tasks: 12 }] as const;
    expect(textOf({ ...info, waiting })).toContain(
      '2 threads0 running, 12 waiting'
    );
    expect(textOf({ ...info, waiting: [] })).not.toContain('running,');
    const ended = info.workers.map(one => ({ ...one, state: 'gone' as const }));
    expect(textOf({ ...info, state: 'ended', workers: ended })).toContain(
      '2\u00a0workers4 threads'
    );
    // Those that were replaced are none of them, but of an observation.
    const left = [10, 20, 99.5, 100].map((left, worker) => ({
      ...ended[0]!,
      worker,
      left
    }));
    const replaced: ClusterInfo = { ...info, state: 'ended', workers: left };
    expect(textOf(replaced)).toContain('2\u00a0workers4 threads');
    // Also those of a restart just before the end.
    const restarted = left.map((one, i) => ({
      ...one,
      joined: [0, 0, 0, 99.6][i]
    }));
    expect(textOf({ ...replaced, workers: restarted })).toContain(
      '1\u00a0worker2 threads'
    );
    expect(textOf({ ...replaced, kind: 'local' })).toContain(
      '3\u00a0processes and the main program8 threads'
    );
  });

  it('counts the processes of an observation beside the program that is observed', () => {
    const observed = (count: number): string =>
      textOf(
        clusterInfo({
          kind: 'local',
          threads: 2,
          workers: [0, 1, 2]
            .slice(0, count)
            .map(worker => ({ ...here, worker }))
        })
      );
    expect(observed(3)).toContain(
      '2\u00a0processes and the main program2 threads'
    );
    expect(observed(2)).toContain('1\u00a0process and the main program2');
    expect(observed(1)).toContain('main program2 threads');
    expect(observed(1)).not.toMatch(/worker|process/);
  });

  it('adds up the memory of the workers that are there', () => {
    const GiB = 2 ** 30;
    const one = { ...here, process: GiB, memoryLimit: 4 * GiB };
    const text = textOf(
      clusterInfo({ workers: [one, { ...one, worker: 1, state: 'gone' }] })
    );
    expect(text.replace(/\s/g, ' ')).toContain('1.00 of 4.00 GiB');
    // (it is one worker's, and no sum)
    const meter = host.querySelector<HTMLElement>('[role=meter]')!;
    expect(meter.title).toBe('');
    expect((meter.previousElementSibling as HTMLElement).title).toBe('');
  });

  it('has memory and limit as one text of the language of the page', () => {
    const GiB = 2 ** 30;
    const said = (...limits: number[]) => {
      const workers = limits.map((memoryLimit, worker) => ({
        ...here,
        worker,
        process: GiB,
        memoryLimit
      }));
      textOf(clusterInfo({ workers }), atRest, { trans: bracketing });
      const meter = host.querySelector('[role=meter]')!;
      return meter.getAttribute('aria-valuetext')?.replace(/\s/g, ' ');
    };
    expect(said(4 * GiB)).toBe('⟦1.00 of 4.00 GiB⟧');
    expect(said(8 * GiB, 4 * GiB)).toBe('⟦2.00 of 12.0 GiB, limits added up⟧');
    // (one of them has none)
    expect(said(0, 4 * GiB)).toBe('⟦2.00 of 4.00 GiB⟧');
    expect(host.querySelector<HTMLElement>('[role=meter]')!.title).toBe('');
  });

  it.each(['embedded', 'dask'] as const)(
    'says that the limit of a cluster (%s) is a sum, and nothing of one without',
    kind => {
      const GiB = 2 ** 30;
      const meter = (memoryLimit: number) => {
        const one = { ...here, process: GiB, memoryLimit };
        textOf(
          clusterInfo({ kind, workers: [one, { ...one, worker: 1 }] }),
          atRest
        );
        const found = host.querySelector<HTMLElement>('[role=meter]')!;
        const line = found.previousElementSibling as HTMLElement;
        expect(line.title).toBe(found.title);
        return [found.getAttribute('aria-valuetext'), found.title];
      };
      expect(meter(23.5 * GiB)).toEqual([
        // A narrow sidebar breaks no figure.
        '2.00\u00a0GiB of 2\u00a0×\u00a023.5\u00a0GiB',
        'The limit is the workers’ limits added up, which may be more memory than there is.'
      ]);
      expect(meter(0)).toEqual(['2.00\u00a0GiB', '']);
    }
  );

  it('shows the limits of several workers as what they are', () => {
    const GiB = 2 ** 30;
    const plain = (text: string | null | undefined) =>
      text?.replace(/\s/g, ' ');
    const shown = (process: number, ...limits: number[]) => {
      const workers = limits.map((memoryLimit, worker) => ({
        ...here,
        worker,
        process,
        memoryLimit
      }));
      textOf(clusterInfo({ workers }));
      const meter = host.querySelector('[role=meter]')!;
      const line = meter.previousElementSibling!;
      const text = plain(line.textContent)!;
      // It is told to those who do not see it too.
      expect(`Memory${plain(meter.getAttribute('aria-valuetext'))}`).toBe(text);
      return [text, plain(line.querySelector('b')?.textContent)];
    };
    expect(shown(GiB, 23.5 * GiB)).toEqual(['Memory1.00 of 23.5 GiB', '1.00']);
    expect(shown(GiB, 23.5 * GiB, 23.5 * GiB)).toEqual([
      'Memory2.00 GiB of 2 × 23.5 GiB',
      '2.00 GiB'
    ]);
    expect(shown(100 * 2 ** 20, 23.5 * GiB, 23.5 * GiB)).toEqual([
      'Memory200 MiB of 2 × 23.5 GiB',
      '200 MiB'
    ]);
    expect(shown(GiB, 8 * GiB, 4 * GiB)).toEqual([
      'Memory2.00 of 12.0 GiB, limits added up',
      '2.00'
    ]);
    expect(shown(GiB, 0, 0)).toEqual(['Memory2.00 GiB', '2.00 GiB']);
  });

  it('lists clusters of one name so that each is known, and marks the one in front', async () => {
    const started = new Date().setHours(9, 21, 40) / 1000;
    const own = { ...joined, notebook: { path: 'work/b.ipynb' } };
    const first = clusterInfo({ name: 'survey', startedAt: started });
    const chosen = jest.fn();
    const others = [
      { ...first, cluster: 'b', startedAt: started - 1, clients: [own] },
      {
        ...first,
        cluster: 'd',
        environment: '/env',
        startedAt: started - 2,
        clients: [own, job]
      },
      clusterInfo({
        ...first,
        cluster: 'c',
        kind: 'local',
        state: 'ended',
        startedAt: started - 60
      })
    ];
    const [second] = others;
    textOf(second!, atRest, { clusters: [...others, first], onChoose: chosen });
    host
      .querySelector<HTMLButtonElement>('[aria-label="Choose cluster"]')!
      .click();
    const items = [...document.querySelectorAll('.sw-menu .lm-Menu-item')];
    expect(items.map(each => each.textContent)).toEqual([
      'survey · running · started 09:21:40',
      'survey · running · started 09:21:39 · b.ipynb',
      'survey · running · started 09:21:38 · b.ipynb · job',
      'survey · ended · started 09:20:40 · local schedulers'
    ]);
    const marks = items.map(
      each => each.querySelector('.lm-Menu-itemIcon svg') !== null
    );
    expect(marks).toEqual([false, true, false, false]);
    const [down, enter] = [40, 13];
    for (const keyCode of [down, down, down, enter]) {
      items[0]!.dispatchEvent(
        new KeyboardEvent('keydown', { keyCode, bubbles: true })
      );
    }
    expect(chosen.mock.calls).toEqual([[others[1]]]);
    expect(document.querySelector('.sw-menu')).toBeNull();
  });

  it('tells of panels that show another cluster, and turns them', () => {
    const info = clusterInfo({ name: 'survey' });
    const other = clusterInfo({ cluster: 'other', name: 'first-look' });
    const onChoose = jest.fn();
    const told = (...shown: (ClusterInfo | null)[]) =>
      textOf(info, atRest, {
        inPanels: { clusters: shown, isAll: true },
        onChoose
      });
    expect(textOf(info)).not.toContain('open panels');
    expect(told(null)).toContain('The open panels show no cluster.');
    expect(told({ ...other, name: 'survey' })).toContain(
      'The open panels show another cluster named survey.'
    );
    for (const second of [null, { ...other, cluster: 'third' }]) {
      expect(told(other, second)).toContain(
        'None of the open panels shows this cluster.'
      );
    }
    // It is a sentence, and no cluster that panels could show.
    expect(
      textOf({ ...info, cluster: REFUSED_CLUSTER }, atRest, {
        inPanels: { clusters: [other], isAll: true }
      })
    ).not.toContain('open panels');
    expect(told(other)).toContain('The open panels show first-look.');
    const button = host.querySelector<HTMLButtonElement>(
      '[aria-label="Show in the panels: survey"]'
    )!;
    expect(button.textContent).toBe('Show in the panels');
    onChoose.mockImplementation(() => textOf(info, atRest, { onChoose }));
    button.focus();
    button.click();
    expect(onChoose).toHaveBeenCalledWith(info);
    expect(button.isConnected).toBe(false);
    expect(document.activeElement?.getAttribute('aria-label')).toBe(
      'Choose cluster'
    );
  });

  it('says of no panel what only others show', () => {
    const info = clusterInfo({ name: 'survey' });
    const other = clusterInfo({ cluster: 'other', name: 'first-look' });
    const told = (...shown: (ClusterInfo | null)[]) =>
      textOf(info, atRest, { inPanels: { clusters: shown, isAll: false } });
    expect(told(other)).toContain('Some open panels show first-look.');
    expect(told(null)).toContain('Some open panels show no cluster.');
    expect(told({ ...other, name: 'survey' })).toContain(
      'Some open panels show another cluster named survey.'
    );
    expect(told(other, null)).toContain(
      'Some open panels show other clusters.'
    );
  });

  it('names workers that are paused, and what fills them, as text', () => {
    const full = { ...here, state: 'paused', why: '<b>9 of 10 MiB' };
    expect(textOf(clusterInfo({ workers: [full, there] }))).toContain(
      'worker 0 is paused: <b>9 of 10 MiB.'
    );
    const all = [0, 1, 2, 3].map(worker => ({
      ...full,
      worker,
      name: `worker ${worker}`
    }));
    expect(textOf(clusterInfo({ workers: all }))).toContain(
      '2 more are paused.'
    );
    expect(textOf(clusterInfo())).not.toContain('paused');
    const inState = (state: string) =>
      textOf(clusterInfo({ workers: [{ ...here, state }, there] }));
    expect(inState('paused')).toContain('worker 0 is paused: memory full.');
    expect(inState('stopped')).toContain('worker 0 is stopped.');
    expect(textOf(clusterInfo({ workers: all, state: 'ended' }))).not.toContain(
      'paused'
    );
  });

  it('says whose default cluster it is, and who uses it', () => {
    const left = { client: 4, name: 'gone', joined: 1, left: 2 };
    const shared = clusterInfo({
      environment: '/home/ann/trees/.venv',
      clients: [joined, job, { ...job, client: 5 }, left]
    });
    expect(textOf(shared)).toContain(
      'default cluster, shared by notebooksused by local.ipynb, job'
    );
    const buttons = [...host.querySelectorAll('button')];
    expect(
      buttons.flatMap(each => each.getAttribute('aria-label') ?? [])
    ).toEqual(['Choose cluster', 'New cluster', 'Scale', 'Restart', 'Stop']);
    expect(host.querySelector('[aria-disabled]')).toBeNull();
  });

  it('tells notebooks of one file name apart', () => {
    const shared = clusterInfo({
      environment: '/env',
      clients: [
        { ...joined, notebook: { path: 'ann/fit.ipynb' } },
        { ...joined, client: 3, notebook: { path: 'bob/fit.ipynb' } }
      ]
    });
    expect(textOf(shared)).toContain('used by ann/fit.ipynb, bob/fit.ipynb');
  });

  it('says why a cluster is not controlled from here', () => {
    const stop = (cluster: ClusterInfo) => {
      textOf(cluster);
      return host.querySelector<HTMLElement>('[aria-label=Stop]')?.title;
    };
    const own = { notebook: { path: 'work/own.ipynb' }, clients: [joined] };
    expect(stop(clusterInfo(own))).toBe(
      'Stop: first-look belongs to own.ipynb'
    );
    expect(stop(clusterInfo({ clients: [joined] }))).toBe(
      'Stop: first-look belongs to a script'
    );
    const shared = clusterInfo({ environment: '/opt/conda', state: 'ended' });
    expect(stop(shared)).toBe('Stop: first-look has ended');
    expect(stop(clusterInfo({ cluster: REFUSED_CLUSTER }))).toBeUndefined();
  });

  it('shows what is under way, and what was not done', () => {
    const shared = clusterInfo({ environment: '/opt/conda' });
    const clicked: string[] = [];
    const during = (...underWay: string[]) =>
      ({
        ...atRest,
        troubles: [
          { title: 'default was not scaled', sentence: '<b>Do this.' },
          { title: 'other was not stopped', sentence: 'Do that.' }
        ],
        isStarting: underWay.includes('start'),
        isUnderWay: (action: string) => underWay.includes(action),
        dismiss: ({ title }: { title: string }) => clicked.push(title),
        startNew: () => clicked.push('new'),
        scale: () => clicked.push('scale'),
        restart: () => clicked.push('restart'),
        stop: () => clicked.push('stop')
      }) as unknown as ClusterActions;
    const pressAll = () => {
      for (const button of host.querySelectorAll<HTMLElement>(
        '.sw-cluster-buttons button, .sw-cluster-trouble button'
      )) {
        button.click();
      }
      return clicked.splice(0);
    };
    const text = textOf(shared, during('restart'));
    expect(text).toContain('NewScaleRestarting…Stop');
    expect(
      [...host.querySelectorAll('[role=alert]')].map(each => each.textContent)
    ).toEqual([
      'default was not scaled. <b>Do this.',
      'other was not stopped. Do that.'
    ]);
    const [busy, ...others] = host.querySelectorAll('[aria-busy=true]');
    expect(busy?.getAttribute('aria-label')).toBe('Restart');
    expect(others).toEqual([]);
    const titles = ['default was not scaled', 'other was not stopped'];
    expect(pressAll()).toEqual(['new', 'stop', ...titles]);
    expect(textOf(shared, during('stop', 'start'))).toContain(
      'Starting…ScaleRestartStopping…'
    );
    expect(pressAll()).toEqual(titles);
  });

  it('says of an observation that it observes, and what', () => {
    const text = textOf(
      clusterInfo({ name: 'daily', kind: 'local', clients: [joined, job] })
    );
    expect(text).toContain('dailyobserving');
    expect(text).toContain('local schedulers · used by local.ipynb');
  });

  it('says of Dask’s cluster where it is, and has no button that cannot act', () => {
    const address = 'tcp://10.0.0.1:8786';
    const dask = clusterInfo({
      name: 'LocalCluster 5f1e',
      kind: 'dask',
      clients: [joined]
    });
    const onAttach = jest.fn();
    expect(textOf(dask, atRest, { address, onAttach })).toContain(
      'Dask cluster · used by local.ipynb'
    );
    expect(
      host.querySelector<HTMLElement>('.sw-cluster-kind')?.title
    ).toContain(address);
    expect(buttonTexts()).toEqual(['New', 'Attach', 'Let go']);
    host
      .querySelector<HTMLElement>('[aria-label="Attach to a Dask cluster"]')!
      .click();
    expect(onAttach).toHaveBeenCalledTimes(1);
  });

  it('says if its clock is another one', () => {
    const clock = 'The scheduler’s clock is 40.0 s behind JupyterLab’s: …';
    expect(textOf(clusterInfo({ kind: 'dask', clock }))).toContain(clock);
  });

  it('does not call a cluster ended that was let go', () => {
    const why = 'Not watched since 09:22:10: the cluster was let go.';
    const info = clusterInfo({ kind: 'dask', state: 'ended', why });
    expect(textOf(info)).toContain('ended');
    const text = textOf({ ...info, unwatched: true });
    expect(text).toContain('not watched');
    expect(text).toContain(why);
    expect(text).not.toContain('ended');
  });

  it('lets go of Dask’s cluster, and says why it cannot', () => {
    const letGo = jest.fn();
    const click = (cluster: ClusterInfo, isUnderWay = false) => {
      const actions = { ...atRest, letGo, isUnderWay: () => isUnderWay };
      textOf(cluster, actions as unknown as ClusterActions, {
        onAttach: () => undefined
      });
      const button = host.querySelector<HTMLElement>('[aria-label="Let go"]')!;
      button.click();
      return button.title;
    };
    const ofScript = clusterInfo({ name: 'survey', kind: 'dask' });
    const dask = { ...ofScript, notebook: { path: 'work/own.ipynb' } };
    expect(click({ ...dask, state: 'ended' })).toContain('not watched any');
    expect(click(ofScript)).toContain('a script watches survey');
    expect(click(dask, true)).toContain('it is being let go');
    expect(host.textContent).toContain('Letting go…');
    expect(letGo).not.toHaveBeenCalled();
    // Nobody need wait for a scheduler that does not answer.
    for (const state of ['running', 'reconnecting'] as const) {
      expect(click({ ...dask, state })).toBe('Let go');
      expect(letGo.mock.lastCall).toEqual([
        expect.objectContaining({ state }),
        expect.objectContaining({ owner: 'work/own.ipynb' })
      ]);
    }
  });

  it('says that the notebook one works in does not use it', () => {
    const said = (notOf?: string) => textOf(clusterInfo(), atRest, { notOf });
    expect(said('work/<b>attach.ipynb')).toContain(
      '<b>attach.ipynb does not use this cluster.'
    );
    expect(said()).not.toContain('does not use');
    // Nor is it nobody's: it is said whose it is.
    const own = clusterInfo({ notebook: { path: 'south/attach.ipynb' } });
    expect(textOf(own, atRest, { notOf: 'north/attach.ipynb' })).toContain(
      'north/attach.ipynb does not use this cluster, which is that of south/attach.ipynb.'
    );
  });

  it('says what goes on beside it, and shows that by a click', () => {
    const onChoose = jest.fn();
    const named = { name: '<b>two</b>', cluster: 'two' };
    const local = clusterInfo({ ...named, kind: 'local' });
    const beside = (info: ClusterInfo | null) =>
      textOf(clusterInfo(), atRest, { beside: info, onChoose });
    expect(beside(local)).toContain(
      '<b>two</b> observes computations without a cluster.Show'
    );
    const button = host.querySelector<HTMLElement>(
      '[aria-label="Show <b>two</b>"]'
    )!;
    onChoose.mockImplementation(chosen =>
      textOf(chosen, atRest, { beside: null, onChoose })
    );
    button.focus();
    button.click();
    expect(onChoose).toHaveBeenCalledWith(local);
    expect(button.isConnected).toBe(false);
    expect(document.activeElement?.getAttribute('aria-label')).toBe(
      'Choose cluster'
    );
    expect(beside(clusterInfo(named))).toContain(
      '<b>two</b> is running beside it.'
    );
    expect(beside(null)).not.toContain('two');
  });

  it('offers to attach beside the other buttons, where there are notebooks', () => {
    const onAttach = jest.fn();
    textOf(null, atRest, { onAttach });
    expect(buttonTexts()).toEqual(['Start a cluster', 'Attach to Dask…']);
    textOf(clusterInfo(), atRest, { onAttach });
    expect(buttonTexts()).toEqual(['New', 'Scale', 'Restart', 'Stop']);
    expect(
      host.querySelector<HTMLElement>('[aria-label="Attach to a Dask cluster"]')
        ?.title
    ).toBe('Attach to a Dask cluster');
    textOf(null);
    expect(buttonTexts()).toEqual(['Start a cluster']);
  });
});
