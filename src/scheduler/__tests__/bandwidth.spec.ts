import { MeasuredBandwidth } from '../bandwidth';

describe('the bandwidth between workers', () => {
  it('is what transfers have, after a few of them', () => {
    const bandwidth = new MeasuredBandwidth(500e6, 0.001);
    expect(bandwidth.bytesPerSecond).toBeCloseTo(500e6);
    for (let i = 0; i < 20; i++) {
      bandwidth.add(25e6, 0.101);
    }
    expect(bandwidth.bytesPerSecond / 250e6).toBeCloseTo(1, 1);
    for (let i = 0; i < 100; i++) {
      bandwidth.add(100e6, 0.101);
    }
    expect(bandwidth.bytesPerSecond / 1e9).toBeCloseTo(1, 1);
  });

  it.each([
    ['small', 50e3, 1],
    ['as quick as none', 1e6, 0.0005],
    ['not a number', NaN, 1],
    ['of endless bytes', Infinity, 1],
    ['of endless time', 1e6, Infinity]
  ])('does not count a transfer that is %s', (_, bytes, seconds) => {
    const bandwidth = new MeasuredBandwidth(500e6, 0.001);
    bandwidth.add(bytes, seconds);
    expect(bandwidth.bytesPerSecond).toBeCloseTo(500e6);
  });
});
