/** An exported picture has the boxes that the Task Stream panel draws: of drawn runs, each is held against a tile's. */
import fc from 'fast-check';
import { ask, tile } from '../../observer/__tests__/ask';
import { runDetail } from '../../observer/folds/run-detail';
import type { LogStore } from '../../observer/store/log-store';
import { BOX_KINDS } from '../../panels/task-stream/rows';
import { PartKind, RunStatus, wordsOf } from '../../records/enumerations';
import { type DrawnTask, drawRuns } from '../../testing/run-from-text';
import type { TaskStreamSection } from '../content';
import { drawnBoxes } from '../page/drawn-boxes';

/** A column is four cells of the tile, so that every box is drawn as it is. */
const LEVEL = 8;
const CELLS = 4;
const COLUMN = (CELLS * 2 ** LEVEL) / 1e6;
const COLUMNS = 512 / CELLS;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const FUNCTIONS = ['load', 'fit', 'sum'];
const ACTIONS: readonly string[] = [
  ...wordsOf(PartKind).map(word => word ?? ''),
  'lost'
];

const aFunction = fc.constantFrom(...FUNCTIONS);
const aKind = fc.constantFrom(
  PartKind.Transfer,
  PartKind.DiskRead,
  PartKind.Deserialize,
  PartKind.Compute,
  PartKind.Serialize,
  PartKind.DiskWrite,
  PartKind.Import
);
const aSpell = fc.record({
  kind: aKind,
  function: aFunction,
  duration: fc.integer({ min: 1, max: 4 })
});

/** A run whose held parts lie end to end, as workers measure them; others lie anywhere from before the run on. */
const aRun = fc.record({
  gap: fc.integer({ min: 0, max: 3 }),
  length: fc.integer({ min: 1, max: 6 }),
  function: aFunction,
  status: fc.constantFrom(
    RunStatus.Ok,
    RunStatus.Ok,
    RunStatus.Failed,
    RunStatus.Lost,
    RunStatus.Cancelled
  ),
  held: fc.array(aSpell, { maxLength: 3 }),
  behind: fc.array(fc.tuple(fc.integer({ min: -2, max: 6 }), aSpell), {
    maxLength: 2
  })
});
const aLane = fc.array(aRun, { maxLength: 6 });

type Lane = typeof aLane extends fc.Arbitrary<infer L> ? L : never;

function drawn(lanes: readonly Lane[]): LogStore {
  const letters = [...LETTERS];
  const tasks: Record<string, DrawnTask> = {};
  const rows = lanes.map((runs, lane) => {
    let row = '..';
    for (const run of runs) {
      const letter = letters.shift()!;
      const length = run.held.reduce((sum, each) => sum + each.duration, 0);
      let offset = 0;
      const held = run.held.map(each => {
        const part = { ...each, held: true, offset };
        offset += each.duration;
        return part;
      });
      const behind = run.behind
        // (without a part that held the thread a run is its own computing)
        .filter(([, { kind }]) => kind !== PartKind.Compute)
        .map(([at, each]) => ({ ...each, held: false, offset: at }));
      tasks[letter] = {
        function: run.function,
        status: run.status,
        parts: [...behind, ...held]
      };
      row += '.'.repeat(run.gap) + letter.repeat(length || run.length);
    }
    return `${lane >> 1}/${lane % 2}  ${row}`;
  });
  return drawRuns(rows.join('\n'), { tasks, secondsPerColumn: COLUMN });
}

/** As `spanwise/observed` writes records into a page. */
function sectionOf(log: LogStore): TaskStreamSection {
  const answer = ask(log, 'records');
  const { names } = answer;
  const functions: string[] = [];
  const numberOf = (name: string) =>
    functions.includes(name)
      ? functions.indexOf(name)
      : functions.push(name) - 1;
  const boxes = {
    record: [] as number[],
    start: [] as number[],
    duration: [] as number[],
    function: [] as number[],
    action: [] as number[],
    held: [] as number[]
  };
  const box = (
    record: number,
    start: number,
    duration: number,
    name: string,
    action: string,
    held: number
  ) => {
    boxes.record.push(record);
    boxes.start.push(start);
    boxes.duration.push(duration);
    boxes.function.push(numberOf(name));
    boxes.action.push(ACTIONS.indexOf(action));
    boxes.held.push(held);
  };
  const own = answer.function.map(at => numberOf(names[at]!));
  let next = 0;
  answer.run.forEach((_, record) => {
    const parts = Array.from(
      { length: answer.parts[record]! },
      () => (next += 1) - 1
    );
    const action = (part: number) => names[answer.partKind[part]!]!;
    const start = answer.start[record]!;
    if (!parts.some(part => action(part) === 'compute')) {
      const name = names[answer.function[record]!]!;
      const whole =
        names[answer.status[record]!] === 'lost' ? 'lost' : 'compute';
      box(record, start, answer.duration[record]!, name, whole, 1);
    }
    for (const part of parts) {
      box(
        record,
        start + answer.partOffset[part]!,
        answer.partDuration[part]!,
        names[answer.partFunction[part]!]!,
        action(part),
        answer.partHeld[part]!
      );
    }
  });
  return {
    kind: 'task-stream',
    title: 'Task Stream',
    seconds: COLUMNS * COLUMN,
    actions: ACTIONS,
    lanes: answer.lanes.map(({ worker, thread }) => ({ worker, thread })),
    functions: functions.map(name => ({ name, slot: 0, round: 0 })),
    records: {
      key: answer.key,
      lane: answer.lane,
      function: own,
      status: answer.status.map(at => names[at]!)
    },
    boxes
  };
}

