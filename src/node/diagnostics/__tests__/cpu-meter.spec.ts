import * as fc from 'fast-check';
import { CpuMeter } from '../cpu-meter';

const reading = (id: string, cpuSeconds: number) => ({
  id,
  cpuSeconds,
  residentBytes: 0
});

describe('§3.2 CPU per cent', () => {
  it('§3.2: is CPU time since the reading before, of one core, summed over processes', () => {
    const meter = new CpuMeter();
    meter.prime([reading('p', 3), reading('r', 8)], 10);
    const percent = meter.percent([reading('p', 3.9), reading('q', 0.2)], 11);
    expect(percent).toBeCloseTo(110, 9);
  });

  it('§3.2: is primed: what was used before does not count', () => {
    const meter = new CpuMeter();
    meter.prime([reading('p', 500)], 0);
    expect(meter.percent([reading('p', 500)], 1)).toBe(0);
  });

  it('§3.2: repeats itself over stretches shorter than two ticks of the counters', () => {
    const meter = new CpuMeter();
    meter.prime([reading('p', 0)], 0);
    expect(meter.percent([reading('p', 0.5)], 1)).toBeCloseTo(50, 9);
    expect(meter.percent([reading('p', 0.51)], 1.001)).toBeCloseTo(50, 9);
    // The CPU time that was skipped counts in the next stretch.
    expect(meter.percent([reading('p', 1)], 2)).toBeCloseTo(50, 9);
  });

  it('§3.2: its parts add up to all CPU time used', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            seconds: fc.double({ min: 0.02, max: 5, noNaN: true }),
            used: fc.double({ min: 0, max: 5, noNaN: true })
          }),
          { minLength: 1, maxLength: 20 }
        ),
        steps => {
          const meter = new CpuMeter(Infinity);
          let at = 0;
          let total = 0;
          let cpu = 0;
          meter.prime([], 0);
          for (const { seconds, used } of steps) {
            const before = at;
            at += seconds;
            cpu += used;
            total +=
              (meter.percent([reading('p', cpu)], at) / 100) * (at - before);
          }
          fc.pre(steps.every(({ seconds }) => seconds > 0.021));
          expect(total).toBeCloseTo(cpu, 6);
        }
      )
    );
  });

  it('a process that one reading left out is not taken for one that has just begun', () => {
    const meter = new CpuMeter(4);
    meter.prime([reading('p', 100), reading('q', 100)], 0);
    expect(meter.percent([reading('p', 100)], 1)).toBe(0);
    const both = [reading('p', 100), reading('q', 101)];
    expect(meter.percent(both, 2)).toBeCloseTo(100, 9);
  });

  it('a process that comes under this one with a past has used no more than all cores since', () => {
    const meter = new CpuMeter(2);
    meter.prime([], 0);
    expect(meter.percent([reading('old', 5000)], 1)).toBeCloseTo(201, 9);
  });
});
