/** Each section of the specification has tests that are named by it, and a row in the pages that compare with Dask. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const checkout = resolve(__dirname, '..', '..', '..');
const sections = [
  ...['1.1', '1.2', '1.3', '1.4', '1.5', '1.6', '1.7', '1.8', '1.9'],
  ...['2', '3', '3.1', '3.2', '3.3', '4', '4.1', '4.2', '4.3', '4.4', '4.5'],
  ...['6.1', '6.2', '6.3', '6.4', '6.5', '6.6', '6.7']
];

/** Sections in the names of `describe` and `it` below src/node. */
function testedSections(): Set<string> {
  const folder = join(checkout, 'src', 'node');
  const found = new Set<string>();
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    if (name.endsWith('.spec.ts') && !__filename.endsWith(name)) {
      const text = readFileSync(join(folder, name), 'utf8');
      const titles = /\b(?:it|describe)(?:\.each[^]*?\))?\(\s*['`](.*)['`],/g;
      for (const [, title] of text.matchAll(titles)) {
        for (const [, section] of title!.matchAll(/§(\d(?:\.\d)?)/g)) {
          found.add(section!);
        }
      }
    }
  }
  return found;
}

/** Sections that begin a row, or a heading over rows, of a page. */
function comparedSections(page: string): Set<string> {
  const text = readFileSync(join(checkout, 'docs', page), 'utf8');
  const found = new Set<string>();
  let heading = '';
  for (const line of text.split('\n')) {
    heading = /^#+ §?(\d(?:\.\d)?) /.exec(line)?.[1] ?? heading;
    if (/^#+ [^§\d]/.test(line)) {
      heading = '';
    }
    const cells = line.split(' | ').map(cell => cell.replace(/\|/g, '').trim());
    if (line.startsWith('| ') && /\b(same|different)\b/.test(line)) {
      const own = /^\d(?:\.\d)?(?:, \d\.\d)*$/.test(cells[0]!)
        ? cells[0]!.split(', ')
        : [heading];
      own.forEach(section => found.add(section));
    }
  }
  return found;
}

describe('the sections of the specification', () => {
  it('have tests', () => {
    const tested = testedSections();
    expect(sections.filter(section => !tested.has(section))).toEqual([]);
  });

  it('are compared with Dask', () => {
    const compared = new Set([
      ...comparedSections('local-schedulers.md'),
      ...comparedSections('local-diagnostics.md')
    ]);
    expect(sections.filter(section => !compared.has(section))).toEqual([]);
  });
});
