/** What the benchmarks in TypeScript share: their arguments, and how they hand over what they found (`verdicts.py` judges it). */
import { writeFileSync } from 'node:fs';

/** One figure; `Figure` in verdicts.py describes its fields. */
export type Figure = {
  readonly row: string;
  readonly column: string;
  readonly unit: string;
  readonly better: 'lower' | 'higher';
  readonly samples: readonly number[];
  readonly over?: readonly number[];
  readonly limit?: number;
  readonly tracked?: boolean;
};

/** The text after a name on the command line. */
export function textArgument(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at === -1 ? undefined : process.argv[at + 1];
}

/** The number after a name on the command line. */
export function argument(name: string, fallback: number): number {
  return Number(textArgument(name) ?? fallback);
}

export function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

export function median(values: readonly number[]): number {
  return sorted(values)[values.length >> 1]!;
}

/** Single figures by names that say their unit (`first tile, ms`): of frames more is better, of all else less. */
export function figuresNamed(
  found: Readonly<Record<string, number>>,
  limits: Readonly<Record<string, number>>
): Figure[] {
  const unlisted = Object.keys(limits).filter(name => !(name in found));
  if (unlisted.length > 0) {
    throw new Error(`Not measured, though limited: ${unlisted.join('; ')}`);
  }
  return Object.entries(found).map(([row, value]) => ({
    row,
    column: 'figure',
    unit: '',
    better: /second$|frames that drew/.test(row) ? 'higher' : 'lower',
    samples: [value],
    limit: limits[row]
  }));
}

/**
 * Writes the file that `python -m benchmarks` asks for with `--findings`; without it nobody keeps or judges the figures.
 *
 * @param details - whatever else is worth keeping.
 */
export function handOver(
  settings: Readonly<Record<string, unknown>>,
  figures: readonly Figure[],
  details: Readonly<Record<string, unknown>> = {}
): void {
  const file = textArgument('--findings');
  if (file !== undefined) {
    const versions = { node: process.versions.node };
    writeFileSync(
      file,
      JSON.stringify({ settings, versions, figures, details })
    );
  }
}
