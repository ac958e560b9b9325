/** Reads and checks the table of Fine Performance Metrics. */
import { expect } from '@playwright/test';
import type { Panel } from '../pages/panel';
import { resolutionOf, secondsOf } from './shown-figures';

/** Figures of the table of Fine Performance Metrics: texts by function, executions and CPU of all. */
export async function sumsIn(metrics: Panel) {
  const [header = [], ...rows] = await metrics.rows();
  const column = (name: string) => header.indexOf(name);
  const end = rows.findIndex(([name]) => name === 'all functions');
  const functions = rows.slice(0, end);
  return {
    totals: new Map(
      functions.map(row => [row[0] ?? '', row[column('Total')] ?? ''])
    ),
    counts: new Map(
      functions.map(row => [row[0] ?? '', countOf(row[column('Executions')])])
    ),
    all: rows[end]?.[column('Total')] ?? '',
    cpu: rows[end]?.[column('thread-cpu')] ?? '',
    executions: functions.reduce(
      (sum, row) => sum + countOf(row[column('Executions')]),
      0
    )
  };
}

/** `12,640`; not a number where there is none. */
function countOf(text = ''): number {
  return Number(text.replace(/,/g, '') || NaN);
}

/** Totals by function, those of the last row together, and of all. */
export async function compareSums(
  metrics: Panel,
  exact: Readonly<Record<string, number>>
): Promise<void> {
  await expect(async () => {
    const { totals, all } = await sumsIn(metrics);
    let rest = Object.values(exact).reduce((sum, value) => sum + value, 0);
    expectShown(all, rest);
    for (const [name, shown] of totals) {
      const value = /^\d+ others?$/.test(name) ? rest : exact[name];
      expectShown(shown, value ?? NaN);
      rest -= value ?? NaN;
    }
  }).toPass({ timeout: 90_000 });
}

export function expectShown(text: string, value: number): void {
  expect(Math.abs(secondsOf(text) - value), `${text}: ${value}`).toBeLessThan(
    resolutionOf(text) * 0.501 + 1e-9
  );
}
