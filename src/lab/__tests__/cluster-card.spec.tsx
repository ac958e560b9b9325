import { nullTranslator } from '@jupyterlab/translation';
import * as React from 'react';
import { flushSync } from 'react-dom';
import { createRoot, type Root } from 'react-dom/client';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
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
  trouble: null,
  isStarting: false,
  isUnderWay: () => false
} as unknown as ClusterActions;

function textOf(cluster: ClusterInfo, actions = atRest): string {
  flushSync(() =>
    root.render(
      <ClusterCard
        cluster={cluster}
        users={clusterUsers(cluster, user => user.notebook?.path)}
        actions={actions}
        clusters={[cluster]}
        status={{ kind: 'open' }}
        trans={nullTranslator.load('spanwise')}
        onChoose={() => undefined}
      />
    )
  );
  return host.textContent ?? '';
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
  it('counts the workers that are there; of an ended cluster those that were', () => {
    const info = clusterInfo({
      workers: [here, { ...there, state: 'gone', process: 0 }],
      threads: 2
    });
    expect(textOf(info)).toContain('1 worker2 threads');
    const ended = info.workers.map(one => ({ ...one, state: 'gone' as const }));
    expect(textOf({ ...info, state: 'ended', workers: ended })).toContain(
      '2 workers4 threads'
    );
  });

  it('adds up the memory of the workers that are there', () => {
    const GiB = 2 ** 30;
    const one = { ...here, process: GiB, memoryLimit: 4 * GiB };
    const text = textOf(
      clusterInfo({ workers: [one, { ...one, worker: 1, state: 'gone' }] })
    );
    expect(text.replace(/\s/g, ' ')).toContain('1.00 of 4.00 GiB');
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
        trouble: { title: 'default was not scaled', sentence: '<b>Do this.' },
        isStarting: underWay.includes('start'),
        isUnderWay: (action: string) => underWay.includes(action),
        dismissTrouble: () => clicked.push('dismiss'),
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
    expect(host.querySelector('[role=alert]')?.textContent).toBe(
      'default was not scaled. <b>Do this.'
    );
    const [busy, ...others] = host.querySelectorAll('[aria-busy=true]');
    expect(busy?.getAttribute('aria-label')).toBe('Restart');
    expect(others).toEqual([]);
    expect(pressAll()).toEqual(['new', 'stop', 'dismiss']);
    expect(textOf(shared, during('stop', 'start'))).toContain(
      'Starting…ScaleRestartStopping…'
    );
    expect(pressAll()).toEqual(['dismiss']);
  });

  it('says of an observation that it observes, and what', () => {
    const text = textOf(
      clusterInfo({ name: 'daily', kind: 'local', clients: [joined, job] })
    );
    expect(text).toContain('dailyobserving');
    expect(text).toContain('local schedulers · used by local.ipynb');
  });
});
