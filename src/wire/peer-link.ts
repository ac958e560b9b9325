/**
 * A worker's peer door (role `peer`): other workers and clients dial it to fetch and to store data; docs/contracts.md §5.
 */
import type { Seconds } from '../base/brand';
import { f64Of, u32Of } from '../base/typed-arrays';
import type { ClientTaskId, OuterTaskId } from '../records/ids';
import * as v from 'valibot';
import { flag, message, text, u32 } from './describe';

/** `welcome` for a peer. */
export const peerWelcome = v.looseObject({
  /** As in the client's. */
  clock: v.optional(v.number()),
  /** From how many bytes on data that is put may lie in a segment; 0: never. */
  share: v.optional(v.number(), 0),
  /** 32 random bytes (hex), and where they lie in the memory of who says so: a caller that finds them there reads it. */
  proof: v.optional(text, ''),
  proofAt: v.optional(v.number(), 0)
});

export const PEER_LINK = {
  up: {
    /**
     * → one or more `data`; without ids one that is empty. `share`: how many results the caller takes as descriptors, at most; `direct`: it reads others
     * from the holder's memory; `together`: it takes numbers as
     * one list, with `arrays` small arrays, too; `done`: segments that it has had on this link and no longer sees, one row for each time.
     */
    get: message(
      {
        request: u32,
        share: v.optional(u32, 0),
        direct: v.optional(flag, false),
        together: v.optional(flag, false),
        arrays: v.optional(flag, false)
      },
      { ids: { taskId: u32Of<OuterTaskId>() }, done: { segment: 'u32' } }
    ),
    /** The caller has read all that a `data` of this request named in `direct`: one for each such frame. */
    got: message({ request: u32 }),
    /**
     * What the caller has read in the memory of this process since it told of that last, by the signs that came with reports. `ago`: when
     * it began, in seconds before this was sent.
     */
    taken: message(
      {},
      {
        reads: {
          taskId: u32Of<OuterTaskId>(),
          nbytes: 'f64',
          ago: f64Of<Seconds>(),
          seconds: f64Of<Seconds>()
        }
      }
    ),
    /**
     * One blob (payload) per item. → `stored`. `shared`: items (by their row) whose payload of so many bytes lies in a
     * segment, as in `data`; only at doors whose `welcome` has `share`.
     */
    put: message(
      { request: u32 },
      {
        items: { dataId: u32Of<ClientTaskId>() },
        shared: { item: 'u32', nbytes: 'f64' }
      }
    )
  },
  down: {
    /**
     * status: `ItemStatus`; of `NotPickled` the blob is the error. One blob per item that is neither `Missing` nor `Together`,
     * in order, and behind these the list of all that are `Together`. `more`: the rest of this request follows in another `data`. `shared`: items (by their row) whose payload of so many
     * bytes lies in a segment: their blobs are empty, and its descriptor comes with the frame, in this order. `direct`:
     * pieces of payloads, ascending by item, that the caller reads at these addresses, each after so many more bytes of
     * the item's blob; they stay until `got`.
     */
    data: message(
      { request: u32, more: v.optional(flag, false) },
      {
        items: { taskId: u32Of<OuterTaskId>(), status: 'u8', nbytes: 'f64' },
        shared: { item: 'u32', segment: 'u32', nbytes: 'f64' },
        direct: { item: 'u32', before: 'u32', address: 'f64', nbytes: 'f64' }
      }
    ),
    /** `again`: items (by their row) whose descriptor has not come; the caller sends these as blobs. */
    stored: message({ request: u32 }, { again: { item: 'u32' } })
  }
} as const;
