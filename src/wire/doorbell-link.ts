/** Kernel or client → Jupyter server extension (role `doorbell`): where is the observer? Starts it if needed; docs/contracts.md §8. */
import { message, text } from './describe';

export const DOORBELL_LINK = {
  up: {
    /** → `observer`, or `refused` with a sentence */
    ring: message({})
  },
  down: {
    observer: message({ address: text, secretFile: text })
  }
} as const;
