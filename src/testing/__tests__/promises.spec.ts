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
    const mended = PLANTED.replace('later();', 'void later();')
      .replace('async () => {\n    await later();', '() => {')
      .replace("case 'a':", "case 'a':\n    case 'b':");
    expect(
      rulesBroken(folder, { 'planted.ts': PLANTED, 'mended.ts': mended })
    ).toEqual({
      'planted.ts': [
        'no-floating-promises',
        'no-misused-promises',
        'switch-exhaustiveness-check'
      ]
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** By file. Of both in one go, and without the types of browsers: they are most of what the compiler reads. */
function rulesBroken(
  folder: string,
  texts: Readonly<Record<string, string>>
): Record<string, string[]> {
  const files = Object.keys(texts);
  for (const file of files) {
    writeFileSync(path.join(folder, file), texts[file]!);
  }
  const compilerOptions = {
    strict: true,
    target: 'es2022',
    lib: ['es2022'],
    types: [],
    noEmit: true
  };
  writeFileSync(
    path.join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files })
  );
  const programs = path.join(ROOT, 'node_modules', '.bin');
  const settings = path.join(ROOT, '.oxlintrc.json');
  const { stdout, stderr } = spawnSync(
    path.join(programs, 'oxlint'),
    ['--type-aware', '--format', 'json', '-c', settings, ...files],
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
  const { diagnostics, number_of_files: looked } = JSON.parse(stdout) as {
    diagnostics: readonly { code: string; filename: string }[];
    number_of_files: number;
  };
  expect(looked).toBe(files.length);
  const broken: Record<string, string[]> = {};
  for (const { code, filename } of diagnostics) {
    const rule = /\((.*)\)/.exec(code)?.[1] ?? code;
    (broken[filename] ??= []).push(rule);
  }
  for (const rules of Object.values(broken)) {
    rules.sort();
  }
  return broken;
}
