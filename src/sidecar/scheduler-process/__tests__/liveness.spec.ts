import { hostname } from 'node:os';
import fc from 'fast-check';
import { Liveness, SILENT_TTLS } from '../liveness';
import { processState, type ProcessState } from '../process-state';
import { WorkerSession } from '../worker-session';

const STOPPED: ProcessState = { isStopped: true, isBusy: false, cpuTicks: 9 };
const BUSY: ProcessState = { isStopped: false, isBusy: true, cpuTicks: 9 };
const ASLEEP: ProcessState = { isStopped: false, isBusy: false, cpuTicks: 9 };
const TTL = 8;

/** A worker that is looked at; `looks` gives what the system says each time, `hears` a message before the look. */
function watched(host = hostname(), ttlSeconds = TTL) {
  const session = new WorkerSession(
    {} as WorkerSession['link'],
    { worker: 1, pid: 7, host } as WorkerSession['intro']
  );
  const standings: string[] = [];
  const out: string[] = [];
  let state: ProcessState | null = null;
  const liveness = new Liveness(
    {
      standingChanged: ({ standing }) => standings.push(standing),
      takeOut: (_session, why) => out.push(why)
    },
    ttlSeconds,
    () => state
  );
  let now = 100;
  liveness.look([session], now);
  return {
    session,
    standings,
    out,
    liveness,
    look(said: ProcessState | null, seconds = 1, hears = false): void {
      state = said;
      session.heard += hears ? 1 : 0;
      now += seconds;
      liveness.look([session], now);
    }
  };
}

describe('a worker', () => {
  it('that is stopped is said to be, and taken out after the limit', () => {
    const { look, standings, out } = watched();
    for (let i = 0; i < TTL - 1; i++) {
      look(STOPPED);
    }
    expect(standings).toEqual(['stopped']);
    expect(out).toEqual([]);
    look(STOPPED);
    expect(out).toEqual([`was stopped (SIGSTOP or a debugger) for ${TTL} s`]);
  });

  it('that goes on in time starts its count again', () => {
    const { look, standings, out } = watched();
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < TTL - 1; i++) {
        look(STOPPED);
      }
      look(ASLEEP, 1, true);
    }
    expect(out).toEqual([]);
    expect(standings).toEqual(Array(3).fill(['stopped', 'well']).flat());
  });

  it('at rest is not taken out by a short limit', () => {
    const { look, standings, out, liveness } = watched(hostname(), 0.1);
    // A message each two seconds.
    for (let i = 1; i < 1000; i++) {
      look(ASLEEP, liveness.lookSeconds, i % 80 === 0);
    }
    expect([standings, out]).toEqual([[], []]);
  });

  it('that is silent and at work is well for ever', () => {
    const { look, standings, out } = watched();
    for (let i = 0; i < 1000; i++) {
      look(i % 2 === 0 ? BUSY : { ...ASLEEP, cpuTicks: i });
    }
    expect([standings, out]).toEqual([[], []]);
  });

  it.each([
    ['sleeps', hostname(), ASLEEP],
    ['is on another machine', 'elsewhere', STOPPED],
    ['cannot be looked at', hostname(), null]
  ])('that is silent and %s has much longer', (_what, host, said) => {
    const { look, standings, out } = watched(host);
    for (let i = 0; i < SILENT_TTLS * TTL - 2; i++) {
      look(said);
    }
    expect([standings, out]).toEqual([['silent'], []]);
    for (let i = 0; i < 4; i++) {
      look(said);
    }
    expect(out[0]).toMatch('said nothing for 80 s');
  });

  it('is not blamed for time in which this process was stopped too', () => {
    const { look, out } = watched();
    look(STOPPED);
    look(STOPPED, 3600);
    expect(out).toEqual([]);
  });

  it('is taken out when it was stopped for the limit without a break, and only then', () => {
    const step = fc.constantFrom('stopped', 'busy', 'heard');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const { look, out } = watched();
        let stoppedSeconds = 0;
        let due = 0;
        for (const one of steps) {
          look(one === 'stopped' ? STOPPED : BUSY, 1, one === 'heard');
          stoppedSeconds = one === 'stopped' ? stoppedSeconds + 1 : 0;
          due += stoppedSeconds >= TTL ? 1 : 0;
        }
        expect(out).toHaveLength(due);
      })
    );
  });
});

(process.platform === 'linux' ? it : it.skip)(
  'the system says of this very process that it is at work',
  () => {
    expect(processState(process.pid)).toMatchObject({ isStopped: false });
    expect(processState(process.pid)!.cpuTicks).toBeGreaterThan(0);
    expect(processState(2 ** 30)).toBeNull();
  }
);
