/**
 * Refuses what is no function where a body is asked for: most likely the run itself, which has begun by then and will not be seen.
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
