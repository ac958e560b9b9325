/** How the Task Stream shows tasks whose results nobody wanted any more. */
import { boxFill } from '../../../charts/lane-fills';
import { rasteriseTile } from '../../../charts/lane-raster';
import { COLOURS } from '../../../charts/palette';
import type { TileData } from '../../../feed/feed-types';
import { BoxKind } from '../../../records/enumerations';
import { drawnTile } from '../../../testing/drawn-lanes';
import { laneIndices } from '../../../testing/ids';
import { ask } from '../../../observer/__tests__/ask';
import { runDetail } from '../../../observer/folds/run-detail';
import { drawRuns } from '../../../testing/run-from-text';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { english } from '../../../testing/translators';
import type { RunDetail, TaskStreamResult } from '../../../wire/panel-link';
import type { LaneScene } from '../lane-scene';
import { notesOf } from '../lane-notes';
import { lanesSvg } from '../picture-lanes';
import { BOX_KINDS, cardOf, type HoveredBox, legendItems } from '../rows';
import { tileSeconds } from '../tile-plan';
import { headedWorker, stillScene } from './still-scene';

const LEVEL = 10;
const SLOT = { slot: 2, round: 0 };
const FILL = COLOURS.light.functions[2]!;

/** Of three tasks of one function the second was cancelled, and the last too, which is too narrow for a line. */
function tileOf(): TileData {
  const drawn = drawnTile([
    `${'a'.repeat(100)}.${'a'.repeat(100)}.${'a'.repeat(4)}`
  ]);
  return {
    ...drawn,
    level: LEVEL,
    kind: Uint8Array.of(BoxKind.Compute, BoxKind.Cancelled, BoxKind.Cancelled)
  };
}

function sceneOf(tile: TileData): LaneScene {
  return stillScene({
    view: { from: 0, to: tileSeconds(LEVEL) },
    width: 512,
    height: 40,
    layout: {
      laneHeight: 20,
      height: 38,
      workers: [
        headedWorker([{ laneIndex: laneIndices([0])[0]!, thread: 0, top: 18 }])
      ]
    },
    tiles: { level: LEVEL, first: 0, count: 1 },
    tileOf: () => tile,
    slots: new Map([['a', SLOT]])
  });
}

