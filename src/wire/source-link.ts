/**
 * Source → observer (role `source`): blocks of the record log; docs/contracts.md §6. The observer never asks for anything but a place to
 * resume from, and a source never waits for it.
 */
import * as v from 'valibot';
import type { Seconds } from '../base/brand';
import { count, flag, map, message, seconds, text, u32 } from './describe';

/** Whether somebody may see what is sent, a page or a program: if nobody does, it may come later. */
const hasViewers = v.optional(flag, true);

export const SOURCE_LINK = {
  up: {
    /** First message after the handshake. → `resume` */
    open: message({
      logId: text,
      clusterId: text,
      name: text,
      kind: v.picklist(['embedded', 'dask', 'local', 'recording']),
      notebook: v.optional(
        v.nullable(
          v.object({ kernelId: v.optional(text), path: v.optional(text) })
        )
      ),
      /** Second 0 of the log, by the log's own wall clock. */
      wallEpoch: seconds,
      /** Seconds that this clock is ahead of the machine's on which the source runs: the log of a Dask cluster has the scheduler's. */
      clockAhead: v.optional(seconds, 0 as Seconds),
      pid: u32,
      versions: v.optional(map, {}),
      capabilities: v.optional(v.record(text, v.boolean()), {}),
      environmentId: v.optional(text, ''),
      /** Of a cluster that a Jupyter server shares among notebooks: the folder of the packages that they have in common. */
      environment: v.optional(text, '')
    }),
    /**
     * Each blob is one block of bytes (records/block.ts), seq ascending. → `ack` at least every 64 blocks, and, unless that may wait, at once.
     * With all that came before, `end` is acknowledged at once.
     */
    block: message({
      /** Nothing waits for `ack`: it may come with a later one. */
      ackMayWait: v.optional(flag, false)
    }),
    end: message({
      why: v.picklist([
        'closed',
        'kernel-ended',
        'scheduler-lost',
        'stopped',
        'idle'
      ]),
      at: seconds,
      /** Half a sentence that says more than `why`. */
      told: v.optional(text, ''),
      /** Only watching has ended: the cluster may go on. */
      unwatched: v.optional(flag, false)
    })
  },
  down: {
    /** The observer has every block up to this one. */
    resume: message({
      haveSeq: count,
      /** Whether it reads blocks that have columns of one value: who does not gets them whole. */
      readsConstants: v.optional(flag, false),
      hasViewers
    }),
    /** Sent by itself, too, when the first viewer has come and when the last has left. */
    ack: message({ seq: count, hasViewers })
  }
} as const;
