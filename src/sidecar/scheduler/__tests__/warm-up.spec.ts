import { monotonicClock } from '../../../link/monotonic';
import { warmUp } from '../warm-up';

it('warms up without a word, and stops when real work comes', async () => {
  let slices = 0;
  await warmUp(monotonicClock(), () => ++slices < 4);
  expect(slices).toBe(4);
});