describe('boxes of cancelled tasks', () => {
  it("are struck through in their function's colour, alike on the page and in pictures", () => {
    const tile = tileOf();
    const { pixels, width } = rasteriseTile(tile, {
      originPixels: 0,
      endPixels: 512,
      pixelsPerCell: 1,
      firstLane: 0,
      lanes: 1,
      laneHeight: 20,
      stripHeight: 5,
      pixelRatio: 1,
      patternLine: 0x9effffff,
      fillOf: kind => boxFill(COLOURS.light, BOX_KINDS[kind] ?? 'compute', SLOT)
    });
    const column = (x: number) =>
      Array.from({ length: 18 }, (_, y) => pixels[(y + 1) * width + x]!);
    const own = column(50)[0]!;
    expect(new Set(column(50))).toEqual(new Set([own]));
    expect(new Set(column(203))).toEqual(new Set([own]));
    const struck = column(150).flatMap((pixel, y) =>
      pixel === own ? [] : [y]
    );
    expect(struck).toEqual([8, 9]);
    // From one end to the other.
    expect(new Set([101, 199].map(x => column(x)[8] === own))).toEqual(
      new Set([false])
    );

    const { markup } = lanesSvg(sceneOf(tile), [tile], () => 0);
    const rects = [
      ...markup.matchAll(
        /<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)" fill="([^"]+)"/g
      )
    ].map(([, x, y, w, h, fill]) => [...[x, y, w, h].map(Number), fill]);
    const inLane = rects.filter(([, y]) => Number(y) >= 19 && Number(y) < 37);
    expect(inLane).toEqual([
      [0, 19, 99, 18, FILL],
      [101, 19, 99, 18, FILL],
      [101, 27, 99, 2, expect.any(String)],
      [202, 19, 3, 18, FILL]
    ]);
  });

  it('have their names, and say in the card how they ended', () => {
    expect(notesOf(tileOf()).map(({ row }) => row)).toEqual([0, 1]);
    const box: HoveredBox = {
      run: 1,
      function: 'a',
      kind: 'cancelled',
      inStrip: false,
      tasks: 1,
      from: 2,
      to: 4,
      worker: 'worker 0',
      thread: 0,
      running: false
    };
    const { title, aside } = cardOf(box, null, english);
    expect([title, aside]).toEqual(['a', 'cancelled']);
  });

  it.each([
    [3, '3.000 s, and it ran on for 1.50 s'],
    [1.5, '1.500 s, before it began'],
    [4.6, '4.600 s, as it ended'],
    [undefined, 'at a time that is not known']
  ])(
    'say when they were cancelled, and how long they ran on: %s',
    (t, text) => {
      const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
      const detail = { ...run, status: 'cancelled' as const, start: 2 };
      const told = {
        ...{ ...detail, duration: 2.5 },
        ...(t !== undefined && { cancelled: t })
      };
      const box: HoveredBox = {
        ...{ run: 1, function: 'a', kind: 'cancelled', inStrip: false },
        ...{ tasks: 1, from: 2, to: 4.5, worker: 'worker 0', thread: 0 },
        running: false
      };
      const said = (of: RunDetail) =>
        cardOf(box, of, english)
          .rows.filter(({ label }) => label === 'cancelled')
          .map(row => row.text.replaceAll('\u00a0', ' '));
      expect(said(told)).toEqual([text]);
      expect(said(run)).toEqual([]);
    }
  );
});

describe('boxes of cancelled tasks that go on', () => {
  const GOES_ON = 'cancelled, still running';
  const going: HoveredBox = {
    run: null,
    function: 'a',
    kind: 'compute',
    inStrip: false,
    tasks: 1,
    from: 2,
    to: 20,
    worker: 'worker-3',
    thread: 0,
    running: true,
    cancelled: 8,
    key: 'a-1'
  };

  /** The rectangles and texts that stand over the boxes of one that has run for `seconds`. */
  function drawn(seconds: number, cancelled?: number) {
    const tile = { ...tileOf(), laneIndex: tileOf().laneIndex.slice(0, 0) };
    const second = tileSeconds(LEVEL) / 512;
    const scene: LaneScene = {
      ...sceneOf(tile),
      running: [
        {
          laneIndex: laneIndices([0])[0]!,
          key: 'a-1',
          function: 'a',
          started: 10 * second,
          ...(cancelled !== undefined && { cancelled })
        }
      ],
      now: (10 + seconds) * second,
      goesOnText: GOES_ON
    };
    const { markup } = lanesSvg(scene, [], text => 6 * text.length);
    const rects = [
      ...markup.matchAll(
        /<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)" fill="([^"]+)"/g
      )
    ].map(([, x, y, w, h]) => [x, y, w, h].map(Number));
    const texts = [...markup.matchAll(/>([^<>]+)<\/text>/g)].map(
      ([, text]) => text
    );
    return {
      struck: rects.filter(([, , , height]) => height === 2),
      texts: texts.filter(text => text!.startsWith('a'))
    };
  }

  it('are struck through as those that have ended, and say what they are', () => {
    expect(drawn(400).struck).toEqual([]);
    expect(drawn(400).texts).toEqual(['a']);
    expect(drawn(400, 1)).toEqual({
      struck: [[10, 27, 400, 2]],
      texts: [`a · ${GOES_ON}`]
    });
    // Without room for all of it the name, or nothing.
    expect(drawn(60, 1)).toEqual({
      struck: [[10, 27, 60, 2]],
      texts: ['a']
    });
    expect(drawn(3, 1)).toEqual({ struck: [], texts: [] });
  });

  it('say in the card since when, why they go on, and what ends them', () => {
    const { aside, note, rows } = cardOf(going, null, english);
    expect(aside).toBe(GOES_ON);
    expect(note).toBe(
      'Cancelled 12.0\u00a0s ago. Its code goes on and holds its thread: Python cannot stop it. client.restart_workers(["worker-3"]) ends all that its worker runs.'
    );
    expect(rows.map(({ label }) => label)).toContain('running');
    const beside = cardOf({ ...going, beside: ['seceded', 1] }, null, english);
    expect(beside.note).toContain('ago. Its code goes on: Python');
    const wanted = { ...going, cancelled: undefined };
    expect(cardOf(wanted, null, english)).toMatchObject({
      aside: 'running',
      note: ''
    });
  });

  it('say neither that they hold what they held before they seceded nor when they were cancelled there', () => {
    // (as of 5 s: it was cancelled 3 s after it had left the thread)
    const held: HoveredBox = { ...going, kind: 'seceded', tasks: 0, to: 5 };
    expect(cardOf(held, null, english)).toMatchObject({
      title: 'held by a',
      aside: 'cancelled',
      note: ''
    });
    const wanted = { ...held, cancelled: undefined };
    expect(cardOf(wanted, null, english).aside).toBe('running');
  });

  describe('have an entry of the legend', () => {
    const run = firstLook();
    const answer = (cancelled: number) =>
      ask(drawnStore(run, { live: true, cancelled }), 'task-stream', {
        now: run.end + 0.9
      });
    const itemOf = (result: TaskStreamResult) =>
      legendItems(result, 'function', english).find(
        ({ name }) => name === GOES_ON
      );

    it('with how many there are', () => {
      expect(itemOf(answer(0))).toBeUndefined();
      expect(itemOf(answer(1))!.title).toMatch(
        /^1.running task was cancelled\. Its code goes on and holds its thread: /
      );
      const item = itemOf(answer(2))!;
      expect(item).toMatchObject({ kind: 'cancelled-running', text: '2' });
      expect(item.title).toMatch(
        /^2.running tasks were cancelled\. Their code goes on and holds their threads: /
      );
    });

    it('which speaks of no threads if one of them has seceded', () => {
      const secededIn = (result: TaskStreamResult, of: boolean) => {
        const { laneIndex } = result.running.find(
          ({ cancelled }) => (cancelled !== undefined) === of
        )!;
        return itemOf({
          ...result,
          lanes: result.lanes.map(lane =>
            lane.laneIndex === laneIndex
              ? { ...lane, beside: ['seceded', 1] }
              : lane
          )
        })!.title;
      };
      expect(secededIn(answer(1), true)).toMatch(
        /^1.running task was cancelled\. Its code goes on: Python cannot stop it\.$/
      );
      expect(secededIn(answer(2), true)).toMatch(
        /^2.running tasks were cancelled\. Their code goes on: Python cannot stop it\.$/
      );
      expect(secededIn(answer(2), false)).toContain('holds their threads');
    });
  });
});
