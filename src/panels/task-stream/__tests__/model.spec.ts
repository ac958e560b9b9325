import { Signal } from '@lumino/signaling';
import fc from 'fast-check';

import { ask } from '../../../observer/__tests__/ask';
import type { IWatch, TileData } from '../../../feed/feed-types';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { HEADER_HEIGHT } from '../lane-layout';
import { TaskStreamModel } from '../model';
import { xOf } from '../viewport';

const run = firstLook();
const result = ask(drawnStore(run, { live: true }), 'task-stream', {
  now: run.end + 0.9
});
const ended = ask(drawnStore(run), 'task-stream', { ended: true });

class FakeWatch implements IWatch {
  snapshot = null;
  failure = null;
  isAsking = false;
  isDisposed = false;
  readonly asked: [number, number, number][] = [];
  readonly tileArrived: Signal<IWatch, TileData> = new Signal(this);
  change(): void {
    throw new Error('the model does not change its watch');
  }
  tile(): TileData | null {
    return null;
  }
  isFresh(): boolean {
    return true;
  }
  requestTiles(level: number, first: number, count: number): void {
    this.asked.push([level, first, count]);
  }
  dispose(): void {
    this.isDisposed = true;
  }
}

function modelWith(state = {}) {
  const clock = { now: 100 };
  const model = new TaskStreamModel(state, () => clock.now);
  model.setResult(result);
  return { model, clock };
}

