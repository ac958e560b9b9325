/**
 * Refuses a body that is no function: most likely it is the promise of a run, which began before anything could see it.
 *
 * @param owner - who would call the body
 * @throws TypeError that shows how it is written.
 */
export function checkBody(owner: string, body: unknown): void {
  if (typeof body !== 'function') {
    const is = body instanceof Promise ? 'a promise' : typeof body;
    throw new TypeError(
      `${owner} takes a function that starts the run, as () => getAsync(graph, keys), not ${is}.`
    );
  }
}
