import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../../testing/wait-for';
import { processStat } from '../process-stat';

describe('what Linux tells of a process', () => {
  it.each(['plain', 'a) R (b', ') 1 2 3'])(
    'is read whatever its name is (%j)',
    async name => {
      const folder = mkdtempSync(join(tmpdir(), 'spanwise-stat-'));
      const program = join(folder, name);
      symlinkSync(process.execPath, program);
      const child = spawn(program, ['-e', 'process.stdin.resume()']);
      try {
        await new Promise((resolve, reject) =>
          child.once('spawn', resolve).once('error', reject)
        );
        process.kill(child.pid!, 'SIGSTOP');
        const here = processStat(process.pid)!;
        const words = await waitFor('it has stopped', () => {
          const read = processStat(child.pid!)!;
          return read[0] === 'T' && read;
        });
        expect(words[1]).toBe(`${process.pid}`);
        // It has started later.
        expect(Number(words[19])).toBeGreaterThan(Number(here[19]));
      } finally {
        child.kill('SIGKILL');
        rmSync(folder, { recursive: true });
      }
    }
  );
});