describe('following', () => {
  it('shows the whole run at opening', () => {
    const { model } = modelWith();
    expect(model.isFollowing).toBe(true);
    expect(model.view.from).toBeLessThanOrEqual(0);
    expect(model.view.to).toBeGreaterThan(result.to);
  });

  it('does not change the scale with every frame while the run grows', () => {
    const { model, clock } = modelWith();
    const views = new Set<number>();
    for (let frame = 0; frame < 30; frame += 1) {
      clock.now += 0.03;
      model.tick();
      views.add(model.view.to);
    }
    expect(views.size).toBe(1);
  });

  it('keeps running tasks growing, but not for ever when answers stop', () => {
    const { model, clock } = modelWith();
    clock.now = 100.5;
    expect(model.now).toBeCloseTo(result.now + 0.5, 9);
    clock.now = 160;
    expect(model.now).toBeCloseTo(result.now + 2, 9);
  });

  it('stops when the user moves, and the view stays while data arrives', () => {
    const { model } = modelWith();
    model.zoomAt(10, 4);
    expect(model.isFollowing).toBe(false);
    const { view } = model;
    model.setResult({ ...result, to: 40, now: 41 });
    expect(model.view).toEqual(view);
  });

  it('goes on with the width it had', () => {
    const { model } = modelWith();
    model.setView({ from: 5, to: 9 });
    model.setFollowing(true);
    expect(model.view.to - model.view.from).toBeCloseTo(4, 9);
    expect(model.view.to).toBeGreaterThan(result.to);
    model.reset();
    expect(model.view.to - model.view.from).toBeGreaterThan(29);
  });

  it('has the newest work in view, however close and long the run', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30 }),
        fc.double({ min: 0, max: 1e5, noNaN: true }),
        (zooms, pause) => {
          const { model } = modelWith();
          for (let zoom = 0; zoom < zooms; zoom += 1) {
            model.zoom(1.6);
          }
          model.setFollowing(true);
          const end = result.to + pause;
          const answer = { ...result, to: end, now: end, running: [] };
          model.setResult({ ...answer, newestFrom: end - 0.5 });
          const { from, to } = model.view;
          expect(to).toBeGreaterThan(end);
          // A followed end has grown to 1.12² of the work at most, and 3.5 % of that are right of it: (1.12² · 1.035 − 1) of (1.12² · 1.04025)
          // seconds are room at the right, and the rest is work.
          expect(to - end).toBeLessThan((to - from) * 0.2287);
          expect(from).toBeLessThan(end);
        }
      ),
      {
        // The pause after which the newest work ends just before it is too short for what was shown.
        examples: [[0, (result.now - result.from) * 0.12 - 0.127]]
      }
    );
  });

  it('keeps the end of a selection in view where it zooms', () => {
    const { model } = modelWith();
    model.setView({ from: 10, to: 20 });
    model.setFollowing(true);
    const selected = { from: 2, to: 20 };
    const answer = { ...result, to: 100, now: 100, running: [], hidden: 9 };
    model.setResult({ ...answer, selected }, { functions: ['inc'] });
    model.zoom(1.5);
    expect(model.view.from).toBeLessThan(20);
    expect(model.view.to).toBeGreaterThan(20);
    expect(model.view.to - model.view.from).toBeCloseTo(10 / 1.5, 9);
  });

  it('keeps a width under a filter whose tasks took less', () => {
    const { model } = modelWith();
    model.setView({ from: 10, to: 20 });
    model.setFollowing(true);
    const answer = { ...result, to: 100, now: 100, running: [] };
    const selected = { from: 2, to: 3 };
    const filter = { functions: ['inc'] };
    model.setResult({ ...answer, hidden: 9, selected }, filter);
    expect(model.view.to - model.view.from).toBeCloseTo(10, 9);
    expect(model.view.from).toBeLessThanOrEqual(0);
    expect(model.view.from).toBeGreaterThan(-1);
    model.setResult(answer);
    expect(model.view.to - model.view.from).toBeCloseTo(10, 9);
    expect(model.view.to).toBeGreaterThan(100);
  });

  it('ends under a filter at the newest task that the filter leaves', () => {
    const { model } = modelWith();
    model.setView({ from: 5, to: 9 });
    model.setFollowing(true);
    const filter = { functions: ['inc'] };
    const answer = { ...result, hidden: 9, running: [] };
    const selected = { from: 2, to: 12 };
    model.setResult({ ...answer, selected }, filter);
    expect(model.view.to).toBeGreaterThan(12);
    expect(model.view.to).toBeLessThan(12.5);
    expect(model.view.to - model.view.from).toBeCloseTo(4, 9);
    // (an observer of before does not tell it)
    model.setResult({ ...answer, selected: undefined }, filter);
    expect(model.view.to).toBeGreaterThan(result.to);
    // While one of its tasks runs, the newest is now.
    model.setResult({ ...result, hidden: 9, selected }, filter);
    expect(model.isLive && result.running.length).toBeGreaterThan(0);
    expect(model.view.to).toBeGreaterThan(result.to);
  });

  describe('after a long pause', () => {
    /** The run, a pause of ten minutes, and what has come after it up to a moment. */
    const begin = result.to + 600;
    const at = (seconds: number) => ({
      ...result,
      newestFrom: begin,
      to: begin + seconds,
      now: begin + seconds
    });
    const share = ({ view }: TaskStreamModel, seconds: number) =>
      seconds / (view.to - view.from);

    it('shows the new run alone, from its first moment on', () => {
      const { model } = modelWith();
      for (const seconds of [0, 0.3, 2, 9, 60]) {
        model.setResult(at(seconds));
        expect(model.view.from).toBeGreaterThan(begin - 0.5);
        expect(model.view.to).toBeGreaterThan(begin + seconds);
        if (seconds > 0) {
          expect(share(model, seconds)).toBeGreaterThan(0.8);
        }
      }
      // The strip has all, and the scale does not change with every frame.
      expect(model.whole.from).toBeLessThanOrEqual(result.from);
      model.setResult(at(61));
      const { to } = model.view;
      model.setResult(at(62));
      expect(model.view.to).toBe(to);
    });

    it('shows it at opening, and history whole', () => {
      const live = new TaskStreamModel();
      live.setResult(at(9));
      expect(live.view.from).toBeGreaterThan(begin - 1);
      const over = new TaskStreamModel();
      over.setResult({ ...at(9), live: false });
      expect(over.view.from).toBeLessThanOrEqual(result.from);
      // What ends while it is followed stays where it is.
      live.setResult({ ...at(9), live: false });
      expect(live.view.from).toBeGreaterThan(begin - 1);
    });

    it('does not move who has zoomed by hand, until they follow again', () => {
      const { model } = modelWith();
      model.setView({ from: 1, to: 29 });
      const { view } = model;
      model.setResult(at(9));
      expect(model.view).toEqual(view);
      model.setFollowing(true);
      expect(model.view.from).toBeGreaterThan(begin - 1);
      model.setView({ from: begin, to: begin + 2 });
      model.setFollowing(true);
      expect(model.view.to - model.view.from).toBeCloseTo(2, 9);
      // Zooming out goes beyond it.
      model.reset();
      model.zoom(1 / 1.6);
      expect(model.view.from).toBeLessThan(begin - 4);
      expect(model.isFollowing).toBe(false);
    });

    it('shows the whole run if asked, until told to follow again', () => {
      const { model } = modelWith();
      // (before the pause that is no choice)
      model.fit();
      model.setResult(at(9));
      expect(model.view.from).toBeGreaterThan(begin - 1);
      model.fit();
      expect(model.isFollowing).toBe(true);
      model.setResult(at(12));
      expect(model.view.from).toBeLessThanOrEqual(result.from);
      expect(model.view).toEqual(model.whole);
      // What is lit says that the newest is shown, to which one press leads.
      expect(model.followsNewest).toBe(false);
      model.toggleFollowing();
      expect(model.view.from).toBeGreaterThan(begin - 1);
      expect(model.followsNewest).toBe(true);
      model.toggleFollowing();
      expect(model.isFollowing).toBe(false);
      model.fit();
      model.toggleFollowing();
      expect(model.followsNewest).toBe(true);
      model.fit();
      model.setResult({ ...at(12), live: false });
      expect(model.followsNewest).toBe(true);
    });
  });

  it('does not leap back if a task is told of that went on through the pause', () => {
    const told = (newestFrom: number, to = 30) => ({
      ...result,
      newestFrom,
      to
    });
    const model = new TaskStreamModel();
    model.setResult(told(20));
    expect(model.view.from).toBeGreaterThan(19);
    model.setResult(told(0));
    expect(model.view.from).toBeGreaterThan(19);
    // It goes on with the next stretch.
    model.setResult(told(60, 70));
    expect(model.view.from).toBeGreaterThan(59);
    // Other tasks have other stretches: those of a filter, of another log, and those that are left where the newest was taken back.
    model.setResult(told(20, 70), { functions: ['inc'] });
    expect(model.view.from).toBeLessThan(21);
    expect(model.view.from).toBeGreaterThan(19);
    model.setResult(told(0, 15), { functions: ['inc'] });
    expect(model.view.from).toBeLessThan(1);
    model.setResult(told(20), { functions: ['inc'] });
    model.setResult(told(5, 30), { functions: ['inc'] });
    model.beginAnew();
    expect(model.view.from).toBeLessThan(6);
  });

  it('shows an ended run to its end', () => {
    const { model } = modelWith();
    model.setResult(ended);
    expect(model.view.to).toBeLessThan(result.to * 1.05);
    expect(model.now).toBe(ended.now);
  });
});

