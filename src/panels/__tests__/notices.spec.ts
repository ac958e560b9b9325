import { Dialog, Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { waitFor } from '../../testing/wait-for';
import { askNumber, notices, openDialog } from '../notices';

const TURNED = 'load\u202egnp.exe';
const SHOWN = 'load\\u202egnp.exe';
const trans = nullTranslator.load('spanwise');

const texts = () =>
  Notification.manager.notifications.map(({ message }) => message);
/** The dialog, when all its texts are drawn. */
const dialog = (drawn: RegExp) =>
  waitFor('the dialog', () => {
    const current = Dialog.tracker.currentWidget;
    return drawn.test(current?.node.textContent ?? '') && current!;
  });

afterEach(() => Notification.dismiss());

describe('what is hidden in a text', () => {
  it.each(['info', 'warning', 'error', 'begin'] as const)(
    'is written out in a notice (%s)',
    kind => {
      notices[kind](TURNED, { autoClose: false });
      expect(texts()).toEqual([SHOWN]);
    }
  );

  it('is written out in a notice that changes', () => {
    const id = notices.begin('begun', { autoClose: false });
    notices.update({ id, type: 'success', message: TURNED });
    expect(texts()).toEqual([SHOWN]);
    notices.update({ id, progress: 0.5 });
    expect(texts()).toEqual([SHOWN]);
    notices.dismiss(id);
    expect(texts()).toEqual([]);
  });

  it('is written out in a dialog', async () => {
    const answer = openDialog({
      title: TURNED,
      body: TURNED,
      buttons: [Dialog.cancelButton({ label: trans.__('Cancel') })]
    });
    const shown = await dialog(/gnp.*gnp/);
    expect(shown.node.textContent).toBe(`${SHOWN}${SHOWN}Cancel`);
    shown.reject();
    expect((await answer).button.accept).toBe(false);
  });

  it('is written out in a question for a number', async () => {
    const answer = askNumber({ title: TURNED, value: 3 });
    const shown = await dialog(/gnp/);
    expect(shown.node.textContent).toContain(SHOWN);
    shown.resolve();
    expect(await answer).toBe(3);
  });
});
