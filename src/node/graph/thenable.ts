/**
 * Whether a value is a promise or behaves like one: an object or a function with a method `then`. Query builders are such.
 *
 * @throws what a getter of `then` throws.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    value instanceof Promise ||
    (((typeof value === 'object' && value !== null) ||
      typeof value === 'function') &&
      'then' in value &&
      typeof value.then === 'function')
  );
}