describe('Fit', () => {
  const filter = { functions: ['inc'] };
  const filtered = { ...result, hidden: 9, selected: { from: 10, to: 10.6 } };
  const widthOf = ({ view }: TaskStreamModel) => view.to - view.from;

  it('shows the selection with a small margin, then the whole run', () => {
    const { model } = modelWith();
    expect(model.fitsNext).toBe('run');
    const before = model.view;
    model.setResult(filtered, filter);
    // The view does not jump by itself.
    expect(model.view).toEqual(before);
    expect(model.fitsNext).toBe('selection');
    model.fit();
    expect(model.view.from).toBeLessThan(10);
    expect(model.view.to).toBeGreaterThan(10.6);
    expect(widthOf(model)).toBeLessThan(0.7);
    expect(model.isFollowing).toBe(false);
    expect(model.fitsNext).toBe('run');
    // More of the selection has come: pressed again it is the whole run all the same, and goes on following.
    const selected = { from: 10, to: 14 };
    model.setResult({ ...filtered, selected }, { ...filter });
    model.fit();
    expect(model.view).toEqual(model.whole);
    expect(model.isFollowing).toBe(true);
    expect(model.fitsNext).toBe('selection');
    model.setFollowing(false);
    model.fit();
    model.fit();
    expect(model.view).toEqual(model.whole);
    expect(model.isFollowing).toBe(false);
  });

  it('is not what is followed from then on', () => {
    const { model } = modelWith();
    const follow = () => {
      model.setResult(filtered, { ...filter });
      model.fit();
      expect(widthOf(model)).toBeLessThan(0.7);
      model.setFollowing(true);
      return widthOf(model);
    };
    // The newest work, a run that is longer by then,
    expect(follow()).toBeGreaterThan(29);
    model.fit();
    model.setResult({ ...filtered, to: 90, now: 90 }, { ...filter });
    model.setFollowing(true);
    expect(widthOf(model)).toBeGreaterThan(90);
    // or as many seconds as the user chose.
    model.setView({ from: 5, to: 9 });
    expect(follow()).toBeCloseTo(4, 9);
  });

  it('shows the selection again where the view, or the filter, is another', () => {
    const { model } = modelWith();
    let changes = 0;
    model.changed.connect(() => changes++);
    model.setResult(filtered, filter);
    model.fit();
    changes = 0;
    model.pan(0.3);
    // (the tooltip says so)
    expect([model.fitsNext, changes]).toEqual(['selection', 1]);
    model.pan(0.01);
    expect(changes).toBe(1);
    model.fit();
    const other = { ...filtered, selected: { from: 20, to: 21 } };
    const { view } = model;
    model.setResult(other, { functions: ['dec'] });
    expect(model.view).toBe(view);
    expect(model.fitsNext).toBe('selection');
    model.fit();
    expect(model.view.from).toBeCloseTo(20, 0);
    // As fitted, also after the page was loaded again.
    const again = new TaskStreamModel(
      JSON.parse(JSON.stringify(model.savedState()))
    );
    again.setResult(other, { functions: ['dec'] });
    expect(again.fitsNext).toBe('run');
  });

  it('shows the whole run of an observer that does not tell what is selected', () => {
    const { model } = modelWith();
    model.setResult({ ...filtered, selected: undefined }, filter);
    model.zoomAt(10, 4);
    expect(model.fitsNext).toBe('run');
    model.fit();
    expect(model.view).toEqual(model.whole);
  });
});

