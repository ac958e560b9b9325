import { Dialog, Notification } from '@jupyterlab/apputils';
import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import { waitFor } from '../../testing/wait-for';
import { ClusterActions } from '../cluster-actions';
import { ClusterControls, NotDone } from '../cluster-controls';

const trans = nullTranslator.load('spanwise');
const cluster = clusterInfo({ cluster: 'ab12', environment: '/env' });
const nobody = { owner: undefined, notebooks: [], programs: [] };

/** What JupyterLab shows of the newest notification: it cuts it, and lists it only if it closes at once. */
function shown(): string {
  const [newest] = Notification.manager.notifications;
  return newest === undefined || newest.options.autoClose === 0
    ? ''
    : `${newest.type}: ${newest.message.slice(0, 140)}`;
}

afterEach(() => Notification.dismiss());

/** A server that answers what it is given, one after the other; then nothing. */
function setUp(
  ...answers: readonly (readonly [status: number, body: unknown])[]
) {
  let gate: Promise<void> = Promise.resolve();
  const asked: string[] = [];
  const left = [...answers];
  const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    const body = await request.text();
    asked.push(
      `${request.method} ${new URL(request.url).pathname} ${body}`.trim()
    );
    await gate;
    const [status, content] = left.shift() ?? [200, {}];
    return new Response(
      typeof content === 'string' ? content : JSON.stringify(content),
      { status }
    );
  };
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://localhost/user/a/',
    fetch
  });
  const controls = new ClusterControls(settings, trans);
  const started: string[] = [];
  const letGo = jest.fn<Promise<string>, [string, string]>();
  const actions = new ClusterActions({
    controls,
    kernels: () => [{ name: 'python3', title: 'Python 3' }],
    notebook: () => 'work/a.ipynb',
    trans,
    letGo,
    started: id => started.push(id)
  });
  /** From now on it does not answer until the function that is returned is called. */
  const hold = () => {
    let release = () => {};
    gate = new Promise(resolve => (release = resolve));
    return release;
  };
  return { asked, controls, actions, started, hold, letGo };
}

/** The dialog of this title, when it is drawn, and what presses its buttons. */
async function dialog(title: string): Promise<{
  readonly node: HTMLElement;
  press(label: string): void;
}> {
  const node = await waitFor(title, () => {
    const current = Dialog.tracker.currentWidget;
    return current?.node.textContent?.includes(title) === true && current.node;
  });
  return {
    node,
    press: label =>
      [...node.querySelectorAll('button')]
        .find(button => button.textContent === label)!
        .click()
  };
}

