/** *Attach…*: the address of a Dask scheduler, and the files of a TLS connection, as the kernel sees them. */
import { Dialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { shownText } from '../base/shown-text';
import { openDialog } from '../panels/notices';
import type { TlsFiles } from './kernel-snippet';

export type AttachWish = {
  readonly address: string;
  readonly tls: TlsFiles | undefined;
};

/** What the user wanted before, and why that did not work. */
type FailedWish = { readonly wish: AttachWish; readonly problem: string };

/** What the user wants; null if he does not want it any more. Here is room for a whole sentence, which JupyterLab's notifications cut. */
export async function askForAddress(
  trans: TranslationBundle,
  failed?: FailedWish
): Promise<AttachWish | null> {
  const { button, value } = await openDialog({
    title: trans.__('Attach to a Dask cluster'),
    body: new AttachForm(trans, failed),
    focusNodeSelector: 'input',
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.okButton({ label: trans.__('Attach') })
    ]
  });
  return button.accept ? value : null;
}

/** A row of text fields. The dialog asks it for its value. */
class AttachForm
  extends Widget
  implements Dialog.IBodyWidget<AttachWish | null>
{
  private readonly _address: HTMLInputElement;
  private readonly _ca: HTMLInputElement;
  private readonly _certificate: HTMLInputElement;
  private readonly _key: HTMLInputElement;

  constructor(trans: TranslationBundle, failed?: FailedWish) {
    super();
    this.addClass('sw-attach');
    const { address = '', tls } = failed?.wish ?? {};
    if (failed !== undefined) {
      const problem = document.createElement('p');
      problem.className = 'sw-attach-problem';
      problem.setAttribute('role', 'alert');
      problem.textContent = shownText(failed.problem);
      this.node.append(problem);
    }
    this._address = this._field(
      trans.__('Address of the scheduler'),
      'tcp://127.0.0.1:8786',
      address
    );
    const why = document.createElement('p');
    why.textContent = shownText(
      trans.__(
        'For a tls:// address: files that the kernel of the notebook can read.'
      )
    );
    this.node.append(why);
    this._ca = this._field(
      trans.__('Certificate authority'),
      'ca.pem',
      tls?.ca
    );
    this._certificate = this._field(
      trans.__('Certificate'),
      'cert.pem',
      tls?.certificate
    );
    this._key = this._field(trans.__('Key'), 'key.pem', tls?.key);
  }

  getValue(): AttachWish | null {
    const [address, ca, certificate, key] = [
      this._address,
      this._ca,
      this._certificate,
      this._key
    ].map(({ value }) => value.trim()) as [string, string, string, string];
    const hasFiles = ca !== '' || certificate !== '' || key !== '';
    return address === ''
      ? null
      : { address, tls: hasFiles ? { ca, certificate, key } : undefined };
  }

  private _field(label: string, example: string, value = ''): HTMLInputElement {
    const line = document.createElement('label');
    const name = document.createElement('span');
    name.textContent = shownText(label);
    const input = document.createElement('input');
    input.type = 'text';
    input.placeholder = example;
    input.value = value;
    input.spellcheck = false;
    input.className = 'jp-mod-styled';
    line.append(name, input);
    this.node.append(line);
    return input;
  }
}
