import type { TaskFunction } from '../graph/nodes';
import { NotPortableError, PortableForms } from '../graph/portable';
import type { InitializeMessage, SentFunction } from './messages';
import { sentFunction } from './sent-function';
import type { ClassLosses } from './sent-values';
import {
  describeLoss,
  describeUnsendable,
  UnsendableError
} from './unsendable';

/**
 * The work of each new worker of a pool before its first task.
 *
 * @param canSend - whether a value can go to the pool's workers
 * @param losses - what the pool's workers would not get
 * @throws NotPortableError if the function cannot leave this thread
 * @throws UnsendableError if an argument cannot
 */
export function initializeMessage(
  fn: TaskFunction<never[]>,
  args: readonly unknown[],
  canSend: (value: unknown) => boolean,
  losses: ClassLosses
): InitializeMessage {
  if (!canSend(args)) {
    throw new UnsendableError(
      `The initializer cannot be sent to a worker: ${describeUnsendable(args, 'initializerArgs', canSend)}.`
    );
  }
  const loss = losses.find(args);
  if (loss !== null) {
    throw new UnsendableError(
      `The initializer cannot be sent to a worker: ${describeLoss(args, 'initializerArgs', loss)}.`
    );
  }
  return { type: 'initialize', ...sent(fn as TaskFunction), args };
}

function sent(fn: TaskFunction): SentFunction {
  try {
    return sentFunction(new PortableForms().formOf(fn));
  } catch (error) {
    if (error instanceof NotPortableError) {
      error.message = `The initializer cannot run in a worker: ${error.message}`;
    }
    throw error;
  }
}
