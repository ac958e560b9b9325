import { toldToSource, type ClusterFacts } from '../../testing/drawn-cluster';
import { compileFilter } from '../filter';
import { asOfNow, complete, type FoldContext } from '../folds/context';
import { foldView, type ViewAnswer } from '../folds/fold-view';
import { blockRows } from '../store/block-rows';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { Pyramid } from '../tiles/pyramid';
import { makeTile, type TileAnswer } from '../tiles/tile';
import type { Filter, TimeRange, ViewResult } from '../../wire/panel-link';

export type Asked = {
  readonly filter?: Filter;
  readonly time?: TimeRange;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly now?: number;
  readonly ended?: boolean;
};

/** The log of a drawn cluster, taken in. */
export function takenIn(facts: ClusterFacts): LogStore {
  const log = new LogStore('drawn');
  for (const block of toldToSource(facts)) {
    ingestBlock(log, blockRows(block));
  }
  return log;
}

export function contextOf(log: LogStore, asked: Asked = {}): FoldContext {
  return asOfNow({
    log,
    filter: compileFilter(asked.filter ?? {}, log),
    time: asked.time ?? 'all',
    now: asked.now ?? log.now,
    ended: asked.ended ?? false
  });
}

/** The answer of a view, of the view's own type. */
export function ask<V extends ViewResult['view']>(
  log: LogStore,
  view: V,
  asked: Asked = {}
): Extract<ViewResult, { view: V }> {
  return answer(log, view, asked).result as Extract<ViewResult, { view: V }>;
}

export function answer(
  log: LogStore,
  view: ViewResult['view'],
  asked: Asked = {}
): ViewAnswer {
  return complete(foldView(view, contextOf(log, asked), asked.params ?? {}));
}

export function tile(
  log: LogStore,
  level: number,
  index: number,
  filter: Filter = {}
): TileAnswer {
  const pyramid = new Pyramid(log, compileFilter(filter, log));
  return complete(makeTile(log, pyramid, level, index, Infinity));
}
