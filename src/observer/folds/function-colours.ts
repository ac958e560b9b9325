import type { FunctionSlots, Slot } from '../function-slots';
import type { LogStore } from '../store/log-store';
import { IN_TASKS } from './lock-waits';

/**
 * The colour of each function. Late functions with a notable share of the thread time take theirs here: by the whole run, whatever the
 * answer is of, so that no filter and no range decides who gets one.
 */
export function coloursOf(log: LogStore): (name: string) => Slot {
  const { slots } = log;
  if (slots.hasLateOnes) {
    slots.meetLate(sharesOf(log, slots));
  }
  return name => slots.of(name);
}

/** Of all thread time, by functions without a colour. */
function sharesOf(log: LogStore, slots: FunctionSlots): Map<string, number> {
  const shares = new Map<string, number>();
  const add = (id: number, share: number): void => {
    const name = log.name(id);
    if (!slots.has(name)) {
      shares.set(name, (shares.get(name) ?? 0) + share);
    }
  };
  if (!log.hasTaskSums) {
    for (let cell = 0; cell < log.held.length; cell++) {
      const ns = log.held.totalNanoseconds(cell);
      add(log.held.function(cell), ns / log.totalNanoseconds);
    }
    return shares;
  }
  // As the cluster itself tells it, also of tasks that ran before anybody watched.
  const told = [...log.fineSums.all()].filter(
    ({ context, unit }) =>
      log.name(context) === IN_TASKS && log.name(unit) === 'seconds'
  );
  const whole = told.reduce((sum, { value }) => sum + value, 0);
  told.forEach(({ function: fn, value }) => add(fn, value / whole));
  return shares;
}
