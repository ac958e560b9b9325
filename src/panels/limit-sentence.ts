import type { Trans } from '../base/trans';

/** Of a limit that stands for a whole cluster: each worker has its own, from its own share of the machine. */
export function limitSentence(trans: Trans): string {
  return trans.__(
    'The limit is the workers’ limits added up, which may be more memory than there is.'
  );
}
