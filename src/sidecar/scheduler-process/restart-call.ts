/** The call of Python that ends whatever workers run, for sentences: it can be pasted as it stands. In the scheduler process. */

/** So many workers are in one call: one who has more to restart has read enough of them. */
export const MOST_IN_CALL = 16;

/** @param workers - the first of these are in the call, by their numbers. */
export function restartCall(workers: readonly number[]): string {
  const names = inOrder(workers).slice(0, MOST_IN_CALL);
  return `client.restart_workers([${names.map(name => `"${name}"`).join(', ')}])`;
}

/** "worker-2, worker-10": their names, those that {@link restartCall} has first. */
export function inOrder(workers: readonly number[]): string[] {
  return [...workers].sort((a, b) => a - b).map(id => `worker-${id}`);
}
