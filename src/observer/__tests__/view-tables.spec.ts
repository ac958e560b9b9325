/**
 * A watch is answered again when rows of a table came that its view looks at. Of a drawn cluster block by block: where an answer has changed,
 * the view's version has changed.
 */
import {
  drawCluster,
  TICK,
  TICKS,
  toldToSource
} from '../../testing/drawn-cluster';
import { DRAWN_SELECTIONS } from '../../testing/drawn-selections';
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

it('an answer changes with its version alone', () => {
  const log = new LogStore('drawn');
  const last = new Map<string, { version: string; answer: string }>();
  const missed = new Set<string>();
  for (const block of toldToSource(drawCluster(2)).map(blockRows)) {
    ingestBlock(log, block);
    for (const view of VIEWS) {
      for (const [i, { filter }] of DRAWN_SELECTIONS.entries()) {
        const version = viewVersion(log, view);
        const told = JSON.stringify(
          answer(log, view, { filter, now: TICKS * TICK })
        );
        const before = last.get(`${view} ${i}`);
        if (before?.version === version && before.answer !== told) {
          missed.add(`${view}: ${block.table}`);
        }
        last.set(`${view} ${i}`, { version, answer: told });
      }
    }
  }
  // Of that it says so.
  expect([...missed]).toEqual(['task-stream: memory']);
});
