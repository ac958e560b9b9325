/** What the panel asks of the observer, over the page's own feed: each question and each change is a fold of the log. */
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { readPalette } from '../../../charts/theme';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { FakeSocket } from '../../../feed/__tests__/fake-socket';
import { ClusterRef } from '../../../feed/cluster-ref';
import { Feed } from '../../../feed/feed';
import { SelectionModel } from '../../../feed/selection';
import { english } from '../../../testing/translators';
import { taskStreamIcon } from '../../icons';
import type { ITheme, PanelFace } from '../../panel-context';
import { TaskStreamPanel } from '../panel';

class OpenPanel extends TaskStreamPanel {
  /** As the user does it in the menu. */
  pick(label: string): void {
    this.moreItems()
      .find(item => item.label === label)!
      .run();
  }
}

const face: PanelFace = {
  name: 'task-stream',
  title: trans => trans.__('Task Stream'),
  question: trans => trans.__('What ran where, and when?'),
  icon: taskStreamIcon
};

describe('the Task Stream asks', () => {
  let panel: OpenPanel;
  let feed: Feed;
  let selection: SelectionModel;
  let socket: FakeSocket;
  const asked = () => {
    MessageLoop.flush();
    return socket.taken().filter(({ type }) => type !== 'ack');
  };

  beforeEach(() => {
    socket = new FakeSocket();
    feed = new Feed({
      trans: english,
      open: () => socket,
      random: () => 0.5
    });
    selection = new SelectionModel();
    const theme = { palette: readPalette(document.body) } as ITheme;
    Object.assign(theme, { changed: new Signal(theme) });
    const cluster = new ClusterRef({
      feed,
      target: {},
      notebookOf: info => info.notebook?.path
    });
    panel = new OpenPanel(face, {
      context: {
        feed,
        cluster,
        selection,
        theme,
        translator: nullTranslator,
        of: () => {
          throw new Error('There is one cluster here.');
        },
        release: () => undefined
      },
      state: undefined
    });
    Widget.attach(panel, document.body);
    feed.reconnect();
    socket.open();
    socket.answer('clusters', { clusters: [{ ...clusterInfo() }] });
    expect(asked()).toMatchObject([
      { type: 'watch', fields: { view: 'task-stream', params: {} } }
    ]);
  });

  afterEach(() => {
    panel.dispose();
    feed.dispose();
  });

  it('nothing when a run is selected', () => {
    selection.select({ kind: 'run', run: 7 });
    selection.select({ kind: 'run', run: 8 });
    selection.select(null);
    expect(asked()).toEqual([]);
  });

  it('nothing when boxes are coloured by kind', () => {
    panel.pick('Colour by kind');
    expect(panel.model.colourBy).toBe('kind');
    panel.pick('Colour by kind');
    expect(asked()).toEqual([]);
  });

  it('once when the filter changes, and once when the time does', () => {
    selection.toggleFunction('inc');
    expect(asked().map(({ type }) => type)).toEqual(['unwatch', 'watch']);
    selection.setTime({ last: 5 });
    expect(asked()).toMatchObject([
      { type: 'change', fields: { time: { last: 5 } } }
    ]);
  });
});
