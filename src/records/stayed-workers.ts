/** Which workers are there, or were to the end of their cluster: for the cluster card, limits of memory and the order of the Task Stream's lanes. */

/** Workers of a cluster that ends leave one after another: who stayed so long stayed to the end. */
const SECONDS_OF_THE_END = 2;

/** @param workers - `left` in seconds of whatever clock; null or absent: it has not left, or nobody knows. */
export function stayedWorkers<
  W extends { readonly left?: number | null | undefined }
>(workers: readonly W[]): W[] {
  const last = Math.max(...workers.map(({ left }) => left ?? Infinity));
  return workers.filter(
    ({ left }) => (left ?? Infinity) >= last - SECONDS_OF_THE_END
  );
}
