/** Tasks that wait, from the observer's account of them to the strip above every panel and the state of an empty one. */
import { Clipboard } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import type { ReactElement } from 'react';
import { flushSync } from 'react-dom';
import { renderToStaticMarkup } from 'react-dom/server';
import { ClusterRef } from '../../feed/cluster-ref';
import { clusterInfo, FakeFeed } from '../../feed/__tests__/fake-feed';
import { membersOf, WaitReason } from '../../records/enumerations';
import { rowsToBlock } from '../../testing/rows-to-block';
import { drawBlocks } from '../../testing/run-from-text';
import type { ClusterInfo, WaitingFor } from '../../wire/panel-link';
import { taskStreamIcon } from '../icons';
import { clusterState } from '../panel-states';
import { tasksNowText, waitingLines, waitsInVain } from '../waiting';
import { ShownStrips } from './shown-strips';

const trans = nullTranslator.load('spanwise');
const NOTICE = '12 tasks, <b>gpu</b> among them, wait for a worker.';

describe('tasks that wait', () => {
  let strips: ShownStrips;

  const wait = (
    reason: number,
    tasks: number,
    told = '',
    need = '',
    command = ''
  ) =>
    strips.take(
      rowsToBlock(1, 'waiting', [{ t: 5, reason, tasks, told, need, command }])
    );

  beforeEach(() => {
    strips = new ShownStrips();
    strips.take(...drawBlocks('0/0 aa\n1/0 b'));
  });
  afterEach(() => strips.remove());

  it('are told of above the figures from the notice on until they run, with what to do, as text', () => {
    wait(WaitReason.NoResource, 12);
    expect(strips.text()).toBe('');
    wait(WaitReason.NoResource, 12, NOTICE);
    expect(strips.text()).toContain(
      '12 tasks wait: no worker has the resources that they need (resources=…).'
    );
    const button = strips.host.querySelector('button')!;
    expect(button.textContent).toBe('What to do');
    flushSync(() => button.click());
    expect(strips.host.querySelector('.sw-strip-details')?.textContent).toBe(
      NOTICE
    );
    expect(strips.host.querySelector('b')).toBeNull();

    // Below it the same stands in place of the figures.
    expect(strips.text({ tellsWhatWaits: true })).toBe('');

    // Who waits for something else beside it, and has the same notice, is in the same strip.
    wait(WaitReason.NoNamed, 1);
    expect(strips.text()).toContain(
      '1 task waits: the workers that may run it'
    );
    expect(strips.host.querySelectorAll('.sw-strip')).toHaveLength(1);

    // Others run on, and nothing is said of them.
    wait(WaitReason.Thread, 99);
    expect(strips.text()).not.toContain('99');
    wait(WaitReason.NoResource, 0);
    wait(WaitReason.NoNamed, 0);
    expect(strips.text()).toBe('');
  });

  it('for resources name them as text, and the command that helps can be copied as it is', () => {
    const copy = jest.spyOn(Clipboard, 'copyToSystem').mockReturnValue();
    const need = 'GPU=1, <b>\u202e=2; TPU=1; …';
    const command = "spanwise worker unix:/s --resources 'GPU=1 <b>\u202e=2'";
    wait(WaitReason.NoResource, 2, NOTICE, need, command);
    expect(strips.text()).toContain(
      '2 tasks wait: no worker has the resources that they need (GPU=1, <b>\\u202e=2; TPU=1; …).'
    );
    wait(WaitReason.Resource, 1, NOTICE, 'A=0.5');
    expect(strips.text()).toContain(
      '1 task waits for resources that are held by tasks which were cancelled or released (A=0.5).'
    );
    const buttons = () => [...strips.host.querySelectorAll('button')];
    buttons()
      .filter(({ textContent }) => textContent === 'What to do')
      .forEach(each => flushSync(() => each.click()));
    const [first, ...others] = buttons().filter(
      ({ textContent }) => textContent === 'Copy command'
    );
    expect(others).toEqual([]);
    flushSync(() => first!.click());
    expect(copy.mock.calls).toEqual([[command]]);
    expect(strips.host.querySelector('b')).toBeNull();
    copy.mockRestore();
  });

  it('are told of with commands as code, until Escape', () => {
    const command = "spanwise worker unix:/s --resources 'GPU=1 `'";
    const told = `It runs when such a worker joins (in a terminal, \`${command}\` starts one).`;
    wait(WaitReason.NoResource, 1, told, 'GPU=1 `', command);
    strips.text();
    const find = (selector: string) =>
      strips.host.querySelector<HTMLElement>(selector);
    const opener = find('.sw-strip .sw-link')!;
    const press = (from: HTMLElement) => {
      const escape = { key: 'Escape', bubbles: true };
      flushSync(() => from.dispatchEvent(new KeyboardEvent('keydown', escape)));
    };
    for (const focused of [
      '.sw-strip .sw-link',
      '.sw-strip-details .sw-link'
    ]) {
      flushSync(() => opener.click());
      expect(find('.sw-strip-details p')!.textContent).toBe(
        `It runs when such a worker joins (in a terminal, ${command} starts one).`
      );
      expect(find('.sw-strip-details code')!.textContent).toBe(command);
      find(focused)!.focus();
      press(find(focused)!);
      expect(find('.sw-strip-details')).toBeNull();
      expect(document.activeElement).toBe(opener);
    }
    // The same where it stands in place of the figures.
    const feed = new FakeFeed();
    const ref = new ClusterRef({
      feed,
      target: {},
      notebookOf: () => undefined
    });
    feed.setClusters({ ...strips.cluster.info(), runs: 0, running: 0 });
    const { sentence } = clusterState(ref, taskStreamIcon, trans)!;
    expect(renderToStaticMarkup(sentence as ReactElement)).toContain(
      '(in a terminal, <code>spanwise worker unix:/s'
    );
  });

  it('are not told of where nothing is known of them', () => {
    wait(WaitReason.NoWorker, 3, NOTICE);
    expect(strips.cluster.info().waiting).toEqual([
      { reason: 'no-worker', tasks: 3, told: NOTICE }
    ]);
    strips.cluster.linkLost();
    expect(strips.cluster.info()).not.toHaveProperty('waiting');
    expect(strips.text()).not.toContain('3 tasks');
    strips.cluster.end('closed', 9);
    expect(strips.cluster.info()).not.toHaveProperty('waiting');
    expect(strips.text()).not.toContain('3 tasks');
  });

  it('of a source that is newer wait for what this observer does not know', () => {
    wait(200, 3, NOTICE);
    expect(strips.cluster.info()).not.toHaveProperty('waiting');
  });
});

