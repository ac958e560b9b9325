/** The TypeScript examples, compiled and run as a user does. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const root = resolve(__dirname, '..', '..', '..');
let examples: string;
let folder: string;

beforeAll(() => {
  examples = execFileSync(process.execPath, ['scripts/build-examples.mjs'], {
    cwd: root,
    encoding: 'utf8',
    timeout: 200_000
  }).trim();
  folder = mkdtempSync(join(tmpdir(), 'spanwise-examples-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

async function run(name: string, ...args: string[]) {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [join(examples, name), ...args],
    { cwd: folder, timeout: 200_000 }
  );
  expect(stderr).toBe('');
  return stdout;
}

describe('examples', () => {
  it('print-keys prints the keys in order, by class and by hook', async () => {
    const once = 'Computing: a!\nComputing: b!\nComputing: c!\n7\n';
    expect(await run('print-keys.js')).toBe(once + once);
  });

  it('count-words counts the words of a folder and shows progress', async () => {
    const output = await run('count-words.js', join(root, 'docs'));
    const lines = output.trim().split('\n');
    const [bar, files, ...words] = lines.slice(-7);
    expect(bar).toMatch(/^100% Completed \| (\d+) of \1 tasks \| /);
    expect(files).toMatch(/^\d\d? files$/);
    const [, count, word] = /^ *(\d+) (\S+)$/.exec(words[0]!)!;
    const found = readFileSync(join(root, 'docs', 'limits.md'), 'utf8')
      .toLowerCase()
      .split(/[^\p{Letter}]+/u)
      .filter(each => each === word).length;
    expect(Number(count)).toBeGreaterThanOrEqual(found);
    expect(words).toHaveLength(5);
  });

  it('tall-skinny-svd finds the singular values and draws all three profilers', async () => {
    const file = join(folder, 'svd.html');
    const output = await run('tall-skinny-svd.js', file);
    expect(output).toMatch(/^largest singular values: \d+\.\d\d, /);
    const [, exponent] = /^largest error: \de-(\d+)$/m.exec(output)!;
    expect(Number(exponent)).toBeGreaterThanOrEqual(12);
    const [, tasks, samples, results] =
      /^(\d+) tasks, (\d+) samples, (\d+) results$/m.exec(output)!;
    // Seven per block, and three.
    expect([Number(tasks), Number(results)]).toEqual([59, 59]);
    expect(Number(samples)).toBeGreaterThan(0);
    expect(readFileSync(file, 'utf8').startsWith('<!doctype html>')).toBe(true);
  });
});
