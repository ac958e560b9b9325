/** Which workers are there, or were to the end of their cluster: for the cluster card, limits of memory and the order of the Task Stream's lanes. */

/** Workers of a cluster that ends leave one after another: who stayed so long stayed to the end. */
const SECONDS_OF_THE_END = 2;

/**
 * A worker and the one in its place count once, as after a restart just before the end:
 *
 *     worker 0   ├──────────┤                 the other was there in its place
 *     worker 1              ├─────────┤       stayed
 *     worker 2   ├────────────────────┤       stayed
 *                           │ 2 s     end
 *
 * @param workers - `joined` and `left` in seconds of whatever clock. `joined` absent: nobody knows; `left` null or absent: it has not left, or
 * nobody knows.
 */
export function stayedWorkers<
  W extends {
    readonly joined?: number | undefined;
    readonly left?: number | null | undefined;
  }
>(workers: readonly W[]): W[] {
  const leftAt = ({ left }: W): number => left ?? Infinity;
  const last = Math.max(...workers.map(leftAt));
  const toTheEnd = workers.filter(
    worker => leftAt(worker) >= last - SECONDS_OF_THE_END
  );
  const lastJoined = Math.max(
    ...toTheEnd.map(({ joined }) => joined ?? -Infinity)
  );
  return toTheEnd.filter(
    // (of the last to come nobody was in the place, however short it stayed)
    worker => leftAt(worker) > lastJoined || worker.joined === lastJoined
  );
}
