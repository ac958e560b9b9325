/**
 * The spans that tasks and delayed calls were written in. This folder knows no async contexts, so the keeper of spans sets how the open span
 * is found; until then a task costs one comparison more.
 */
type Ask = () => object | null;

// One per process, as the spans themselves are.
const places = new WeakMap<object, object>();
const asking: { ask: Ask | null } = { ask: null };

/** @param ask - called whenever a task is made; null: nowhere in particular. */
export function rememberWhereWritten(ask: Ask): void {
  asking.ask = ask;
}

/** To be called when a node is made. */
export function noteWritten(node: object): void {
  if (asking.ask !== null) {
    const place = asking.ask();
    if (place !== null) {
      places.set(node, place);
    }
  }
}

/** A node was made for another, which was written before. */
export function writtenAs(node: object, original: object): void {
  const place = places.get(original);
  if (place !== undefined) {
    places.set(node, place);
  }
}

/** What `ask` said when the node was made; undefined for nothing. */
export function placeOf(node: object): object | undefined {
  return places.get(node);
}