describe('the strip of the whole run', () => {
  /** Where strip and chart, 1,000 px wide each, show a moment. */
  const places = (model: TaskStreamModel, seconds: number) =>
    [model.whole, model.view].map(scale => xOf(scale, 1000, seconds));

  it('has the scale of the chart that shows the whole run', () => {
    const { model, clock } = modelWith();
    const steps: (() => void)[] = [
      () => undefined,
      () => model.tick(),
      () => model.setResult({ ...result, to: 37, now: 37 }),
      () => (clock.now += 1.9),
      () => model.tick(),
      () => model.zoomAt(10, 4),
      () => model.fit(),
      () => model.zoomAt(10, 4),
      () => model.reset(),
      () => model.setResult(ended)
    ];
    for (const [i, step] of steps.entries()) {
      step();
      const [inStrip, inChart] = places(model, 21.3);
      if (i === 5 || i === 7) {
        expect(inStrip).not.toBeCloseTo(inChart!, 0);
      } else {
        expect(inStrip).toBeCloseTo(inChart!, 6);
      }
      // All of the run is on it, wherever the chart is.
      expect(xOf(model.whole, 1000, model.extent.from)).toBeGreaterThanOrEqual(
        0
      );
      expect(xOf(model.whole, 1000, model.extent.to)).toBeLessThanOrEqual(1000);
    }
  });
});

