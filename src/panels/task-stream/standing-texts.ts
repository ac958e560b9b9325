/** Why a worker begins no task, in the words of its head, and in one word where its lane has no head. */
import type { Trans } from '../../base/trans';
import type { Standing } from '../worker-standing';
import type { StandingText } from './rows';

export function standingTexts(
  standings: ReadonlyMap<number, Standing>,
  trans: Trans
): ReadonlyMap<number, StandingText> {
  const texts: Readonly<Record<Standing, StandingText>> = {
    paused: {
      text: trans.__('paused: memory full'),
      word: trans.__('paused')
    },
    stopped: { text: trans.__('stopped'), word: trans.__('stopped') }
  };
  return new Map(
    [...standings].map(([worker, standing]) => [worker, texts[standing]])
  );
}
