/**
 * A watch is answered again when rows of a table came that its view looks at. Block by block: where an answer has changed,
 * the view's version has changed.
 */
import {
  drawCluster,
  TICK,
  TICKS,
  toldToSource
} from '../../testing/drawn-cluster';
import { drawnLog } from '../../testing/panel-harness/drawn-log';
import { firstLook } from '../../testing/panel-harness/drawn-run';
import { DRAWN_SELECTIONS } from '../../testing/drawn-selections';
import type { BlockRows } from '../store/column-table';
import { blockRows } from '../store/block-rows';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { viewVersion } from '../view-tables';
import type { ViewResult } from '../../wire/panel-link';
import { answer } from './ask';

const VIEWS: readonly ViewResult['view'][] = [
  'spans',
  'summary',
  'task-stream',
  'tasks',
  'records',
  'fine-metrics',
  'profile',
  'memory',
  'transfers',
  'system'
];

/** Of each view after each block. */
function versionsOf(blocks: readonly BlockRows[]): string[][] {
  const log = new LogStore('drawn');
  return blocks.map(block => {
    ingestBlock(log, block);
    return VIEWS.map(view => viewVersion(log, view));
  });
}

/**
 * Views with tables that were told when an answer had changed and its version had not. Only answers beside
 * which there is another of the same version are made: most of the time goes into answers.
 */
function missedOf(blocks: readonly BlockRows[], now: number): string[] {
  const versions = versionsOf(blocks);
  const log = new LogStore('drawn');
  const last = new Map<string, string>();
  const missed = new Set<string>();
  for (const [at, block] of blocks.entries()) {
    ingestBlock(log, block);
    for (const [v, view] of VIEWS.entries()) {
      const version = versions[at]![v];
      expect(viewVersion(log, view)).toBe(version);
      const isAsBefore = version === versions[at - 1]?.[v];
      if (!isAsBefore && version !== versions[at + 1]?.[v]) {
        continue;
      }
      for (const [i, { filter }] of DRAWN_SELECTIONS.entries()) {
        const told = JSON.stringify(answer(log, view, { filter, now }));
        if (isAsBefore && last.get(`${view} ${i}`) !== told) {
          missed.add(`${view}: ${block.table}`);
        }
        last.set(`${view} ${i}`, told);
      }
    }
  }
  return [...missed];
}

describe('an answer changes with its version alone', () => {
  it('of a drawn cluster', () => {
    const blocks = toldToSource(drawCluster(2)).map(blockRows);
    // Of that it says so.
    expect(missedOf(blocks, TICKS * TICK)).toEqual(['task-stream: memory']);
  });

  it('of a run with samples, where what ran is told last', () => {
    const run = firstLook();
    const blocks = drawnLog(run, { live: true });
    const late = ['runs', 'parts', 'running'];
    const told = [
      ...blocks.filter(({ table }) => !late.includes(table)),
      ...late.flatMap(name => blocks.filter(({ table }) => table === name))
    ].map((block, i) => ({ ...block, seq: i + 1 }));
    expect(missedOf(told, run.end + 1)).toEqual(['task-stream: memory']);
  });
});