describe('tiles', () => {
  it('are asked for once per view, with coarser ones to stand in', () => {
    const { model } = modelWith();
    const watch = new FakeWatch();
    model.setWatch(watch);
    const range = model.wantTiles(1200);
    expect(watch.asked[0]).toEqual([range.level, range.first, range.count]);
    expect(watch.asked.some(([level]) => level > range.level)).toBe(true);
    const before = watch.asked.length;
    model.wantTiles(1200);
    expect(watch.asked).toHaveLength(before);
    // A new answer may have made unsettled tiles old.
    model.setResult({ ...result });
    model.wantTiles(1200);
    expect(watch.asked.length).toBeGreaterThan(before);
  });

  it('are whole though answers come faster, with all that had ended when they were asked for', async () => {
    jest.useFakeTimers();
    try {
      const { model } = modelWith();
      model.setView({ from: 0, to: result.to });
      const asked: number[] = [];
      // The page keeps one tile here.
      let kept: TileData | null = null;
      let logSeq = 7;
      const watch = Object.assign(new FakeWatch(), {
        tile: (_: number, index: number) =>
          kept?.index === index ? kept : null,
        isFresh: (tile: TileData, answer = { logSeq }) =>
          tile.logSeq >= answer.logSeq,
        requestTiles: (_: number, index: number) => asked.push(index)
      });
      const answer = () => {
        Object.assign(watch, { snapshot: { logId: 'a', logSeq } });
        const running = result.running.map(each => ({ ...each, span: logSeq }));
        model.setResult({ ...result, running, now: result.now + logSeq });
      };
      answer();
      model.setWatch(watch);
      const { now } = model;
      let found: Awaited<ReturnType<typeof model.wholeTiles>> | undefined;
      void model
        .wholeTiles(2400, 10_000, () => undefined)
        .then(all => {
          found = all;
        });
      const came: number[] = [];
      for (let made = 6; found === undefined && made < 60; made += 1) {
        // The newest answer, and a tile that was made before it.
        logSeq = made + 2;
        answer();
        const index = asked[0] ?? -1;
        asked.length = 0;
        kept = { index, logSeq: made } as TileData;
        watch.tileArrived.emit(kept);
        came.push(index);
        await jest.advanceTimersByTimeAsync(250);
      }
      const { range, tiles } = found!;
      expect(range.count).toBeGreaterThan(2);
      expect(tiles.map(({ index }) => index)).toEqual(
        Array.from({ length: range.count }, (_, i) => range.first + i)
      );
      // One was too old; the others came once.
      expect(came).toEqual([range.first, ...tiles.map(({ index }) => index)]);
      expect(Math.min(...tiles.map(tile => tile.logSeq))).toBe(7);
      expect(found!.result.now).toBe(now);
      expect(found!.result.running.map(({ span }) => span)).toContain(7);
    } finally {
      jest.useRealTimers();
    }
  });

  it('draw again when they arrive, until the watch is another', () => {
    const { model } = modelWith();
    const watch = new FakeWatch();
    model.setWatch(watch);
    let moves = 0;
    model.moved.connect(() => (moves += 1));
    watch.tileArrived.emit({} as TileData);
    expect(moves).toBe(1);
    model.setWatch(null);
    moves = 0;
    watch.tileArrived.emit({} as TileData);
    expect(moves).toBe(0);
  });

  it('are redrawn only when a colour changed', () => {
    const { model } = modelWith();
    const version = model.slotsVersion;
    model.setResult({
      ...result,
      functions: result.functions.map(item => ({
        ...item,
        seconds: item.seconds + 1
      }))
    });
    expect(model.slotsVersion).toBe(version);
    model.setResult({
      ...result,
      functions: [
        ...result.functions,
        { name: 'new', slot: 0, round: 1, seconds: 1, executions: 1 }
      ]
    });
    expect(model.slotsVersion).toBe(version + 1);
  });
});

describe('what a reload brings back', () => {
  it('is the paused view, the colours and the collapsed workers', () => {
    const { model } = modelWith();
    model.setView({ from: 5, to: 9 });
    model.setColourBy('kind');
    model.toggleWorker(2);
    const again = modelWith(
      JSON.parse(JSON.stringify(model.savedState()))
    ).model;
    expect(again.view).toEqual({ from: 5, to: 9 });
    expect(again.isFollowing).toBe(false);
    expect(again.colourBy).toBe('kind');
    expect([...again.collapsed]).toEqual([2]);
  });

  it('is what is followed: the whole run with its pauses, a chosen width, or the newest', () => {
    const late = { ...result, newestFrom: 20 };
    const reloaded = (chosen: (model: TaskStreamModel) => void) => {
      const model = new TaskStreamModel();
      model.setResult(late);
      chosen(model);
      const again = new TaskStreamModel(
        JSON.parse(JSON.stringify(model.savedState()))
      );
      again.setResult(late);
      expect(again.isFollowing).toBe(true);
      return again;
    };
    const whole = reloaded(model => model.fit());
    expect(whole.view).toEqual(whole.whole);
    expect(whole.view.from).toBeLessThanOrEqual(result.from);
    const width = reloaded(model => {
      model.setView({ from: 21, to: 25 });
      model.setFollowing(true);
    });
    expect(width.view.to - width.view.from).toBeCloseTo(4, 9);
    expect(width.view.to).toBeGreaterThan(result.to);
    const newest = reloaded(() => undefined);
    expect(newest.view.from).toBeGreaterThan(19);
    expect(newest.view.to).toBeGreaterThan(result.to);
  });

  it('is nothing of what another version wrote', () => {
    const { model } = modelWith({
      paused: true,
      from: 'a',
      to: 3,
      colourBy: 7,
      collapsed: ['x', 1]
    });
    expect(model.isFollowing).toBe(true);
    expect(model.colourBy).toBe('function');
    expect([...model.collapsed]).toEqual([1]);
  });
});

