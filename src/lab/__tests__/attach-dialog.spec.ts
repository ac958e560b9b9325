import { Dialog } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { waitFor } from '../../testing/wait-for';
import { askForAddress } from '../attach-dialog';

const trans = nullTranslator.load('spanwise');

describe('the dialog that attaches to a Dask cluster', () => {
  it('writes out what is hidden in what the kernel says, and keeps the address as it is', async () => {
    const address = 'tcp://\u200bscheduler:8786';
    const answer = askForAddress(trans, {
      wish: { address, tls: undefined },
      problem: `Nothing answers at ${address}: \u202egnp.exe`
    });
    const { node } = await waitFor('the dialog', () => {
      const current = Dialog.tracker.currentWidget;
      return /gnp/.test(current?.node.textContent ?? '') && current!;
    });
    expect(node.querySelector('[role=alert]')!.textContent).toBe(
      'Nothing answers at tcp://\\u200bscheduler:8786: \\u202egnp.exe'
    );
    const [field] = node.querySelectorAll('input');
    expect(field!.value).toBe(address);
    node.querySelector<HTMLElement>('.jp-mod-accept')!.click();
    expect(await answer).toEqual({ address, tls: undefined });
  });
});
