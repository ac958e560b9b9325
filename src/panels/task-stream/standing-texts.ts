/** Why a worker begins no task, in the words of its head. */
import type { Trans } from '../../base/trans';
import type { Standing } from '../worker-standing';

export function standingTexts(
  standings: ReadonlyMap<number, Standing>,
  trans: Trans
): ReadonlyMap<number, string> {
  const texts: Readonly<Record<Standing, string>> = {
    paused: trans.__('paused: memory full'),
    stopped: trans.__('stopped')
  };
  return new Map(
    [...standings].map(([worker, standing]) => [worker, texts[standing]])
  );
}
