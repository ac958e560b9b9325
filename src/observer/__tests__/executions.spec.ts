import * as fc from 'fast-check';
import { drawRuns, type DrawnTask } from '../../testing/run-from-text';
import type { Filter } from '../../wire/panel-link';
import type { LogStore } from '../store/log-store';
import { answer, ask, tile } from './ask';

const FUNCTIONS = ['f', 'g', 'h'] as const;
const SPANS = ['x', 'y', 'y/z'] as const;
const KIND_COMPUTE = 4;
const KIND_TRANSFER = 1;

type Call = { readonly fn: string; readonly span: string };
/** A task: the calls that it consists of; one that is not told in parts consists of one. */
type Drawn = {
  readonly calls: readonly Call[];
  readonly columns: number;
  readonly hasTransfer: boolean;
  readonly lane: 0 | 1;
};

const call = fc.record({
  fn: fc.constantFrom(...FUNCTIONS),
  span: fc.constantFrom(...SPANS)
});
const drawn: fc.Arbitrary<Drawn> = fc.record({
  calls: fc.array(call, { minLength: 1, maxLength: 4 }),
  columns: fc.integer({ min: 8, max: 12 }),
  hasTransfer: fc.boolean(),
  lane: fc.constantFrom(0, 1)
});

function logOf(tasks: readonly Drawn[], partsFirst: boolean): LogStore {
  const lanes = ['', ''];
  const meanings: Record<string, DrawnTask> = {};
  tasks.forEach(({ calls, columns, hasTransfer, lane }, i) => {
    const letter = String.fromCharCode(0x61 + i);
    const last = calls.at(-1)!;
    const isTold = calls.length > 1 || hasTransfer;
    const from = hasTransfer ? 1 : 0;
    const each = (columns - from) / calls.length;
    lanes[lane] += letter.repeat(columns) + '.';
    meanings[letter] = {
      function: last.fn,
      span: last.span,
      parts: isTold
        ? [
            ...(hasTransfer
              ? [{ kind: KIND_TRANSFER, offset: 0, duration: 1 }]
              : []),
            ...calls.map(({ fn, span }, k) => ({
              kind: KIND_COMPUTE,
              offset: from + k * each,
              duration: each,
              function: fn,
              span
            }))
          ]
        : []
    };
  });
  const lines = lanes.map((lane, i) => `${i}/0 ${lane === '' ? '.' : lane}`);
  return drawRuns(lines.join('\n'), { tasks: meanings, partsFirst });
}

/** Whether a call passes, of a filter by functions and spans. */
function passes({ fn, span }: Call, filter: Filter): boolean {
  const isIn = (path: readonly string[]): boolean =>
    path.every((tag, depth) => span.split('/')[depth] === tag);
  return (
    (filter.functions === undefined || filter.functions.includes(fn)) &&
    (filter.spans?.any === undefined ||
      filter.spans.any.some(term => 'path' in term && isIn(term.path)))
  );
}

const FILTERS: readonly Filter[] = [
  {},
  ...FUNCTIONS.map(fn => ({ functions: [fn] })),
  { functions: ['f', 'h'] },
  { spans: { any: [{ path: ['y'] }] } },
  { spans: { any: [{ path: ['x'] }] }, functions: ['g'] },
  { spans: { any: [{ path: ['y', 'z'] }] }, functions: ['f', 'g'] }
];

/** Boxes of tasks, executions under a filter by spans or functions: how many, and their seconds. */
function inTiles(
  log: LogStore,
  filter: Filter,
  level: number
): { count: number; seconds: number } {
  let count = 0;
  let seconds = 0;
  const cell = 2 ** level / 1e6;
  for (let index = 0; index * 512 * cell < 200; index++) {
    const { columns } = tile(log, level, index, filter);
    columns.tasks.forEach((tasks, i) => {
      const inside =
        Math.min(512, columns.to[i]!) - Math.max(0, columns.from[i]!);
      const begins = columns.from[i]! >= 0 && columns.from[i]! < 512;
      if (tasks > 0 && columns.strip[i] === 0) {
        count += begins ? tasks : 0;
        seconds += (inside * cell * columns.cover[i]!) / 255;
      }
    });
  }
  return { count, seconds };
}

