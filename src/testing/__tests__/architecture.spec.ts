/**
 * ARCHITECTURE.md names the folders that exist and the imports that are allowed.
 */
import { readFileSync, readdirSync } from 'node:fs';
import * as path from 'node:path';

const root = path.resolve(__dirname, '..', '..', '..');
const text = readFileSync(path.join(root, 'ARCHITECTURE.md'), 'utf8');

/** The cells of the table rows between a heading and the next one. */
function tableUnder(heading: string): string[][] {
  const section = text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0];
  if (section === undefined) {
    throw new Error(`ARCHITECTURE.md has no section "${heading}"`);
  }
  return section
    .split('\n')
    .filter(line => line.startsWith('| `'))
    .map(line =>
      line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim())
    );
}

/** "`base`, `records`" are two names, "—" is none. */
function namesIn(cell: string | undefined): string[] {
  return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(found => found[1] ?? '');
}

/** Folders that hold at least one source file, at any depth. */
function foldersOf(parent: string): string[] {
  return readdirSync(path.join(root, parent), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .filter(entry =>
      readdirSync(path.join(root, parent, entry.name), {
        recursive: true,
        encoding: 'utf8'
      }).some(name => /\.(tsx?|py)$/.test(name))
    )
    .map(entry => `${parent}/${entry.name}`);
}

describe('ARCHITECTURE.md', () => {
  it('lists the folders of src and spanwise, no more and no fewer', () => {
    const listed = tableUnder('Folders').flatMap(cells => namesIn(cells[0]));
    const existing = [...foldersOf('src'), ...foldersOf('spanwise')];
    expect(listed.sort()).toEqual(existing.sort());
  });

  it.each([...foldersOf('src'), ...foldersOf('spanwise')])(
    'has a README in %s',
    folder => {
      const readme = path.join(root, folder, 'README.md');
      const lines = readFileSync(readme, 'utf8').trim().split('\n');
      expect(lines[0]).toBe(`# ${folder.replace(/^(src|spanwise)\//, '')}`);
      expect(lines.length).toBeGreaterThan(2);
    }
  );

  it('names every other folder of the checkout', () => {
    const made = readFileSync(path.join(root, '.gitignore'), 'utf8')
      .split('\n')
      .map(line => line.replace(/\/$/, ''));
    const existing = readdirSync(root, { withFileTypes: true })
      .filter(entry => entry.isDirectory() && entry.name !== '.git')
      .map(entry => entry.name)
      .filter(
        name => !made.includes(name) && !['src', 'spanwise'].includes(name)
      );
    const elsewhere = text.split('\nElsewhere: ')[1]!.split('\n')[0];
    expect(namesIn(elsewhere).sort()).toEqual(existing.sort());
  });

  it.each([
    ['import-table.json', 'src', 'Who may import whom'],
    ['python-import-table.json', 'spanwise', 'Who may import whom in Python']
  ])('shows the table %s that a check enforces', (file, inside, heading) => {
    const { rows } = JSON.parse(
      readFileSync(path.join(root, 'scripts', file), 'utf8')
    ) as { rows: Record<string, string | string[]>[] };
    const shown = tableUnder(heading).map(cells => ({
      folder: namesIn(cells[0])[0],
      [inside]: namesIn(cells[1]),
      outside: namesIn(cells[2])
    }));
    expect(shown).toEqual(rows);
  });
});
