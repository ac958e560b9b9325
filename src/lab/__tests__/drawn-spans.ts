/**
 * Spans drawn as text, two blanks a level, with the seconds of their subtree:
 *
 *     flow 10
 *       load 4
 *       fit 6
 */
import type { SpanRow, SpansResult } from '../../wire/panel-link';

export function drawnSpans(drawing: string): SpansResult {
  const rows: SpanRow[] = [];
  const open: SpanRow[] = [];
  const lines = drawing.split('\n').filter(line => line.trim() !== '');
  const indent = /^ */.exec(lines[0] ?? '')?.[0].length ?? 0;
  lines.forEach((line, index) => {
    const level = ((/^ */.exec(line)?.[0].length ?? 0) - indent) / 2;
    const [, tag = '', seconds = '0'] = /^(.+?)(?: ([\d.]+))?$/.exec(
      line.trim()
    ) ?? [''];
    open.length = level;
    const parent = open[level - 1];
    const row: SpanRow = {
      span: index + 1,
      client: null,
      parent: parent?.span ?? null,
      path: [...(parent?.path ?? []), tag],
      tag,
      origin: 'user',
      tasks: 1,
      running: 0,
      failed: 0,
      threadSeconds: Number(seconds),
      cpuSeconds: null,
      transferSeconds: 0,
      idleSeconds: null,
      ownTasks: 1,
      ownNanoseconds: 0,
      exact: 1,
      inferred: 0,
      executions: 0,
      opened: 0,
      closed: null,
      firstStart: null,
      lastStop: null
    };
    open[level] = row;
    rows.push(row);
  });
  const roots = rows.filter(row => row.parent === null);
  return {
    view: 'spans',
    rows,
    totalThreadSeconds: roots.reduce((sum, row) => sum + row.threadSeconds, 0),
    totalTasks: rows.length,
    clients: []
  };
}
