/**
 * Refuses a body that is no function. Most likely it is the promise of a run that has begun already, unseen.
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