/** Lane, columns, what it is coloured as, whether it lies in the strip and whether it is a part. */
type Seen = readonly [string, number, number, string, boolean, boolean];

function seen(
  lane: string,
  from: number,
  to: number,
  kind: number,
  name: string,
  strip: number,
  tasks: number
): Seen {
  const word = BOX_KINDS[kind]!;
  const colour = word === 'compute' ? `compute ${name}` : word;
  return [
    lane,
    Math.round(from),
    Math.round(to),
    colour,
    strip === 1,
    tasks === 0
  ];
}

const sorted = (boxes: Seen[]) => boxes.map(each => each.join(' ')).sort();

/**
 * What a tile draws, as records say it: in a tile the box of a fused run has the function of its key, below the parts of the others; in
 * records that which took most of it.
 */
function ofPanel(log: LogStore): Seen[] {
  const { columns, functions } = tile(log, LEVEL, 0);
  return Array.from(columns.from, (from, i) => {
    const { worker, thread } = log.shape.lanes[columns.laneIndex[i]!]!;
    expect(columns.cover[i]).toBe(255);
    const lane = `worker-${worker} ${thread}`;
    const kind = columns.kind[i]!;
    const name = functions[columns.function[i]!]!;
    const run = runDetail(log, log.runRows.get(columns.run[i]!))!;
    const isRun = columns.tasks[i] === 1;
    const isMain = BOX_KINDS[kind] === 'compute' && name === run.function;
    const box = seen(
      lane,
      from / CELLS,
      columns.to[i]! / CELLS,
      kind,
      isRun ? run.function : name,
      columns.strip[i]!,
      columns.tasks[i]!
    );
    const ofKey = run.parts
      .filter(part => part.held && part.kind === 'compute')
      .filter(part => part.function === name)
      .map(({ offset, duration }) => {
        const begin = (run.start + offset) / COLUMN;
        return seen(lane, begin, begin + duration / COLUMN, kind, name, 0, 0);
      });
    return isRun
      ? [box, ...(isMain || run.status !== 'ok' ? [] : ofKey)]
      : isMain
        ? []
        : [box];
  }).flat();
}

function ofPage(section: TaskStreamSection): Seen[] {
  return drawnBoxes(section).map(box => {
    const { worker, thread } = section.lanes[box.lane]!;
    return seen(
      `${worker} ${thread}`,
      box.from / COLUMN,
      box.to / COLUMN,
      box.kind,
      section.functions[box.function]!.name,
      box.strip,
      box.tasks
    );
  });
}

describe('an exported picture', () => {
  it('draws in full height and in the strip what the panel draws there', () => {
    let parts = 0;
    let strips = 0;
    fc.assert(
      fc.property(fc.array(aLane, { minLength: 1, maxLength: 4 }), lanes => {
        const log = drawn(lanes);
        const page = ofPage(sectionOf(log));
        expect(sorted(page)).toEqual(sorted(ofPanel(log)));
        // Runs come first: parts lie over them.
        const firstPart = page.findIndex(([, , , , , isPart]) => isPart);
        const own = firstPart < 0 ? [] : page.slice(firstPart);
        expect(own.every(([, , , , , isPart]) => isPart)).toBe(true);
        parts += own.length;
        strips += own.filter(([, , , , inStrip]) => inStrip).length;
      }),
      { numRuns: 150 }
    );
    // Else it would hold nothing against the panel.
    expect(strips).toBeGreaterThan(50);
    expect(parts - strips).toBeGreaterThan(50);
  });

  it('has what held the thread in full height: imports, deserialising, a transfer that was waited for', () => {
    const log = drawRuns('0/0  ..aaaaaaaaaa', {
      secondsPerColumn: COLUMN,
      tasks: {
        a: {
          function: 'fit',
          parts: [
            { kind: PartKind.Transfer, held: false, offset: -2, duration: 2 },
            { kind: PartKind.Transfer, offset: 0, duration: 1 },
            { kind: PartKind.Import, offset: 1, duration: 5 },
            { kind: PartKind.Deserialize, offset: 6, duration: 1 },
            { kind: PartKind.Compute, offset: 7, duration: 3 }
          ]
        }
      }
    });
    const boxes = ofPage(sectionOf(log));
    expect(
      boxes.map(([, from, to, what, strip]) => [from, to, what, strip])
    ).toEqual([
      [2, 12, 'compute fit', false],
      [0, 2, 'transfer', true],
      [2, 3, 'transfer', false],
      [3, 8, 'import', false],
      [8, 9, 'serialize', false]
    ]);
  });

  it.each([
    [RunStatus.Failed, 'failed'],
    [RunStatus.Cancelled, 'cancelled']
  ])('has a fused task that was in vain as one box: %s, %s', (status, word) => {
    const compute = { kind: PartKind.Compute, duration: 3 };
    const log = drawRuns('0/0  ..aaaaaaaaaa', {
      secondsPerColumn: COLUMN,
      tasks: {
        a: {
          function: 'load',
          status,
          parts: [
            { kind: PartKind.Import, offset: 0, duration: 1 },
            { ...compute, offset: 1 },
            { ...compute, offset: 4, function: 'fit' },
            { ...compute, offset: 7, function: 'sum' }
          ]
        }
      }
    });
    expect(
      ofPage(sectionOf(log)).map(([, from, to, what]) => [from, to, what])
    ).toEqual([
      [2, 12, word],
      [2, 3, 'import']
    ]);
  });
});
