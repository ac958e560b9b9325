/** The reader of comments finds what it must, and what is missing. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { markdownExamples, publicNames } from './public-names';

const FENCE = '```';
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'spanwise-names-'));
  writeFileSync(
    join(folder, 'things.ts'),
    `
/**
 * A thing: it has a size. It may also have more.
 *
 * @group Things
 * @example With a caption
 * ${FENCE}ts
 * console.log(1);
 *
 *   // → indented
 * ${FENCE}
 * @example
 * ${FENCE}ts
 * console.log(2);
 * ${FENCE}
 */
export class Thing {
  /**
   * Its size.
   *
   * @example
   * ${FENCE}ts
   * console.log(3);
   * ${FENCE}
   */
  size = 1;
}

/**
 * Options.
 *
 * ${FENCE}ts
 * stray();
 * ${FENCE}
 *
 * ${FENCE}
 * a drawing
 * ${FENCE}
 */
export type Options = {
  /** See ${FENCE}ts no block ${FENCE}. */
  a?: number;
};

export function bare(): void {}

/** Of a variable. @group Things */
export const value = 1;
`
  );
  writeFileSync(
    join(folder, 'index.ts'),
    "export { Thing, type Options, bare as renamed, value } from './things';\n"
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('publicNames', () => {
  it('finds values, types and renamed ones with what their comments say', () => {
    const names = publicNames(join(folder, 'index.ts'));
    expect(names).toEqual([
      {
        name: 'Thing',
        summary: 'A thing:',
        groups: ['Things'],
        examples: [
          { title: 'Thing 1', code: 'console.log(1);\n\n  // → indented\n' },
          { title: 'Thing 2', code: 'console.log(2);\n' }
        ],
        memberExamples: [{ title: 'Thing, member', code: 'console.log(3);\n' }],
        strayCode: []
      },
      {
        name: 'Options',
        summary: 'Options.',
        groups: [],
        examples: [],
        memberExamples: [],
        strayCode: ['stray();']
      },
      {
        name: 'renamed',
        summary: '',
        groups: [],
        examples: [],
        memberExamples: [],
        strayCode: []
      },
      {
        name: 'value',
        summary: 'Of a variable.',
        groups: [],
        examples: [],
        memberExamples: [],
        strayCode: []
      }
    ]);
  });

  it('takes the programs of a page, and no other blocks', () => {
    const page = join(folder, 'page.md');
    writeFileSync(
      page,
      `# Page\n\n${FENCE}ts\na();\n${FENCE}\n\n${FENCE}bash\nb\n${FENCE}\n\n${FENCE}ts\nc();\n${FENCE}\n`
    );
    expect(markdownExamples(page, 'page')).toEqual([
      { title: 'page 1', code: 'a();\n' },
      { title: 'page 2', code: 'c();\n' }
    ]);
  });
});
