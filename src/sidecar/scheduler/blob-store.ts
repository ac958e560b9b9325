/**
 * The pickled parts of tasks, and which worker has which. In the scheduler process, which never opens them.
 */
import { NONE_U32 } from './task-rows';

type Chunk = {
  readonly bytes: Uint8Array;
  /** Tasks that need it and are not forgotten. */
  uses: number;
};

/** What one worker has. */
export type WorkerBlobs = {
  readonly templates: Set<number>;
  readonly chunks: Set<number>;
};

/** Templates stay as long as the cluster; a chunk goes with the last of its tasks. */
export class BlobStore {
  private readonly _templates = new Map<number, Uint8Array>();
  private readonly _chunks = new Map<number, Chunk>();
  private _unused: number[] = [];

  addTemplate(id: number, bytes: Uint8Array): void {
    this._templates.set(id, bytes);
  }

  addChunk(id: number, bytes: Uint8Array): void {
    this._chunks.set(id, { bytes, uses: 0 });
  }

  template(id: number): Uint8Array | undefined {
    return this._templates.get(id);
  }

  chunk(id: number): Uint8Array | undefined {
    return this._chunks.get(id)?.bytes;
  }

  use(chunk: number): void {
    const found = chunk === NONE_U32 ? undefined : this._chunks.get(chunk);
    if (found !== undefined) {
      found.uses++;
    }
  }

  unuse(chunk: number): void {
    const found = chunk === NONE_U32 ? undefined : this._chunks.get(chunk);
    if (found !== undefined && --found.uses === 0) {
      this._chunks.delete(chunk);
      this._unused.push(chunk);
    }
  }

  /** Chunks that went since the last call: their copies at the workers are to be dropped. */
  takeUnused(): number[] {
    const unused = this._unused;
    this._unused = [];
    return unused;
  }
}