describe('rows of spans', () => {
  it('are unfolded for those that have none, which are named', () => {
    const { model } = modelWith();
    expect(model.bandsWithoutRow).toEqual([]);
    const overlapping = Array.from({ length: 20 }, (_, i) => ({
      span: i + 1,
      tag: `step ${i + 1}`,
      depth: 0,
      from: i / 10,
      to: result.to
    }));
    model.setResult({ ...result, bands: overlapping });
    const names = overlapping.map(({ tag }) => tag);
    expect(model.bands.map(({ tag }) => tag)).toEqual(names.slice(0, 3));
    expect(model.bandsWithoutRow).toEqual(names.slice(3));
    model.toggleBands();
    expect(model.bands.map(({ tag }) => tag)).toEqual(names.slice(0, 12));
    expect(model.bandsWithoutRow).toEqual(names.slice(12));
    // They stay unfolded as the run goes on, and are folded in another log.
    model.setResult({ ...result, bands: overlapping.slice(0, 5), to: 41 });
    expect(model.bands).toHaveLength(5);
    expect(model.bandsWithoutRow).toEqual([]);
    model.beginAnew();
    model.setResult({ ...result, bands: overlapping });
    expect(model.bands).toHaveLength(3);
  });

  it('are as many as are needed, where there is room for them', () => {
    const { model } = modelWith();
    const bands = Array.from({ length: 5 }, (_, i) => ({
      span: i + 1,
      tag: i === 0 ? 'all' : `part ${i}`,
      depth: i === 0 ? 0 : 1,
      from: i / 10,
      to: result.to
    }));
    model.setResult({ ...result, bands });
    expect(model.bandsWithoutRow).toEqual(['part 3', 'part 4']);
    const lanes =
      result.workers.length * HEADER_HEIGHT + result.lanes.length * 28;
    let changes = 0;
    model.changed.connect(() => changes++);
    model.setRoom(lanes + 4 * 16);
    expect(model.bandsWithoutRow).toEqual(['part 4']);
    model.setRoom(lanes + 5 * 16 - 1);
    expect([model.bandsWithoutRow, changes]).toEqual([['part 4'], 1]);
    model.setRoom(lanes + 20 * 16);
    expect(model.bandsWithoutRow).toEqual([]);
    // Room is for lanes that are shown.
    model.setRoom(lanes + 2 * 16);
    expect(model.bandsWithoutRow).toEqual(['part 3', 'part 4']);
    model.toggleWorker(result.workers[0]!.worker);
    expect(model.bandsWithoutRow).toEqual([]);
  });

  it('count a span where it has no row, though it has one elsewhere', () => {
    const { model } = modelWith();
    const band = (tag: string, from: number, to: number) => {
      return { span: from, tag, depth: 0, from, to };
    };
    model.setResult({
      ...result,
      bands: [band('a', 0, 9), band('b', 1, 9), band('c', 2, 9)].concat(
        [band('a', 9.5, 20), band('b', 10, 20), band('c', 10.5, 20)],
        [band('d', 11, 12), band('a', 14, 15), band('d', 21, 22)]
      )
    });
    expect(model.bands.filter(({ tag }) => tag === 'd')).toHaveLength(1);
    expect(model.bandsWithoutRow).toEqual(['d']);
  });
});
