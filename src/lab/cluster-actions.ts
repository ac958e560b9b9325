/** What the buttons of the cluster card do: they ask the user where something would be lost, then the server, and say what was not done. */
import {
  Dialog,
  InputDialog,
  Notification,
  showDialog
} from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { fileName } from '../feed/selection';
import { openMenu } from '../panels/panel-menu';
import type { ClusterInfo } from '../wire/panel-link';
import { workersOf } from './cluster-figures';
import {
  type ClusterControls,
  NotDone,
  type StartedCluster
} from './cluster-controls';

/** As of `spanwise/client/launch.py`. */
const MOST_WORKERS = 1024;

/** A kernel that a cluster can be started for. */
type KernelChoice = { readonly name: string; readonly title: string };

export class ClusterActions {
  constructor(private readonly _options: ClusterActions.IOptions) {}

  /** Starts the default cluster of a Python environment; which, if there are several, a menu at the button asks. */
  startNew(button: HTMLElement): void {
    const { kernels, trans } = this._options;
    const [only, ...others] = kernels();
    if (only === undefined) {
      Notification.warning(
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
      Notification.warning(
        trans.__('A cluster has 0 to %1 workers, not %2.', MOST_WORKERS, value)
      );
      return;
    }
    await this._do(() => this._options.controls.scale(cluster.cluster, value));
  }

  /** If notebooks are connected, the server says so and does nothing; then the user may insist. */
  async restart(cluster: ClusterInfo): Promise<void> {
    const { controls, trans } = this._options;
    try {
      await controls.restart(cluster.cluster, false);
    } catch (error) {
      if (!(error instanceof NotDone) || error.others === 0) {
        this._say(error);
        return;
      }
      const isSure = await asked(
        trans.__('Restart %1?', cluster.name),
        error.message,
        trans.__('Restart'),
        trans
      );
      if (isSure) {
        await this._do(() => controls.restart(cluster.cluster, true));
      }
    }
  }

  /** @param notebooks - that are connected. */
  async stop(
    cluster: ClusterInfo,
    notebooks: readonly string[]
  ): Promise<void> {
    const { controls, trans } = this._options;
    const isSure = await asked(
      trans.__('Stop %1?', cluster.name),
      notebooks.length === 0
        ? trans.__('No notebook is connected.')
        : trans.__(
            'The results that it holds are lost. Connected: %1.',
            notebooks.map(fileName).join(', ')
          ),
      trans.__('Stop'),
      trans
    );
    if (isSure) {
      await this._do(() => controls.stop(cluster.cluster));
    }
  }

  private async _start({ name, title }: KernelChoice): Promise<void> {
    const { controls, trans, started } = this._options;
    const start = controls.start(name);
    // It takes seconds: the environment is asked, then workers start.
    Notification.promise(start, {
      pending: {
        message: trans.__('Starting the default cluster for %1…', title)
      },
      success: {
        message: (_, given) => {
          const cluster = given as StartedCluster;
          return cluster.isNew
            ? trans.__(
                '%1 runs. Notebooks of %2 join it with “client = Client()”.',
                cluster.name,
                title
              )
            : trans.__(
                '%1 runs already. Notebooks of %2 join it with “client = Client()”; “Client(n_workers=4)” makes one of its own.',
                cluster.name,
                title
              );
        }
      },
      error: { message: error => sentenceOf(error) }
    });
    try {
      started((await start).cluster);
    } catch (error) {
      if (!(error instanceof NotDone)) {
        throw error;
      }
      // The notification says it.
    }
  }

  private async _do(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this._say(error);
    }
  }

  private _say(error: unknown): void {
    if (!(error instanceof NotDone)) {
      throw error;
    }
    Notification.error(error.message, { autoClose: false });
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
 * @param notebook - that the cluster belongs to.
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

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
