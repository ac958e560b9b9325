/** Answers and tiles by the observer's own code, run in the page, over a synthetic log: what panels will get, without a server. */
import { compileFilter } from '../../observer/filter';
import { foldView } from '../../observer/folds/fold-view';
import { runDetail } from '../../observer/folds/run-detail';
import { complete } from '../../observer/folds/context';
import { ingestBlock } from '../../observer/store/ingest';
import { LogStore } from '../../observer/store/log-store';
import { Pyramid } from '../../observer/tiles/pyramid';
import { makeTile } from '../../observer/tiles/tile';
import type { TileData, WatchSpec } from '../../feed/feed-types';
import type { RunDetail, ViewResult } from '../../wire/panel-link';
import { syntheticLog } from '../synthetic-log';

export class ObservedRun {
  private readonly _log = new LogStore('synthetic');
  private readonly _pyramids = new Map<string, Pyramid>();

  constructor(runs: number) {
    const blocks = syntheticLog({
      runs,
      workers: 4,
      threadsPerWorker: 2,
      functions: 20,
      spans: 6,
      meanMilliseconds: 40,
      partsShare: 0.3
    });
    for (const block of blocks) {
      ingestBlock(this._log, block);
    }
  }

  answer(spec: WatchSpec): ViewResult {
    const context = {
      log: this._log,
      filter: compileFilter(spec.filter, this._log),
      time: spec.time,
      now: this._log.now,
      ended: true
    };
    return complete(foldView(spec.view, context, spec.params)).result;
  }

  tile(spec: WatchSpec, level: number, index: number): TileData {
    const key = JSON.stringify(spec.filter);
    let pyramid = this._pyramids.get(key);
    if (pyramid === undefined) {
      pyramid = new Pyramid(this._log, compileFilter(spec.filter, this._log));
      this._pyramids.set(key, pyramid);
    }
    const tile = complete(makeTile(this._log, pyramid, level, index, Infinity));
    return {
      level,
      index,
      settled: true,
      logSeq: 1,
      functions: tile.functions,
      ...tile.columns
    };
  }

  detail(run: number): RunDetail | null {
    const row = this._log.runRows.get(run);
    return row < 0 ? null : runDetail(this._log, row);
  }
}
