/** oxlint, as the project sets it, finds promises that nobody waits for, and switches that lack a case. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

const ROOT = path.resolve(__dirname, '..', '..', '..');
const PLANTED = `export async function later(): Promise<void> {
  await Promise.resolve();
}
export function planted(kind: 'a' | 'b'): number {
  later();
  [1].forEach(async () => {
    await later();
  });
  switch (kind) {
    case 'a':
      return 1;
  }
  return 2;
}
`;

it('finds them, and nothing where they are mended', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'spanwise-oxlint-'));
  try {
    const options = { strict: true, target: 'es2022', noEmit: true };
    writeFileSync(
      path.join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: ['planted.ts'] })
    );
    expect(rulesBroken(folder, PLANTED)).toEqual([
      'no-floating-promises',
      'no-misused-promises',
      'switch-exhaustiveness-check'
    ]);
    const mended = PLANTED.replace('later();', 'void later();')
      .replace('async () => {\n    await later();', '() => {')
      .replace("case 'a':", "case 'a':\n    case 'b':");
    expect(rulesBroken(folder, mended)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function rulesBroken(folder: string, text: string): string[] {
  writeFileSync(path.join(folder, 'planted.ts'), text);
  const programs = path.join(ROOT, 'node_modules', '.bin');
  const settings = path.join(ROOT, '.oxlintrc.json');
  const { stdout, stderr } = spawnSync(
    path.join(programs, 'oxlint'),
    ['--type-aware', '--format', 'json', '-c', settings, 'planted.ts'],
    {
      cwd: folder,
      encoding: 'utf8',
      // It looks for this one in the folder's own packages only.
      env: {
        ...process.env,
        OXLINT_TSGOLINT_PATH: path.join(programs, 'tsgolint')
      }
    }
  );
  expect(stderr).toBe('');
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: readonly { code: string }[];
  };
  return diagnostics
    .map(({ code }) => /\((.*)\)/.exec(code)?.[1] ?? code)
    .sort();
}
