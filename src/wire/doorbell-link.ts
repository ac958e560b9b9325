/** Kernel or client → Jupyter server extension (role `doorbell`): where are the observer and the cluster of this environment? Starts them if needed; docs/contracts.md §8. */
import { map, message, text } from './describe';

export const DOORBELL_LINK = {
  up: {
    /** → `observer`, or `refused` with a sentence */
    ring: message({}),
    /**
     * Join the default cluster of this environment. settings: those of the scheduler that the client would start for itself, taken if there is
     * no such cluster yet. → `cluster`, or `refused` with a sentence
     */
    join: message({ settings: map })
  },
  down: {
    observer: message({ address: text, secretFile: text }),
    /** file: the path of its `cluster.json`. */
    cluster: message({ file: text })
  }
} as const;
