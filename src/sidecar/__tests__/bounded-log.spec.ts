import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BoundedLog } from '../bounded-log';

describe('a log', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'spanwise-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('keeps its end in whole lines, and says what it dropped', () => {
    const path = join(folder, 'x.log');
    const ours = openSync(path, 'a');
    const theirs = openSync(path, 'a');
    const log = new BoundedLog(path, ours, 10_000, 1_000);
    try {
      const rest = 'x'.repeat(200);
      for (let i = 0; i < 10_000; i++) {
        writeSync(i % 2 === 0 ? ours : theirs, `${i} ${rest}\n`);
        if (i % 50 === 0) {
          log.look();
          expect(statSync(path).size).toBeLessThan(20_000);
        }
      }
      const [first, ...kept] = readFileSync(path, 'utf8').trimEnd().split('\n');
      expect(first).toBe(
        '[Spanwise: 2 MB of this log were dropped, it keeps its end. What tasks print comes here too.]'
      );
      const lines = kept.map(line => Number(/^(\d+) x{200}$/.exec(line)?.[1]));
      expect(lines.at(-1)).toBe(9_999);
      lines.forEach((line, i) => expect(line).toBe(lines[0]! + i));
    } finally {
      log.stop();
      closeSync(ours);
      closeSync(theirs);
    }
  });

  it('is looked at once a second while nobody writes', () => {
    jest.useFakeTimers();
    const path = join(folder, 'x.log');
    const ours = openSync(path, 'a');
    const log = new BoundedLog(path, ours, 10_000, 1_000);
    const look = jest.spyOn(log, 'look');
    const looksIn = (milliseconds: number): number => {
      look.mockClear();
      jest.advanceTimersByTime(milliseconds);
      return look.mock.calls.length;
    };
    try {
      looksIn(1_000);
      expect(looksIn(10_000)).toBe(10);
      writeSync(ours, 'x'.repeat(20_000));
      expect(looksIn(1_000)).toBeGreaterThanOrEqual(1);
      expect(statSync(path).size).toBeLessThan(2_000);
      // Once a look has found what is written, the next ones come as often as before.
      let looks = 0;
      for (let i = 0; i < 20; i++) {
        writeSync(ours, 'x\n');
        looks += looksIn(250);
      }
      expect(looks).toBeGreaterThanOrEqual(16);
      log.stop();
      expect(looksIn(10_000)).toBe(0);
    } finally {
      jest.useRealTimers();
      log.stop();
      closeSync(ours);
    }
  });
});
