/** Keys of forgotten tasks whose results went from process to process, for the logs of that. In the scheduler process. */
import { BoundedMap } from '../../base/bounded-map';
import type { OuterTaskId } from '../../records/ids';

/** In bytes of their texts, with what each takes besides. */
const MOST_BYTES = 8 * 2 ** 20;
const OVERHEAD_BYTES = 128;

/** A key as its task has it: the log's name of its group, and the text behind that. */
type KeyPieces = { readonly group: number; readonly suffix: Uint8Array };

/**
 * Workers are not told the keys of their tasks: who reads a log of transfers asks for those in it, and most of their tasks are forgotten by
 * then. The oldest go when there are too many.
 */
export class MovedKeys {
  private readonly _keys = new BoundedMap<OuterTaskId, KeyPieces>(
    MOST_BYTES,
    ({ suffix }) => suffix.length + OVERHEAD_BYTES
  );

  get size(): number {
    return this._keys.size;
  }

  /** @param taskId - as the worker link names it. */
  keep(taskId: OuterTaskId, { group, suffix }: KeyPieces): void {
    // A copy: a view would keep the texts of a whole submission.
    this._keys.set(taskId, { group, suffix: new Uint8Array(suffix) });
  }

  get(taskId: OuterTaskId): KeyPieces | undefined {
    return this._keys.peek(taskId);
  }
}