function of(running: number, ...waiting: readonly WaitingFor[]): ClusterInfo {
  return clusterInfo({ running, runs: 0, waiting });
}

describe('what is said of them', () => {
  it('stands behind what runs, and only if some wait', () => {
    expect(tasksNowText(of(8), trans)).toBe('8 running');
    expect(tasksNowText(clusterInfo(), trans)).toBe('0 running');
    const some = of(
      0,
      { reason: 'thread', tasks: 1200 },
      { reason: 'input', tasks: 34 }
    );
    expect(tasksNowText(some, trans)).toBe('0 running, 1,234 waiting');
    expect(
      tasksNowText({ ...some, running: 3, runningCancelled: 1 }, trans)
    ).toBe('3 running, 1 of them cancelled, 1,234 waiting');
  });

  it('is a sentence of its own for each reason, for one task as for several', () => {
    const words = membersOf(WaitReason).map(([word]) => word);
    const lines = [1, 2].flatMap(tasks =>
      [undefined, NOTICE].flatMap(told =>
        words.flatMap(reason =>
          waitingLines(
            of(0, { reason, tasks, ...(told !== undefined && { told }) }),
            trans
          )
        )
      )
    );
    // (only of two reasons more is said once users were told)
    expect(new Set(lines).size).toBe(2 * (words.length + 2));
    for (const line of lines) {
      expect(line).toMatch(/^(1 task waits|2 tasks wait)\b.+\.$/);
      expect(line).not.toContain('<');
    }
  });

  it('takes the place of an empty chart if nothing has run and they wait in vain', () => {
    const stuck = of(
      0,
      { reason: 'input', tasks: 2 },
      { reason: 'no-worker', tasks: 10, told: NOTICE }
    );
    const state = (info: ClusterInfo) => {
      feed.setClusters(info);
      return clusterState(ref, taskStreamIcon, trans);
    };
    const feed = new FakeFeed();
    const ref = new ClusterRef({
      feed,
      target: {},
      notebookOf: () => undefined
    });
    expect(state(stuck)).toMatchObject({
      title: '12 tasks wait, none has run yet.',
      sentence: `${NOTICE} 2 tasks wait for their inputs.`,
      tellsWhatWaits: true
    });
    const helped = {
      reason: 'no-worker' as const,
      tasks: 10,
      told: NOTICE,
      command: 'client.scale(1)'
    };
    const copy = jest.spyOn(Clipboard, 'copyToSystem').mockReturnValue();
    const [button] = state(of(0, helped))!.buttons!;
    button!.onClick();
    expect([button!.label, button!.hint]).toEqual([
      'Copy command',
      'client.scale(1)'
    ]);
    expect(copy.mock.calls).toEqual([['client.scale(1)']]);
    copy.mockRestore();
    // A cluster that begins without workers is not being started.
    expect(state({ ...stuck, state: 'starting' })).toEqual(state(stuck));
    const soon = of(0, { reason: 'no-worker', tasks: 3 });
    expect(state({ ...soon, state: 'starting' })).toMatchObject({
      title: 'Starting first-look…'
    });
    // Something has run, runs, or is about to; or it is not known whether something has.
    expect(state({ ...stuck, runs: 1 })).toBeNull();
    expect(state({ ...stuck, running: 1 })).toBeNull();
    expect(state(of(0, { reason: 'thread', tasks: 9 }))).toBeNull();
    const before = clusterInfo({ waiting: stuck.waiting! });
    expect(state(before)).toBeNull();
    expect(waitsInVain(stuck)).toBe(true);
  });
});
