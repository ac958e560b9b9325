import type { FineMetricsResult } from '../../wire/panel-link';
import type { LogStore } from '../store/log-store';
import { totalOf } from './function-sums';
import { IDLE_CAUSES, type IdleAccount } from './idle';

/** What an answer says of wall, threads and idle time. */
export function idleFigures(
  log: LogStore,
  { wallSeconds, capacitySeconds, idle, selectedIdle, waitedFor }: IdleAccount
): Pick<
  FineMetricsResult,
  | 'wallSeconds'
  | 'threads'
  | 'capacitySeconds'
  | 'idle'
  | 'waitedFor'
  | 'otherIdleSeconds'
> {
  return {
    wallSeconds,
    threads:
      wallSeconds > 0 ? capacitySeconds / wallSeconds : log.shape.threads,
    capacitySeconds,
    idle: IDLE_CAUSES.map((cause, i) => ({
      cause,
      seconds: selectedIdle[i]!
    })).filter(({ seconds }) => seconds > 0),
    ...(waitedFor === null
      ? {}
      : {
          waitedFor: { ...waitedFor, function: log.name(waitedFor.function) }
        }),
    otherIdleSeconds: Math.max(0, totalOf(idle) - totalOf(selectedIdle))
  };
}
