import { complete } from '../folds/context';
import { warmUp } from '../warm-up';

it('warms up in slices and ends', () => {
  const slices = warmUp();
  expect(slices.next().done).toBe(false);
  expect(() => complete(slices)).not.toThrow();
});
