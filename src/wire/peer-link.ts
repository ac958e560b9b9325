/**
 * A worker's peer door (role `peer`): other workers and clients dial it to fetch and to store data; docs/contracts.md §5.
 */
import { u32Of } from '../base/typed-arrays';
import type { ClientTaskId, OuterTaskId } from '../records/ids';
import * as v from 'valibot';
import { flag, message, u32 } from './describe';

export const PEER_LINK = {
  up: {
    /** → one or more `data` */
    get: message({ request: u32 }, { ids: { taskId: u32Of<OuterTaskId>() } }),
    /** One blob (payload) per item. → `stored` */
    put: message({ request: u32 }, { items: { dataId: u32Of<ClientTaskId>() } })
  },
  down: {
    /**
     * status: `ItemStatus`; of `NotPickled` the blob is the error. One blob per item that is not `Missing`, in order.
     * `more`: the rest of this request follows in another `data`.
     */
    data: message(
      { request: u32, more: v.optional(flag, false) },
      { items: { taskId: u32Of<OuterTaskId>(), status: 'u8', nbytes: 'f64' } }
    ),
    stored: message({ request: u32 })
  }
} as const;
