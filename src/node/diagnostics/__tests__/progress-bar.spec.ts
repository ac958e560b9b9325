import * as fc from 'fast-check';
import { alias, data, ref, task } from '../../graph/nodes';
import { getAsync } from '../../local/get-async';
import { getSync } from '../../local/get-sync';
import { waitFor } from '../../../testing/wait-for';
import { ProgressBar } from '../progress-bar';
import { LogLines, TerminalBar } from '../progress-output';
import { barText } from '../progress-text';

/** Keeps what is written. */
function output(isTTY: boolean, columns?: number) {
  const writes: string[] = [];
  return {
    isTTY,
    columns,
    write: (text: string) => writes.push(text),
    writes,
    get text() {
      return writes.join('');
    }
  };
}

function wait(seconds: number) {
  const end = performance.now() + 1000 * seconds;
  while (performance.now() < end) {
    // Busy: this is what a task of this thread does.
  }
}

const chain = {
  one: 1,
  a: task(wait, 0.002),
  b: alias('a'),
  c: task(() => 0, ref('b'), ref('one'))
};

describe('ProgressBar', () => {
  it('§2: shows 0% first and 100% once, at the end, with a newline', () => {
    const out = output(true);
    const bar = new ProgressBar({ width: 10, interval: 0.001, out });
    bar.run(() => getSync(chain, 'c'));
    expect(out.writes[0]).toMatch(
      /^\r\[ {10}\] \| 0% Completed \| \d+\.\d\d (us|ms|s)$/
    );
    expect(out.text.match(/100%/g)).toHaveLength(1);
    expect(out.text).toMatch(
      /\r\[#{10}\] \| 100% Completed \| \d+\.\d\d (ms|s) *\n$/
    );
  });

  it('§2: counts aliases and not data', () => {
    const out = output(true);
    new ProgressBar({ interval: 1e-9, out }).run(() => getSync(chain, 'c'));
    const percents = [...out.text.matchAll(/ (\d+)%/g)].map(([, n]) => +n!);
    // Three tasks: a, b, c.
    expect(new Set(percents)).toEqual(new Set([0, 33, 66, 100]));
  });

  it('§2: draws between the tasks of a synchronous run', () => {
    const out = output(true);
    const graph = Object.fromEntries(
      Array.from({ length: 10 }, (_, index) => [`x${index}`, task(wait, 0.003)])
    );
    new ProgressBar({ interval: 0.001, out }).run(() =>
      getSync(graph, Object.keys(graph))
    );
    expect(out.writes.length).toBeGreaterThan(8);
  });

  it('§2: draws by a timer while tasks run elsewhere', async () => {
    const out = output(true);
    const graph = {
      // 0%, and more of it.
      slow: task(() => waitFor('drawings', () => out.writes.length > 4))
    };
    await new ProgressBar({ interval: 0.01, out }).run(() =>
      getAsync(graph, 'slow')
    );
    expect(out.text.match(/ 0%/g)!.length).toBeGreaterThan(4);
  });

  it('§2: ends its line where it was when a task fails', () => {
    const out = output(true);
    const graph = {
      a: task(() => 1),
      b: task(() => {
        throw new Error('broken');
      }, ref('a'))
    };
    const bar = new ProgressBar({ out });
    expect(() => bar.run(() => getSync(graph, 'b'))).toThrow('broken');
    expect(out.text).toMatch(/\[#{20} {20}\] \| 50% Completed \| .*\n$/);
    expect(bar.lastDuration).toBeGreaterThan(0);
  });

  it('§2: a run without a task is complete', () => {
    const out = output(true);
    new ProgressBar({ out }).run(() => getSync({ one: data(1) }, 'one'));
    expect(out.text).toMatch(/^\r\[#{40}\] \| 100% Completed \| .*\n$/);
  });

  it('§2: writes nothing for runs shorter than the minimum, but knows how long they took', () => {
    const out = output(true);
    const bar = new ProgressBar({ minimum: 60, interval: 1e-9, out });
    expect(bar.lastDuration).toBe(0);
    bar.run(() => getSync(chain, 'c'));
    expect(out.text).toBe('');
    expect(bar.lastDuration).toBeGreaterThan(0.001);
  });

  it('§2: a longer run is shown from the minimum on', () => {
    const out = output(true);
    // By a clock that the tasks alone move on.
    let now = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    const graph = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [
        `x${index}`,
        task(() => void (now += 10))
      ])
    );
    const bar = new ProgressBar({ minimum: 0.05, interval: 0.001, out });
    bar.run(() => getSync(graph, Object.keys(graph)));
    clock.mockRestore();
    // Five of twelve tasks end at 50 ms.
    const [, first] = / (\d+)%/.exec(out.writes[0]!)!;
    expect(first).toBe('41');
    expect(out.text).toMatch(/100% .*\n$/);
    expect(bar.lastDuration).toBe(0.12);
  });

  it('§2: of a graph that cannot run it ends its line at 0%', () => {
    const out = output(true);
    const cycle = { a: task(wait, ref('a') as never) };
    const bar = new ProgressBar({ out });
    expect(() => bar.run(() => getSync(cycle, 'a'))).toThrow('Cycle');
    expect(out.text).toMatch(/^\r\[ {40}\] \| 0% Completed \| .*\n$/);
  });

  it('§2: writes to the standard output of when it was made', () => {
    const out = output(true);
    const own = Object.getOwnPropertyDescriptor(process, 'stdout')!;
    Object.defineProperty(process, 'stdout', { ...own, get: () => out });
    let bar: ProgressBar;
    try {
      bar = new ProgressBar();
    } finally {
      Object.defineProperty(process, 'stdout', own);
    }
    bar.run(() => getSync(chain, 'c'));
    expect(out.text).toContain('100% Completed');
  });

  it('§2: several at once all draw', () => {
    const out = output(true);
    const [wide, narrow] = [30, 5].map(
      width => new ProgressBar({ width, out })
    );
    wide!.run(() => narrow!.run(() => getSync(chain, 'c')));
    expect(out.text).toMatch(/\[#{30}\] \| 100%/);
    expect(out.text).toMatch(/\[#{5}\] \| 100%/);
  });

  it('§2: registered, it shows every run; unregistered, none', () => {
    const out = output(true);
    const bar = new ProgressBar({ out });
    bar.register();
    try {
      getSync(chain, 'c');
      getSync(chain, 'a');
    } finally {
      bar.unregister();
    }
    getSync(chain, 'c');
    expect(out.text.match(/100%/g)).toHaveLength(2);
  });

  it('§2: shows two runs at once, each with its own count', async () => {
    const out = output(true);
    const pause = () => new Promise(resolve => setTimeout(resolve, 5));
    const bar = new ProgressBar({ out });
    await bar.run(() =>
      Promise.all([
        getAsync({ a: task(pause) }, 'a'),
        getAsync({ b: task(pause) }, 'b')
      ])
    );
    expect(out.text.match(/100%/g)).toHaveLength(2);
  });

  it('§2: what cannot overwrite a line gets whole lines, few of them', () => {
    const out = output(false);
    const graph = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [
        `x${index}`,
        task(wait, 0.0002)
      ])
    );
    new ProgressBar({ interval: 0.001, out }).run(() =>
      getSync(graph, Object.keys(graph))
    );
    expect(out.text).toMatch(
      /^([1-9]?\d% Completed \| \d+ of 200 tasks \| .* s\n)*100% Completed \| 200 of 200 tasks \| \d+\.\d\d m?s\n$/
    );
  });

  it('§2: a log of an hour has a few dozen lines at most', () => {
    const out = output(false);
    const lines = new LogLines(out);
    for (let tick = 0; tick <= 36_000; tick++) {
      lines.draw({ finished: Math.floor(tick / 36), total: 1000 }, tick / 10);
    }
    expect(out.writes.length).toBeGreaterThan(10);
    expect(out.writes.length).toBeLessThan(80);
    expect(out.text).not.toMatch(/[\r\u001b]/);
  });

  it('§2: a shorter text covers the one before, and a narrow terminal is not overrun', () => {
    const out = output(true, 60);
    const bar = new TerminalBar(out, 40);
    bar.draw({ finished: 1, total: 2 }, 0.99999);
    bar.draw({ finished: 1, total: 2 }, 1);
    const [longer, shorter] = out.writes as [string, string];
    expect(shorter.length).toBe(longer.length);
    expect(longer.length).toBeLessThanOrEqual(60);
  });

  it('§2: bar and per cent are truncated', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 5000 }),
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 0, max: 100 }),
        (finished, total, width) => {
          fc.pre(finished <= total);
          const text = barText(finished / total, 1, width);
          const [, bar, percent] = /^\[(#* *)\] \| (\d+)%/.exec(text)!;
          expect(bar).toHaveLength(width);
          expect(percent === '100').toBe(finished === total);
          expect(bar!.includes(' ') || width === 0).toBe(
            finished < total || width === 0
          );
        }
      )
    );
  });

  it('§2: a closed stream is no reason to fail', () => {
    const out = { ...output(true), writable: false };
    new ProgressBar({ out }).run(() => getSync(chain, 'c'));
    expect(out.writes).toEqual([]);
  });

  it.each([{ minimum: -1 }, { interval: 0 }, { width: 1.5 }])(
    '§2: refuses %j',
    options => {
      expect(() => new ProgressBar(options)).toThrow(RangeError);
    }
  );
});

describe('a terminal that is narrower than the figures', () => {
  it.each([1, 8, 20])('of %d letters is never broken into lines', columns => {
    const out = output(true, columns);
    const bar = new ProgressBar({ interval: 1e-9, out });
    bar.run(() => getSync(chain, 'c'));
    const lines = out.text.replace('\n', '').split('\r').slice(1);
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) {
      expect(line.length).toBeLessThan(columns);
    }
  });

  it('is not what a terminal is that does not know its width', () => {
    const out = output(true, 0);
    new ProgressBar({ width: 10, out }).run(() => getSync(chain, 'c'));
    expect(out.text).toContain('[##########] | 100% Completed');
  });
});

it('draws once and at the end with an interval that no timer can wait', async () => {
  const out = output(true);
  const bar = new ProgressBar({ interval: 1e9, out });
  const pause = () => new Promise(resolve => setTimeout(resolve, 30));
  await bar.run(() =>
    getAsync({ a: task(pause), b: task(pause, ref('a')) }, 'b')
  );
  expect(out.text.match(/Completed/g)).toHaveLength(2);
});
