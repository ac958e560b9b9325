/**
 * Mistakes with numbers that do not compile. Each `@ts-expect-error` is an error of `tsc` if the line below it compiles; the functions
 * are never called.
 */
import type {
  Bytes,
  Milliseconds,
  Nanoseconds,
  Seconds
} from '../../base/brand';
import { u32Of, type ArrayOf, type IndexedBy } from '../../base/typed-arrays';
import type { Row } from '../../records/block';
import type {
  ClientTaskId,
  DenseTaskId,
  LaneId,
  LaneIndex,
  OuterTaskId,
  SpanId
} from '../../records/ids';
import type { ActivityCells } from '../../observer/store/activity-cells';
import { nanoseconds } from '../../observer/store/run-book';
import { formatBytes } from '../../panels/format/bytes';
import { formatDuration } from '../../panels/format/duration';
import type { CompiledFilter } from '../../observer/filter';
import type { ClusterShape } from '../../observer/store/cluster-shape';
import type { ClientTasks } from '../../sidecar/scheduler-process/client-scope';
import type { TaskRows } from '../../sidecar/scheduler-process/task-rows';
import type { Message } from '../../wire/schema';
import type { RunDetail, TileColumns } from '../../wire/panel-link';

type Submit = Message<'client', 'up', 'submit'>;
type Finished = Message<'worker', 'up', 'finished'>;

const mistakes = {
  ids(client: ClientTaskId, dense: DenseTaskId, outer: OuterTaskId): void {
    const fits: number = client;
    // @ts-expect-error a plain number is no id
    const counted: DenseTaskId = fits;
    // @ts-expect-error an id is no id of another kind
    const mixed: DenseTaskId = outer;
    // @ts-expect-error what is calculated is no id
    const next: DenseTaskId = dense + 1;
    return void [counted, mixed, next];
  },

  tasks(
    rows: TaskRows,
    own: ClientTasks,
    submit: Submit,
    { tables }: Finished
  ): void {
    const client = submit.tables.tasks.id[0]!;
    const outer = tables.runs.taskId[0]!;
    const dense = own.resolve(client);
    rows.want(client, dense, 0);
    // @ts-expect-error in the wrong order
    rows.want(dense, client, 0);
    // @ts-expect-error a worker's id is none of the client's
    own.resolve(outer);
    // @ts-expect-error the client's id has no version
    rows.ids.resolve(client);
    // @ts-expect-error columns are by dense id
    rows.flags[client];
    // @ts-expect-error a row of the message is no dense id
    rows.flags[0];
    // @ts-expect-error the column holds spans
    rows.span[dense] = tables.runs.thread[0]!;
    rows.span[dense] = tables.parts.span[0]!;
    // @ts-expect-error the rest of the list is of the same kind
    const tasks: Iterable<DenseTaskId> = submit.tables.tasks.id.subarray(1);
    return void tasks;
  },

  lanes(shape: ClusterShape, filter: CompiledFilter, tile: TileColumns): void {
    const lane = shape.lanes[0]!.lane;
    const index = shape.laneIndex(lane);
    tile.laneIndex[0] = index;
    // @ts-expect-error the index of an index
    shape.laneIndex(index);
    // @ts-expect-error a tile holds indices
    tile.laneIndex[0] = lane;
    // @ts-expect-error a filter asks for ids
    filter.lanes[tile.laneIndex[0]!];
    // @ts-expect-error running tasks are found by id
    shape.running.get(index);
    // @ts-expect-error a lane is no span
    filter.spans[lane];
  },

  rows(run: Row<'runs'>, lane: LaneId, index: LaneIndex, span: SpanId): void {
    const right: Pick<Row<'runs'>, 'lane' | 'span'> = { lane, span };
    // @ts-expect-error the log has ids of lanes
    const wrong: Pick<Row<'runs'>, 'lane'> = { lane: index };
    // @ts-expect-error the thread of a run is no lane
    const thread: Pick<Row<'runs'>, 'lane'> = { lane: run.function };
    return void [right, wrong, thread];
  },

  amounts(seconds: Seconds, bytes: Bytes, lane: LaneId): void {
    const plain: Seconds = 1.5;
    const sum: Seconds = seconds + plain;
    const product: Milliseconds = seconds * 1000;
    // @ts-expect-error not converted
    const milliseconds: Milliseconds = seconds;
    // @ts-expect-error not converted
    const nanoseconds: Nanoseconds = milliseconds;
    // @ts-expect-error another quantity
    const other: Seconds = bytes;
    // @ts-expect-error an id is no amount
    const id: Bytes = lane;
    return void [sum, product, nanoseconds, other, id];
  },

  figures(run: RunDetail, cells: ActivityCells): void {
    formatDuration(run.duration);
    // @ts-expect-error seconds as bytes
    formatBytes(run.duration);
    // @ts-expect-error bytes as seconds
    formatDuration(run.nbytes);
    cells.addNanoseconds(0, 0, nanoseconds(run.duration));
    // @ts-expect-error not converted
    cells.addNanoseconds(0, 0, run.duration);
    // @ts-expect-error converted already
    nanoseconds(cells.totalNanoseconds(0));
  },

  arrays(
    column: ArrayOf<Uint32Array, DenseTaskId>,
    byTask: IndexedBy<DenseTaskId, Float64Array>
  ): void {
    // @ts-expect-error an array of plain numbers has not come in by a door
    const coined: ArrayOf<Uint32Array, DenseTaskId> = new Uint32Array(1);
    // @ts-expect-error the place of a task in a list is no id
    column.forEach((_, place) => byTask[place]);
    return void coined;
  }
};

describe('numbers of different meaning', () => {
  it('are plain numbers when the program runs', () => {
    expect(u32Of<DenseTaskId>()).toBe('u32');
    expect(Object.keys(mistakes)).toHaveLength(7);
  });
});
