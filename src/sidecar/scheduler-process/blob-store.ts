/**
 * The pickled parts of tasks, what still needs them, and which worker has which. In the scheduler process, which never opens them.
 *
 * ```
 *   template   needed by   its tasks, until each is forgotten
 *              and by      the client, which may name it again: until it says `forget`
 *   chunk      needed by   its tasks only: no later message names it
 * ```
 */
import { NONE_U32 } from '../../records/enumerations';

type Blob = {
  readonly bytes: Uint8Array;
  /** Tasks that need it and are not forgotten. */
  uses: number;
  /** The client may name it again. Chunks: false. */
  isNamed: boolean;
};

/** What one worker has. */
export type WorkerBlobs = {
  readonly templates: Set<number>;
  readonly chunks: Set<number>;
};

/** Blobs that are no longer needed: workers are to drop their copies. */
type FreedBlobs = {
  readonly templates: readonly number[];
  readonly chunks: readonly number[];
};

/** Templates that no task needs are kept for the client to name again: at most this many, and this many bytes. */
const IDLE_TEMPLATES = 1_000;
const IDLE_BYTES = 8 << 20;

const NONE: readonly number[] = [];

/** Keeps each blob exactly as long as it is needed. */
export class BlobStore {
  private readonly _templates = new Map<number, Blob>();
  private readonly _chunks = new Map<number, Blob>();
  /** Templates that only the client needs, the longest unused first. */
  private readonly _idle = new Set<number>();
  private _idleBytes = 0;
  /** Chunks that no task has named yet. */
  private readonly _unnamedChunks = new Set<number>();
  private _freedTemplates: number[] = [];
  private _freedChunks: number[] = [];
  private _nextTemplate = 0;
  private _nextChunk = 0;

  constructor(
    private readonly _idleTemplates = IDLE_TEMPLATES,
    private readonly _mostIdleBytes = IDLE_BYTES
  ) {}

  /** How many templates and chunks are kept. */
  get size(): number {
    return this._templates.size + this._chunks.size;
  }

  /** Ids are not used again: workers may still have what they named. */
  takeTemplateId(): number {
    return this._nextTemplate++;
  }

  takeChunkId(): number {
    return this._nextChunk++;
  }

  addTemplate(id: number, bytes: Uint8Array): void {
    this._templates.set(id, { bytes: own(bytes), uses: 0, isNamed: true });
    this._rest(id, bytes.length);
  }

  addChunk(id: number, bytes: Uint8Array): void {
    this._chunks.set(id, { bytes: own(bytes), uses: 0, isNamed: false });
    this._unnamedChunks.add(id);
  }

  template(id: number): Uint8Array | undefined {
    return this._templates.get(id)?.bytes;
  }

  chunk(id: number): Uint8Array | undefined {
    return this._chunks.get(id)?.bytes;
  }

  /** Adds tasks that need a template. */
  useTemplate(id: number, tasks: number): void {
    const found = this._templates.get(id);
    if (found !== undefined) {
      if (found.uses === 0 && this._idle.delete(id)) {
        this._idleBytes -= found.bytes.length;
      }
      found.uses += tasks;
    }
  }

  /** Subtracts tasks that needed it and are forgotten. */
  unuseTemplate(id: number, tasks: number): void {
    const found = this._templates.get(id);
    if (found === undefined || (found.uses -= tasks) > 0) {
      return;
    }
    if (found.isNamed) {
      this._rest(id, found.bytes.length);
    } else {
      this._freeTemplate(id);
    }
  }

  useChunk(id: number, tasks: number): void {
    const found = this._chunks.get(id);
    if (found !== undefined) {
      found.uses += tasks;
      this._unnamedChunks.delete(id);
    }
  }

  unuseChunk(id: number, tasks: number): void {
    const found = this._chunks.get(id);
    if (found !== undefined && (found.uses -= tasks) <= 0) {
      this._freeChunk(id);
    }
  }

  /** The client will not name these templates again. */
  forget(ids: Iterable<number>): void {
    for (const id of ids) {
      const found = this._templates.get(id);
      if (found === undefined) {
        continue;
      }
      found.isNamed = false;
      if (found.uses === 0) {
        if (this._idle.delete(id)) {
          this._idleBytes -= found.bytes.length;
        }
        this._freeTemplate(id);
      }
    }
  }

  /**
   * Takes the templates beyond the bound out of those that only the client needs, the longest unused first. The client is to be asked
   * whether it will name them again. A template is given a second time only after tasks have used it in between.
   */
  takeExcess(): readonly number[] {
    if (!this._isTooIdle()) {
      return NONE;
    }
    const excess: number[] = [];
    for (const id of this._idle) {
      if (!this._isTooIdle()) {
        break;
      }
      this._idle.delete(id);
      this._idleBytes -= this._templates.get(id)!.bytes.length;
      excess.push(id);
    }
    return excess;
  }

  /** The blobs that were freed since the last call, and chunks that no task of their message named. */
  takeFreed(): FreedBlobs {
    if (this._unnamedChunks.size > 0) {
      for (const id of this._unnamedChunks) {
        this._freeChunk(id);
      }
      this._unnamedChunks.clear();
    }
    const freed = {
      templates: this._freedTemplates,
      chunks: this._freedChunks
    };
    if (freed.templates.length > 0) {
      this._freedTemplates = [];
    }
    if (freed.chunks.length > 0) {
      this._freedChunks = [];
    }
    return freed;
  }

  private _isTooIdle(): boolean {
    return (
      this._idle.size > this._idleTemplates ||
      this._idleBytes > this._mostIdleBytes
    );
  }

  private _rest(id: number, nbytes: number): void {
    this._idle.add(id);
    this._idleBytes += nbytes;
  }

  private _freeTemplate(id: number): void {
    this._templates.delete(id);
    this._freedTemplates.push(id);
  }

  private _freeChunk(id: number): void {
    this._chunks.delete(id);
    this._freedChunks.push(id);
  }
}

/**
 * Counts how many tasks in a row have the same blob: tasks that follow one another mostly do.
 *
 * @param tell - called with a blob's id and a number of tasks, for each stretch.
 */
export class UseCounter {
  private _id = NONE_U32;
  private _tasks = 0;

  constructor(private readonly _tell: (id: number, tasks: number) => void) {}

  add(id: number): void {
    if (id !== this._id) {
      this.end();
      this._id = id;
    }
    this._tasks++;
  }

  /** Reports the last stretch. */
  end(): void {
    if (this._id !== NONE_U32 && this._tasks > 0) {
      this._tell(this._id, this._tasks);
    }
    this._tasks = 0;
  }
}

/** Bytes that do not keep a large message alive: a view of less than half of its message is copied. */
export function own(bytes: Uint8Array): Uint8Array {
  return 2 * bytes.length > bytes.buffer.byteLength ? bytes : bytes.slice();
}
