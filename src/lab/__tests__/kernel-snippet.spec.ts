import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import * as fc from 'fast-check';
import {
  attachExpression,
  letGoExpression,
  readAttached,
  readSeen,
  seenExpression
} from '../kernel-snippet';

type Content = Parameters<typeof readSeen>[0];

/** The reply of a kernel to which an expression was given. */
const reply = (answer: unknown): Content =>
  ({
    status: 'ok',
    user_expressions: {
      answer: {
        status: 'ok',
        data: { 'application/json': answer, 'text/plain': 'Spanwise' }
      }
    }
  }) as unknown as Content;

const attached = (answer: unknown) =>
  readAttached(
    reply(answer),
    other => (other === null ? 'install' : `install beside ${other}`),
    'unreadable'
  );

/** As pip reads it of the wheel. */
const [, FIRST_DASK, BEYOND_DASK] = /"dask>=([\d.]+),<([\d.]+)"/u.exec(
  readFileSync(path.join(__dirname, '..', '..', '..', 'pyproject.toml'), 'utf8')
) as unknown as [string, string, string];

/** The release with one less in the last place. */
function before(release: string): string {
  const parts = release.split('.').map(Number);
  return [...parts.slice(0, -1), parts.at(-1)! - 1].join('.');
}

describe('what a kernel says of its clusters', () => {
  it('is read', () => {
    const cluster = {
      address: 'tcp://127.0.0.1:8786',
      workers: 4,
      threads: 8,
      dashboard: 'http://127.0.0.1:8787/status',
      shownAs: ''
    };
    expect(readSeen(reply({ clusters: [cluster] }))).toEqual([cluster]);
  });

  it('is bounded, whatever it holds, and never throws', () => {
    const field = fc.oneof(fc.anything(), fc.string(), fc.nat());
    const cluster = fc.oneof(
      fc.anything(),
      fc.record({
        address: field,
        workers: field,
        threads: field,
        dashboard: field,
        shownAs: field
      })
    );
    const answer = fc.oneof(
      fc.anything(),
      fc.record({ clusters: fc.array(cluster, { maxLength: 60 }) })
    );
    fc.assert(
      fc.property(answer, told => {
        const seen = readSeen(reply(told));
        expect(seen.length).toBeLessThanOrEqual(20);
        for (const each of seen) {
          expect(each.address).not.toBe('');
          expect(each.address.length).toBeLessThanOrEqual(500);
          expect(Number.isInteger(each.workers)).toBe(true);
          expect(each.workers).toBeGreaterThanOrEqual(0);
          expect(typeof each.shownAs).toBe('string');
        }
        expect(Object.keys(attached(told))).toHaveLength(1);
      })
    );
  });

  it('is nothing if the kernel failed', () => {
    expect(readSeen({ status: 'error' } as unknown as Content)).toEqual([]);
    expect(readSeen({ status: 'aborted' } as unknown as Content)).toEqual([]);
  });
});

describe('what came of attaching', () => {
  it.each([
    [{ cluster: 'dask-1' }, { cluster: 'dask-1' }],
    [{ problem: 'Nobody answers.' }, { problem: 'Nobody answers.' }],
    [{ missing: 'No module named spanwise' }, { problem: 'install' }],
    [{}, { problem: 'unreadable' }],
    [{ cluster: 7 }, { problem: 'unreadable' }]
  ])('%j', (answer, result) => {
    expect(attached(answer)).toEqual(result);
  });

  it.each([
    ['2024.5.0', true],
    ['2025.12.0', true],
    [before(FIRST_DASK), true],
    [FIRST_DASK, false],
    [`${FIRST_DASK}+4.gabc`, false],
    [`${before(BEYOND_DASK)}.9`, false],
    [BEYOND_DASK, true],
    [`${BEYOND_DASK}.0`, true],
    ['2027.1.0+4.gabc', true],
    ['', false],
    ['main', false]
  ])(
    'leaves a Dask as it is that is older or newer than the wheel takes: %s',
    (dask, isOutside) => {
      expect(attached({ missing: '', dask })).toEqual({
        problem: isOutside ? `install beside ${dask}` : 'install'
      });
    }
  );
});

describe('the expressions', () => {
  it('are one line each: an expression of several would be none', () => {
    for (const each of [
      seenExpression(),
      attachExpression('tcp://a\n"b'),
      letGoExpression('a\n"b')
    ]) {
      expect(each).not.toContain('\n');
    }
  });

  it.each([
    ['an address', attachExpression],
    ['an id', letGoExpression]
  ])('give texts as texts: what stands in %s is not run', (_, of) => {
    const hostile = '"); import os; os.abort(); ("';
    const expression = of(hostile);
    const literal = /exec\(("(?:[^"\\]|\\.)*"), names\)/.exec(expression)?.[1];
    const program = JSON.parse(literal!) as string;
    expect(program.split('\n')[0]).toContain(JSON.stringify(hostile));
    // Nothing of it stands outside the literal.
    expect(expression.replace(literal!, '')).toBe(
      '(lambda names: exec(, names) or names["answer"])({})'
    );
  });
});