describe('the buttons of the cluster card', () => {
  const inUse = [200, { others: 2, message: '2 notebooks are connected.' }];

  it('let go at once of a Dask cluster, and say why that was not done', async () => {
    const { actions, letGo } = setUp();
    const users = { ...nobody, owner: 'work/a.ipynb' };
    letGo.mockResolvedValueOnce('The kernel has ended.').mockResolvedValue('');
    const done = actions.letGo(cluster, users);
    expect(actions.isUnderWay('let go', cluster)).toBe(true);
    await done;
    expect(letGo).toHaveBeenLastCalledWith('work/a.ipynb', 'ab12');
    expect(actions.troubles).toEqual([
      {
        title: 'first-look is still watched',
        sentence: 'The kernel has ended.'
      }
    ]);
    await actions.letGo(cluster, users);
    expect(actions.troubles).toEqual([]);
    expect(actions.isUnderWay('let go', cluster)).toBe(false);
  });

  it('restart at once if nobody is connected', async () => {
    const { asked, actions } = setUp();
    await actions.restart(cluster, nobody);
    expect(asked).toEqual([
      'POST /user/a/spanwise/clusters/ab12 {"do":"restart","force":false}'
    ]);
  });

  it.each(['Restart', 'Cancel'])('ask if others are: %s', async answer => {
    const { asked, actions } = setUp(inUse as [number, unknown]);
    const done = actions.restart(cluster, {
      ...nobody,
      notebooks: ['work/a.ipynb', 'b.ipynb']
    });
    const { node, press } = await dialog('Restart first-look?');
    expect(node.textContent).toContain(
      '2 notebooks are connected. Connected: a.ipynb, b.ipynb.'
    );
    press(answer);
    await done;
    expect(asked.slice(1)).toEqual(
      answer === 'Restart'
        ? ['POST /user/a/spanwise/clusters/ab12 {"do":"restart","force":true}']
        : []
    );
  });

  it('stop only when the user says so, who is told for whom that is', async () => {
    const { asked, actions } = setUp();
    for (const answer of ['Cancel', 'Stop']) {
      const done = actions.stop(cluster, {
        ...nobody,
        notebooks: ['work/a.ipynb', 'old/a.ipynb'],
        programs: ['job']
      });
      const { node, press } = await dialog('Stop first-look?');
      expect(node.textContent).toContain(
        'are lost. Connected: work/a.ipynb, old/a.ipynb. Other programs: job.'
      );
      press(answer);
      await done;
    }
    expect(asked).toEqual(['DELETE /user/a/spanwise/clusters/ab12']);
  });

  it('say that results are lost if nobody is connected', async () => {
    const { actions } = setUp();
    const done = actions.stop(cluster, nobody);
    const { node, press } = await dialog('Stop first-look?');
    expect(node.textContent).toContain('are lost. Nobody is connected.');
    press('Cancel');
    await done;
  });

  it.each(['', '1.5', '-1', '1025'])('scale to no %s workers', async text => {
    const { asked, actions } = setUp();
    const done = actions.scale(cluster);
    const { node, press } = await dialog('Scale first-look');
    node.querySelector('input')!.value = text;
    press('Scale');
    await done;
    expect(actions.troubles).toEqual([
      {
        title: 'first-look was not scaled',
        sentence: 'Give a whole number of workers, 0 to 1024.'
      }
    ]);
    expect(asked).toEqual([]);
  });

  it('say whole, until it is dismissed or the same button is clicked, what was not done', async () => {
    const sentence = `${'It has ended. '.repeat(20)}Do this.`;
    const { actions } = setUp(
      [410, { message: sentence }],
      [200, { message: sentence }],
      [200, {}],
      [410, { message: sentence }],
      [200, {}]
    );
    const trouble = { title: 'first-look was not restarted', sentence };
    await actions.restart(cluster, nobody);
    expect(actions.troubles).toEqual([trouble]);
    actions.dismiss(actions.troubles[0]!);
    expect(actions.troubles).toEqual([]);
    await actions.restart(cluster, nobody);
    expect(actions.troubles).toEqual([trouble]);
    // What goes well with another cluster, or does not, says nothing about this one.
    const other = { ...cluster, cluster: 'ef56', name: 'other' };
    await actions.restart(other, nobody);
    expect(actions.troubles).toEqual([trouble]);
    await actions.restart(other, nobody);
    expect(actions.troubles).toEqual([
      trouble,
      { title: 'other was not restarted', sentence }
    ]);
    await actions.restart(cluster, nobody);
    expect(actions.troubles).toMatchObject([
      { title: 'other was not restarted' }
    ]);
  });

  it('do nothing twice, and say what is under way', async () => {
    const { asked, actions, started, hold } = setUp();
    const isUnderWay: boolean[] = [];
    actions.changed.connect(() =>
      isUnderWay.push(actions.isUnderWay('restart', cluster))
    );
    const release = hold();
    const done = actions.restart(cluster, nobody);
    await actions.restart(cluster, nobody);
    expect(actions.isUnderWay('restart', { ...cluster, cluster: 'x' })).toBe(
      false
    );
    for (let click = 0; click < 2; click += 1) {
      actions.startNew(document.createElement('button'));
    }
    expect(actions.isStarting).toBe(true);
    // It is the way out of a restart that hangs.
    void actions.stop(cluster, nobody);
    void actions.stop(cluster, nobody);
    const { press } = await dialog('Stop first-look?');
    expect(actions.isUnderWay('stop', cluster)).toBe(false);
    press('Cancel');
    release();
    await done;
    await waitFor('the start', () => started.length > 0);
    expect(isUnderWay).toContain(true);
    expect(isUnderWay.at(-1)).toBe(false);
    expect(actions.isStarting).toBe(false);
    expect(asked).toHaveLength(2);
    await new Promise(resolve => requestAnimationFrame(resolve));
    expect(Dialog.tracker.currentWidget).toBeNull();
  });

  it('scale to the number that is asked for', async () => {
    const { asked, actions } = setUp();
    const done = actions.scale(cluster);
    const { node, press } = await dialog('Scale first-look');
    const input = node.querySelector('input')!;
    expect(input.value).toBe('2');
    input.value = '5';
    press('Scale');
    await done;
    expect(asked).toEqual([
      'POST /user/a/spanwise/clusters/ab12 {"do":"scale","workers":5}'
    ]);
  });

  it('start the default cluster of the only kernel that there is', async () => {
    const { asked, actions, started } = setUp([
      200,
      { cluster: 'cd34', name: 'default', isNew: true }
    ]);
    actions.startNew(document.createElement('button'));
    expect(shown()).toBe(
      'in-progress: Starting the default cluster for Python 3…'
    );
    await waitFor('the start', () => started.length > 0);
    expect(started).toEqual(['cd34']);
    expect(asked).toEqual([
      'POST /user/a/spanwise/clusters {"kernel":"python3","notebook":"work/a.ipynb"}'
    ]);
    expect(shown()).toBe(
      'success: default runs. “client = Client()” joins it.'
    );
  });

  it('say of one that runs already how to get another', async () => {
    const { actions, started } = setUp([
      200,
      { cluster: 'cd34', name: 'default (a-long-name-of-trees)', isNew: false }
    ]);
    actions.startNew(document.createElement('button'));
    await waitFor('the answer', () => started.length > 0);
    expect(shown()).toMatch(/^success: .* runs already.* starts another\.$/);
  });

  it('say why none was started', async () => {
    const { actions, started } = setUp([503, { message: 'No Node.' }]);
    actions.startNew(document.createElement('button'));
    await waitFor('the trouble', () => actions.troubles.length > 0);
    expect(actions.troubles).toEqual([
      { title: 'No cluster was started for Python 3', sentence: 'No Node.' }
    ]);
    // The sidebar may be hidden: it stays in sight, and says where the reason stands.
    expect(shown()).toBe(
      'error: No cluster was started for Python 3: see Spanwise’s sidebar.'
    );
    expect(Notification.manager.notifications[0]?.options.autoClose).toBe(
      false
    );
    expect(started).toEqual([]);
  });
});

describe('the controls of clusters', () => {
  it.each<[number, unknown, string]>([
    [503, { message: 'No Node.' }, 'No Node.'],
    [502, '<html>', 'The Jupyter server refused it: 502'],
    [403, {}, 'The Jupyter server refused it: 403']
  ])('say why not: %s', async (status, body, sentence) => {
    const { controls } = setUp([status, body]);
    await expect(controls.stop('ab12')).rejects.toThrow(sentence);
  });

  it('say so if the connection breaks within the answer', async () => {
    const settings = ServerConnection.makeSettings({
      fetch: async () =>
        new Response(
          new ReadableStream({
            pull: stream => stream.error(new TypeError('it broke'))
          })
        )
    });
    const broken = new ClusterControls(settings, trans).stop('ab12');
    await expect(broken).rejects.toThrow(NotDone);
    await expect(broken).rejects.toThrow('did not answer: it broke');
  });
});
