/**
 * What the buttons of the cluster card do: they ask the user where something would be lost, then the server, and say what was not done, in a
 * dialog: JupyterLab cuts notifications after 140 characters.
 */
import {
  Dialog,
  InputDialog,
  Notification,
  showDialog,
  showErrorMessage
} from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { fileName } from '../feed/selection';
import { openMenu } from '../panels/panel-menu';
import type { ClusterInfo } from '../wire/panel-link';
import { workersOf } from './cluster-figures';
import { type ClusterControls, NotDone } from './cluster-controls';
import type { ClusterUsers } from './cluster-users';

/** As of `spanwise/client/launch.py`. */
const MOST_WORKERS = 1024;

/** How long the page shows that a cluster was started. */
const SUCCESS_MS = 8000;

/** A kernel that a cluster can be started for. */
type KernelChoice = { readonly name: string; readonly title: string };

export class ClusterActions {
  constructor(private readonly _options: ClusterActions.IOptions) {}

  /** Starts the default cluster of a Python environment; which, if there are several, a menu at the button asks. */
  startNew(button: HTMLElement): void {
    const { kernels, trans } = this._options;
    const [only, ...others] = kernels();
    if (only === undefined) {
      void showErrorMessage(
        trans.__('No cluster was started'),
        trans.__(
          'This Jupyter server has no Python kernel to start a cluster for.'
        )
      );
    } else if (others.length === 0) {
      void this._start(only);
    } else {
      openMenu(
        button,
        [only, ...others].map(kernel => ({
          label: trans.__('For %1', kernel.title),
          run: () => void this._start(kernel)
        }))
      );
    }
  }

  async scale(cluster: ClusterInfo): Promise<void> {
    const { trans } = this._options;
    const complaint = trans.__('%1 was not scaled', cluster.name);
    const { value } = await InputDialog.getNumber({
      title: trans.__('Scale %1', cluster.name),
      label: trans.__('Number of workers:'),
      value: workersOf(cluster),
      okLabel: trans.__('Scale')
    });
    if (value === null) {
      return;
    }
    if (!Number.isInteger(value) || value < 0 || value > MOST_WORKERS) {
      await showErrorMessage(
        complaint,
        trans.__('Give a whole number of workers, 0 to %1.', MOST_WORKERS)
      );
      return;
    }
    await this._do(complaint, () =>
      this._options.controls.scale(cluster.cluster, value)
    );
  }

  /** If notebooks are connected, the server says so and does nothing; then the user may insist. */
  async restart(cluster: ClusterInfo): Promise<void> {
    const { controls, trans } = this._options;
    const restart = (force: boolean) =>
      controls.restart(cluster.cluster, force);
    const complaint = trans.__('%1 was not restarted', cluster.name);
    let inUse = '';
    await this._do(complaint, async () => {
      try {
        return await restart(false);
      } catch (error) {
        if (!(error instanceof NotDone) || error.others === 0) {
          throw error;
        }
        inUse = error.message;
        return '';
      }
    });
    if (inUse === '') {
      return;
    }
    const isSure = await asked(
      trans.__('Restart %1?', cluster.name),
      inUse,
      trans.__('Restart'),
      trans
    );
    if (isSure) {
      await this._do(complaint, () => restart(true));
    }
  }

  async stop(cluster: ClusterInfo, users: ClusterUsers): Promise<void> {
    const { controls, trans } = this._options;
    const { notebooks, programs } = users;
    const isSure = await asked(
      trans.__('Stop %1?', cluster.name),
      [
        // Published data and tasks that nobody waits for are held without a client.
        trans.__('The results that it holds are lost.'),
        notebooks.length > 0 &&
          trans.__('Connected: %1.', notebooks.map(fileName).join(', ')),
        programs.length > 0 &&
          trans.__('Other programs: %1.', programs.join(', ')),
        notebooks.length + programs.length === 0 &&
          trans.__('Nobody is connected.')
      ]
        .filter(Boolean)
        .join(' '),
      trans.__('Stop'),
      trans
    );
    if (isSure) {
      await this._do(trans.__('%1 was not stopped', cluster.name), async () => {
        await controls.stop(cluster.cluster);
        return '';
      });
    }
  }

  private async _start({ name, title }: KernelChoice): Promise<void> {
    const { controls, trans, started } = this._options;
    // It takes seconds: the environment is asked, then workers start.
    const id = Notification.emit(
      trans.__('Starting the default cluster for %1…', title),
      'in-progress',
      // Without it JupyterLab lists the notification and does not show it.
      { autoClose: false }
    );
    await this._do(
      trans.__('No cluster was started for %1', title),
      async () => {
        try {
          const { cluster, name: called, isNew } = await controls.start(name);
          Notification.update({
            id,
            type: 'success',
            message: isNew
              ? trans.__('%1 runs. “client = Client()” joins it.', called)
              : trans.__(
                  '%1 runs already. “client = Client()” joins it; “Client(n_workers=4)” starts another.',
                  called
                ),
            autoClose: SUCCESS_MS
          });
          started(cluster);
          return '';
        } catch (error) {
          Notification.dismiss(id);
          throw error;
        }
      }
    );
  }

  /**
   * @param complaint - the title of what is said if it was not done, or not all of it.
   * @param act - gives what was not done; '' if all was.
   */
  private async _do(
    complaint: string,
    act: () => Promise<string>
  ): Promise<void> {
    let sentence: string;
    try {
      sentence = await act();
    } catch (error) {
      if (!(error instanceof NotDone)) {
        throw error;
      }
      sentence = error.message;
    }
    if (sentence !== '') {
      await showErrorMessage(complaint, sentence);
    }
  }
}

export namespace ClusterActions {
  export interface IOptions {
    readonly controls: ClusterControls;
    /** Python kernels of the server. */
    readonly kernels: () => readonly KernelChoice[];
    readonly trans: TranslationBundle;
    /** A cluster runs now; it is to be shown. */
    readonly started: (cluster: string) => void;
  }
}

/**
 * Why the buttons cannot act on a cluster; undefined: they can.
 *
 * @param notebook - that started the cluster; who joined it later does not own it.
 */
export function whyNotControlled(
  cluster: ClusterInfo,
  notebook: string | undefined,
  trans: TranslationBundle
): string | undefined {
  if (cluster.state === 'ended') {
    return trans.__('%1 has ended', cluster.name);
  }
  if (cluster.environment !== undefined) {
    return undefined;
  }
  return notebook === undefined
    ? trans.__('%1 belongs to a script', cluster.name)
    : trans.__('%1 belongs to %2', cluster.name, fileName(notebook));
}

async function asked(
  title: string,
  body: string,
  act: string,
  trans: TranslationBundle
): Promise<boolean> {
  const { button } = await showDialog({
    title,
    body,
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: act })
    ]
  });
  return button.accept;
}
