import { monotonicClock } from '../monotonic';

afterEach(() => {
  jest.restoreAllMocks();
});

describe('the clock of all links', () => {
  it('is right although the core was lost while it was set', () => {
    const real = performance.now.bind(performance);
    let calls = 0;
    jest
      .spyOn(performance, 'now')
      // Between the first reading of the one clock and that of the other, 50 ms pass.
      .mockImplementation(() => real() + (calls++ === 0 ? 50 : 0));
    const now = monotonicClock();
    const before = Number(process.hrtime.bigint()) * 1e-9;
    const read = now();
    const after = Number(process.hrtime.bigint()) * 1e-9;
    expect(read).toBeGreaterThan(before - 1e-3);
    expect(read).toBeLessThan(after + 1e-3);
  });
});
