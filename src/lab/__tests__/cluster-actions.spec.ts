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
  const asked: string[] = [];
  const left = [...answers];
  const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    const body = await request.text();
    asked.push(
      `${request.method} ${new URL(request.url).pathname} ${body}`.trim()
    );
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
  const actions = new ClusterActions({
    controls,
    kernels: () => [{ name: 'python3', title: 'Python 3' }],
    trans,
    started: id => started.push(id)
  });
  return { asked, controls, actions, started };
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

  it('restart at once if nobody is connected', async () => {
    const { asked, actions } = setUp();
    await actions.restart(cluster);
    expect(asked).toEqual([
      'POST /user/a/spanwise/clusters/ab12 {"do":"restart","force":false}'
    ]);
  });

  it.each(['Restart', 'Cancel'])('ask if others are: %s', async answer => {
    const { asked, actions } = setUp(inUse as [number, unknown]);
    const done = actions.restart(cluster);
    const { node, press } = await dialog('Restart first-look?');
    expect(node.textContent).toContain('2 notebooks are connected.');
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
        notebooks: ['work/a.ipynb', 'b.ipynb'],
        programs: ['job']
      });
      const { node, press } = await dialog('Stop first-look?');
      expect(node.textContent).toContain(
        'are lost. Connected: a.ipynb, b.ipynb. Other programs: job.'
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
    const told = await dialog('first-look was not scaled');
    expect(told.node.textContent).toContain('workers, 0 to 1024.');
    told.press('Close');
    await done;
    expect(asked).toEqual([]);
  });

  it('say in a dialog, whole, what was not done', async () => {
    const sentence = `${'It has ended. '.repeat(20)}Do this.`;
    const { actions } = setUp(
      [410, { message: sentence }],
      [200, { message: sentence }]
    );
    for (let each = 0; each < 2; each += 1) {
      const done = actions.restart(cluster);
      const { node, press } = await dialog('first-look was not restarted');
      expect(node.textContent).toContain(sentence);
      press('Close');
      await done;
    }
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
      'POST /user/a/spanwise/clusters {"kernel":"python3"}'
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
    const { node, press } = await dialog('No cluster was started for Python 3');
    expect(node.textContent).toContain('No Node.');
    expect(shown()).toBe('');
    press('Close');
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
