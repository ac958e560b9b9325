/** The panel over answers that the spec gives. */
import { MessageLoop } from '@lumino/messaging';
import { Menu, Widget } from '@lumino/widgets';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { waitFor } from '../../../testing/wait-for';
import { comparePanel } from '..';
import { METRICS_PARAMS } from '../model';

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

/** What the page gives to the browser to save. */
const saved: Blob[] = [];
Object.assign(URL, {
  createObjectURL: (blob: Blob) => {
    saved.push(blob);
    return '#';
  },
  revokeObjectURL: () => undefined
});

function textOf(blob: Blob): Promise<string> {
  return new Promise(resolve => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.readAsText(blob);
  });
}

it('exports the figures of both runs', async () => {
  const { feed, contexts } = labContext();
  feed.setClusters(
    clusterInfo({ cluster: 'a', name: 'first-look', startedAt: 2000 }),
    clusterInfo({ cluster: 'b', name: 'survey', kind: 'dask' })
  );
  const panel = comparePanel.create({
    context: contexts.get({ name: 'first-look' }),
    state: undefined
  });
  Widget.attach(panel, document.body);
  const answer = (cluster: string, drawn: string) =>
    feed.running
      .find(
        ({ spec }) => spec.cluster === cluster && spec.view === 'fine-metrics'
      )!
      .answer(ask(drawRuns(drawn), 'fine-metrics', { params: METRICS_PARAMS }));
  answer('a', '0/0 aaa');
  answer('b', '0/0 aaaaa');
  const button = await waitFor('the button', () => {
    MessageLoop.flush();
    return (
      panel.node.querySelector<HTMLElement>('.sw-tool-export') ?? undefined
    );
  });
  const opened = jest.spyOn(Menu.prototype, 'open');
  button.click();
  const menu = opened.mock.contexts[0] as Menu;
  const item = menu.items.find(
    ({ label }) => label === 'Export figures as JSON'
  )!;
  await menu.commands.execute(item.command);
  menu.close();
  expect(JSON.parse(await textOf(saved[0]!))).toMatchObject([
    { name: 'first-look', kind: 'embedded', metrics: { wallSeconds: 3 } },
    { name: 'survey', kind: 'dask', metrics: { wallSeconds: 5 } }
  ]);
  panel.dispose();
});
