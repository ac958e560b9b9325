/**
 * What the buttons of the cluster card do: they ask the user where something would be lost, then the server or a kernel. The card shows what is under
 * way and what was not done: JupyterLab cuts notifications after 140 characters.
 *
 *     click ──► asked ──yes──► under way ──► done
 *                 │ no             └──────► trouble, until it is dismissed or the same button is clicked again
 *                 └──► done
 *
 * From the click to the end the same button of the same cluster does nothing else.
 */
import { Dialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { type ISignal, Signal } from '@lumino/signaling';
import { pathEnds } from '../base/path-ends';
import { fileName } from '../feed/selection';
import { askNumber, notices, openDialog } from '../panels/notices';
import { openMenu } from '../panels/panel-menu';
import type { ClusterInfo } from '../wire/panel-link';
import { workersOf } from './cluster-figures';
import { type ClusterControls, NotDone } from './cluster-controls';
import type { ClusterUsers } from './cluster-users';

/** As of `spanwise/client/launch.py`. */
const MOST_WORKERS = 1024;

/** The key of a start; that of another action has the cluster in it. */
const START = 'start';

/** How long the page shows that a cluster was started. */
const SUCCESS_MS = 8000;

/** A kernel that a cluster can be started for. */
type KernelChoice = { readonly name: string; readonly title: string };

/** What a button does with a cluster. */
type ClusterAction = 'scale' | 'restart' | 'stop' | 'let go';

/** What was not done, or not all of it. */
type Trouble = {
  readonly title: string;
  /** Why, and what to do. */
  readonly sentence: string;
};

export class ClusterActions {
  /** Clicked and not ended: the user is asked, or it is under way. */
  private readonly _begun = new Set<string>();
  /** Asked of the server or a kernel, which has not answered. */
  private readonly _underWay = new Set<string>();
  /** By the key of the action: another one, which goes well, says nothing about it. */
  private readonly _troubles = new Map<string, Trouble>();
  private readonly _changed = new Signal<this, void>(this);

  constructor(private readonly _options: ClusterActions.IOptions) {}

  /** What is under way has changed, or what was not done. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Of the last click on each button of each cluster, the newest last; without those that were dismissed. */
  get troubles(): readonly Trouble[] {
    return [...this._troubles.values()];
  }

  get isStarting(): boolean {
    return this._underWay.has(START);
  }

  isUnderWay(action: ClusterAction, { cluster }: ClusterInfo): boolean {
    return this._underWay.has(`${action} ${cluster}`);
  }

  dismiss(trouble: Trouble): void {
    for (const [key, each] of this._troubles) {
      if (each === trouble) {
        this._setTrouble(key, null);
      }
    }
  }

  /** Starts the default cluster of a Python environment; which, if there are several, a menu at the button asks. */
  startNew(button: HTMLElement): void {
    const { kernels, trans } = this._options;
    const [only, ...others] = kernels();
    if (only === undefined) {
      this._setTrouble(START, {
        title: trans.__('No cluster was started'),
        sentence: trans.__(
          'This Jupyter server has no Python kernel to start a cluster for. Install one with “pip install ipykernel”, and reload the page.'
        )
      });
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

  scale(cluster: ClusterInfo): Promise<void> {
    const { controls, trans } = this._options;
    const complaint = trans.__('%1 was not scaled', cluster.name);
    return this._once('scale', cluster, complaint, async send => {
      const value = await askNumber({
        title: trans.__('Scale %1', cluster.name),
        label: trans.__('Number of workers:'),
        value: workersOf(cluster),
        okLabel: trans.__('Scale')
      });
      if (value === null) {
        return '';
      }
      if (!Number.isInteger(value) || value < 0 || value > MOST_WORKERS) {
        return trans.__(
          'Give a whole number of workers, 0 to %1.',
          MOST_WORKERS
        );
      }
      return send(() => controls.scale(cluster.cluster, value));
    });
  }

  /** If notebooks are connected, the server says so and does nothing; then the user may insist. */
  restart(cluster: ClusterInfo, users: ClusterUsers): Promise<void> {
    const { controls, trans } = this._options;
    const complaint = trans.__('%1 was not restarted', cluster.name);
    return this._once('restart', cluster, complaint, async send => {
      const restart = (force: boolean) =>
        send(() => controls.restart(cluster.cluster, force));
      let inUse: string;
      try {
        return await restart(false);
      } catch (error) {
        if (!(error instanceof NotDone) || error.others === 0) {
          throw error;
        }
        inUse = error.message;
      }
      const isSure = await asked(
        trans.__('Restart %1?', cluster.name),
        [inUse, ...usersSentences(users, trans)].join(' '),
        trans.__('Restart'),
        trans
      );
      return isSure ? restart(true) : '';
    });
  }

  stop(cluster: ClusterInfo, users: ClusterUsers): Promise<void> {
    const { controls, trans } = this._options;
    const complaint = trans.__('%1 was not stopped', cluster.name);
    return this._once('stop', cluster, complaint, async send => {
      const connected = usersSentences(users, trans);
      const isSure = await asked(
        trans.__('Stop %1?', cluster.name),
        [
          // Published data and tasks that nobody waits for are held without a client.
          trans.__('The results that it holds are lost.'),
          ...(connected.length > 0
            ? connected
            : [trans.__('Nobody is connected.')])
        ].join(' '),
        trans.__('Stop'),
        trans
      );
      if (isSure) {
        await send(() => controls.stop(cluster.cluster));
      }
      return '';
    });
  }

  /** The kernel that watches a Dask cluster watches it no more. Nothing is lost, so the user is not asked. */
  letGo(cluster: ClusterInfo, { owner = '' }: ClusterUsers): Promise<void> {
    const { letGo, trans } = this._options;
    const complaint = trans.__('%1 is still watched', cluster.name);
    return this._once('let go', cluster, complaint, send =>
      send(() => letGo(owner, cluster.cluster))
    );
  }

  private _start({ name, title }: KernelChoice): Promise<void> {
    const { controls, trans, started } = this._options;
    const complaint = trans.__('No cluster was started for %1', title);
    return this._once(START, null, complaint, async send => {
      // It takes seconds: the environment is asked, then workers start.
      const id = notices.begin(
        trans.__('Starting the default cluster for %1…', title),
        // Without it JupyterLab lists the notification and does not show it.
        { autoClose: false }
      );
      try {
        const {
          cluster,
          name: called,
          isNew
        } = await send(() => controls.start(name, this._options.notebook()));
        notices.update({
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
        // The card says why, but the sidebar may be hidden by now.
        notices.update({
          id,
          type: 'error',
          message: trans.__(
            'No cluster was started for %1: see Spanwise’s sidebar.',
            title
          ),
          autoClose: false
        });
        throw error;
      }
    });
  }

  /**
   * @param cluster - null: a start has none yet.
   * @param complaint - the title of what is said if it was not done, or not all of it.
   * @param act - asks the user and, through `send`, the server or a kernel; gives what was not done, '' if all was.
   */
  private async _once(
    action: ClusterAction | typeof START,
    cluster: ClusterInfo | null,
    complaint: string,
    act: (send: Send) => Promise<string>
  ): Promise<void> {
    const key = cluster === null ? START : `${action} ${cluster.cluster}`;
    if (this._begun.has(key)) {
      return;
    }
    this._begun.add(key);
    this._setTrouble(key, null);
    let sentence: string;
    try {
      sentence = await act(async call => {
        this._underWay.add(key);
        this._changed.emit();
        try {
          return await call();
        } finally {
          this._underWay.delete(key);
          this._changed.emit();
        }
      });
    } catch (error) {
      if (!(error instanceof NotDone)) {
        throw error;
      }
      sentence = error.message;
    } finally {
      this._begun.delete(key);
    }
    if (sentence !== '') {
      this._setTrouble(key, { title: complaint, sentence });
    }
  }

  private _setTrouble(key: string, trouble: Trouble | null): void {
    const hadOne = this._troubles.delete(key);
    if (trouble !== null) {
      this._troubles.set(key, trouble);
    }
    if (hadOne || trouble !== null) {
      this._changed.emit();
    }
  }
}

/** Asks the server or a kernel, and has the card show meanwhile that it is under way. */
type Send = <T>(call: () => Promise<T>) => Promise<T>;

export namespace ClusterActions {
  export interface IOptions {
    readonly controls: ClusterControls;
    /** Python kernels of the server. */
    readonly kernels: () => readonly KernelChoice[];
    /** Path of the notebook in front. */
    readonly notebook: () => string | undefined;
    readonly trans: TranslationBundle;
    /** Has the kernel of a notebook watch a Dask cluster no more; gives why not, '' if it was done. */
    readonly letGo: (notebook: string, cluster: string) => Promise<string>;
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

/** Why a Dask cluster cannot be let go from here; undefined: it can. @param notebook - whose kernel watches it */
export function whyNotLetGo(
  cluster: ClusterInfo,
  notebook: string | undefined,
  trans: TranslationBundle
): string | undefined {
  if (cluster.state === 'ended') {
    return trans.__('%1 is not watched any more', cluster.name);
  }
  return notebook === undefined
    ? trans.__('a script watches %1, or a command in a shell', cluster.name)
    : undefined;
}

/** Of notebooks, as short as tells them apart. */
export function shortNames(notebooks: readonly string[]): string[] {
  return [...pathEnds(notebooks).values()];
}

/** Who is connected; nothing if nobody is. */
function usersSentences(
  { notebooks, programs }: ClusterUsers,
  trans: TranslationBundle
): string[] {
  return [
    ...(notebooks.length > 0
      ? [trans.__('Connected: %1.', shortNames(notebooks).join(', '))]
      : []),
    ...(programs.length > 0
      ? [trans.__('Other programs: %1.', programs.join(', '))]
      : [])
  ];
}

async function asked(
  title: string,
  body: string,
  act: string,
  trans: TranslationBundle
): Promise<boolean> {
  const { button } = await openDialog({
    title,
    body,
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: act })
    ]
  });
  return button.accept;
}