describe('executions', () => {
  it('are the same in all panels and the API, whatever is chosen', () => {
    fc.assert(
      fc.property(
        fc.array(drawn, { minLength: 1, maxLength: 12 }),
        fc.constantFrom(...FILTERS),
        fc.boolean(),
        fc.constantFrom<Filter>({}, { workers: [0, 1] }),
        (tasks, chosen, partsFirst, workers) => {
          const log = logOf(tasks, partsFirst);
          const filter = { ...chosen, ...workers };
          const matching = tasks.flatMap(({ calls }) =>
            calls.filter(each => passes(each, filter))
          );
          const times = [undefined, { from: -1, to: 1000 }] as const;
          for (const time of times) {
            const metrics = ask(log, 'fine-metrics', {
              filter,
              ...(time === undefined ? {} : { time }),
              params: { entries: true }
            });
            for (const fn of FUNCTIONS) {
              const count = matching.filter(each => each.fn === fn).length;
              const row = metrics.byFunction.find(each => each.function === fn);
              expect(row?.executions ?? 0).toBe(count);
              const entry = metrics.entries!.find(
                ([where, name, activity, unit]) =>
                  where === 'execute' &&
                  name === fn &&
                  activity === 'compute' &&
                  unit === 'count'
              );
              expect(entry?.[4] ?? 0).toBe(count);
            }
          }
          const stream = ask(log, 'task-stream', { filter });
          expect(stream.executions).toBe(matching.length);
          for (const { name, executions } of stream.functions) {
            expect(executions).toBe(
              matching.filter(each => each.fn === name).length
            );
          }
          // Whole tasks: the chart and its table.
          const whole = tasks.filter(({ calls }) =>
            calls.some(each => passes(each, filter))
          );
          expect(stream.tasks).toBe(whole.length);
          expect(stream.hidden).toBe(tasks.length - whole.length);
          expect(ask(log, 'tasks', { filter }).total).toBe(whole.length);
        }
      ),
      { numRuns: 150 }
    );
  });

  it('are drawn in place of the fused task, for the time that they took', () => {
    fc.assert(
      fc.property(
        fc.array(drawn, { minLength: 1, maxLength: 8 }),
        fc.constantFrom(...FILTERS.slice(1)),
        fc.boolean(),
        (tasks, filter, partsFirst) => {
          const log = logOf(tasks, partsFirst);
          let count = 0;
          let seconds = 0;
          for (const { calls, columns, hasTransfer } of tasks) {
            const each = (columns - (hasTransfer ? 1 : 0)) / calls.length;
            const of = calls.filter(one => passes(one, filter)).length;
            count += of;
            // A task that is not fused is drawn whole, with the transfer that it waited for.
            seconds += calls.length === 1 ? of * columns : of * each;
          }
          // Exact boxes; cells of half a second and of 16 s, in which all of it is covered.
          for (const level of [17, 19, 24]) {
            const shown = inTiles(log, filter, level);
            expect(shown.seconds).toBeGreaterThan(seconds * 0.97 - 1e-9);
            expect(shown.seconds).toBeLessThan(seconds * 1.03 + 1e-9);
            if (level < 20) {
              expect(shown.count).toBe(count);
            }
          }
          // The sum over the headers of the lanes is the sum of Fine Metrics.
          const { workers } = ask(log, 'task-stream', { filter });
          const busy = workers.reduce((sum, each) => sum + each.busy, 0);
          const { attributedNanoseconds } = ask(log, 'fine-metrics', {
            filter
          });
          expect(busy).toBeCloseTo(attributedNanoseconds / 1e9, 4);
        }
      ),
      { numRuns: 60 }
    );
  });

  it('of a function that only fused tasks have are found and not hidden', () => {
    const log = drawRuns('0/0 aaaa', {
      tasks: {
        a: {
          function: 'chunk_sum',
          parts: [
            { kind: 4, offset: 0, duration: 3, function: 'matmul' },
            { kind: 4, offset: 3, duration: 1 }
          ]
        }
      }
    });
    const filter = { functions: ['matmul'] };
    const { result, honoured } = answer(log, 'task-stream', { filter });
    expect(honoured.how).toBe('exact');
    expect(result).toMatchObject({ tasks: 1, hidden: 0, executions: 1 });
    const { columns, functions } = tile(log, 17, 0, filter);
    expect(functions).toEqual(['matmul']);
    expect([...columns.tasks]).toEqual([1]);
    expect([...columns.run]).toEqual([0]);
    expect((columns.to[0]! - columns.from[0]!) * 0.131072).toBeCloseTo(3, 4);
  });
});
