/**
 * Which notebook a cluster, or a client of it, belongs to: by its kernel, as the server's sessions say, so that a renamed notebook is found
 * under its new name. A notebook once known is remembered, since the kernel of an ended cluster has no session any more.
 */
import type { Session } from '@jupyterlab/services';
import { type ISignal, Signal } from '@lumino/signaling';
import type { ClusterUser } from '../feed/cluster-ref';
import { Disposing } from '../feed/disposing';

export type SessionList = Pick<Session.IManager, 'running' | 'runningChanged'>;

export class NotebookKernels extends Disposing {
  private readonly _paths = new Map<string, string>();
  private readonly _changed = new Signal<this, void>(this);

  /** @param _rootPath - the folder that paths in the page are relative to, as kernels see it; '' if the server does not say. */
  constructor(
    private readonly _sessions: SessionList,
    private readonly _rootPath: string = ''
  ) {
    super();
    this._sessions.runningChanged.connect(this._learn, this);
    this._learn();
  }

  /** A kernel's notebook became known, or got another name. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The path of the notebook that a kernel runs. */
  notebookOfKernel(kernel: string): string | undefined {
    return this._paths.get(kernel);
  }

  /** The notebook's path as the contents service writes it; undefined for scripts. */
  notebookOf({ notebook }: ClusterUser): string | undefined {
    const { kernelId, path } = notebook ?? {};
    const known =
      kernelId === undefined ? undefined : this._paths.get(kernelId);
    return known ?? (path === undefined ? undefined : this._asListed(path));
  }

  protected override end(): void {
    this._sessions.runningChanged.disconnect(this._learn, this);
  }

  private _learn(): void {
    let learned = false;
    for (const { kernel, path } of this._sessions.running()) {
      if (kernel && this._paths.get(kernel.id) !== path) {
        this._paths.set(kernel.id, path);
        learned = true;
      }
    }
    if (learned) {
      this._changed.emit();
    }
  }

  /** A kernel knows its notebook by the file's whole path; the page, by the path below the server's root. */
  private _asListed(path: string): string {
    const whole = path.replaceAll('\\', '/');
    const root = this._rootPath.replace(/\/*$/, '/');
    if (root !== '/' && whole.startsWith(root)) {
      return whole.slice(root.length);
    }
    for (const known of this._paths.values()) {
      if (whole === known || whole.endsWith(`/${known}`)) {
        return known;
      }
    }
    return whole;
  }
}

/** The path in a `file:` address, '' for anything else. */
export function pathOfUri(uri: string): string {
  return uri.startsWith('file://')
    ? decodeURIComponent(new URL(uri).pathname)
    : '';
}
