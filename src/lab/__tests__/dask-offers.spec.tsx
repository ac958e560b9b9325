import { nullTranslator } from '@jupyterlab/translation';
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../charts/shown-element';
import { offersOf } from '../cluster-offers';
import { DaskOffers } from '../dask-offers';
import { type AskKernel, KernelClusters } from '../kernel-clusters';

const trans = nullTranslator.load('spanwise');
const HOSTILE = 'tcp://<img src=x onerror=alert(1)>:1';

type Content = Awaited<NonNullable<ReturnType<AskKernel>>>;

const answer = (told: unknown) =>
  ({
    status: 'ok',
    user_expressions: { answer: { data: { 'application/json': told } } }
  }) as unknown as Content;

/** The clusters of a kernel that knows these, and fails to attach to them. */
async function clustersAt(...addresses: readonly string[]) {
  const clusters = new KernelClusters({
    trans,
    ask: (_, expression) =>
      Promise.resolve(
        answer(
          expression.includes('attach_here')
            ? {
                problem: `Nobody listens at ${addresses.find(each => expression.includes(each))}.`
              }
            : {
                clusters: addresses.map(address => ({
                  address,
                  workers: 1,
                  threads: 8
                }))
              }
        )
      )
  });
  clusters.look('a.ipynb');
  await act(() => Promise.resolve());
  return clusters;
}

async function shown(
  clusters: KernelClusters,
  notebook: string | undefined,
  onShow = jest.fn()
) {
  const node = document.createElement('div');
  document.body.replaceChildren(node);
  await act(async () =>
    createRoot(node).render(
      <DaskOffers
        notebook={notebook}
        clusters={clusters}
        trans={trans}
        onShow={onShow}
      />
    )
  );
  return node;
}

it('says what cluster there is, and shows it by a click', async () => {
  const onShow = jest.fn();
  const address = 'tcp://10.0.0.1:8786';
  const clusters = await clustersAt(address);
  const node = await shown(clusters, 'a.ipynb', onShow);
  // The card above it may be of another notebook's cluster.
  expect(node.textContent).toContain('Dask cluster of a.ipynb');
  expect(node.textContent).toContain('1 worker, 8 threads');
  expect(node.textContent).toContain(address);
  node.querySelector('button')!.click();
  expect(onShow).toHaveBeenCalledWith('a.ipynb', address);
  clusters.dispose();
});

it('shows nothing for other notebooks, and without one', async () => {
  const clusters = await clustersAt('tcp://10.0.0.1:8786');
  expect((await shown(clusters, 'b.ipynb')).textContent).toBe('');
  expect((await shown(clusters, undefined)).textContent).toBe('');
  clusters.dispose();
});

it('shows what a kernel says as text, and why a cluster is not shown', async () => {
  const clusters = await clustersAt(HOSTILE);
  await clusters.attach('a.ipynb', HOSTILE);
  const node = await shown(clusters, 'a.ipynb');
  expect(node.querySelector('img')).toBeNull();
  expect(node.querySelector('[role=alert]')!.textContent).toContain(
    `Nobody listens at ${HOSTILE}.`
  );
  clusters.dispose();
});

it('a panel speaks of the cluster that was asked for, while it is attached to and when that fails', async () => {
  const [one, other] = ['tcp://10.0.0.1:8786', 'tcp://10.0.0.2:8786'] as const;
  const clusters = await clustersAt(one, other);
  const { of } = offersOf({ clusters, show: jest.fn() });
  const target = { notebook: 'a.ipynb' };
  expect(of(target)?.address).toBe(one);
  const attaching = clusters.attach('a.ipynb', other);
  expect(of(target)).toMatchObject({ address: other, isUnderWay: true });
  await attaching;
  expect(of(target)).toMatchObject({
    address: other,
    isUnderWay: false,
    problem: `Nobody listens at ${other}.`
  });
  expect(of({ notebook: 'b.ipynb' })).toBeNull();
  expect(of({})).toBeNull();
  clusters.dispose();
});
