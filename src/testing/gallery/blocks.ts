/**
 * Sample blocks, written to `blocks` beside this file by `jlpm build:schema` and read by jest and by pytest: `<name>.bin` and, beside it,
 * `<name>.json` with what it holds. NaN stands in the JSON as "NaN".
 */
import type { LaneId, SpanId } from '../../records/ids';
import { NONE_U32, RunStatus } from '../../records/enumerations';
import type { Row } from '../../records/block';
import { BlockBuilder } from '../../records/block-builder';
import type { TableName } from '../../records/tables';

type Sample<T extends TableName> = {
  readonly what: string;
  readonly seq: number;
  readonly table: T;
  readonly rows: readonly Row<T>[];
};

const sample = <T extends TableName>(value: Sample<T>): Sample<T> => value;

const BLOCK_SAMPLES = {
  names: sample({
    what: 'texts of several lengths, one of them empty, some not ASCII',
    seq: 1,
    table: 'names',
    rows: [
      { id: 0, text: 'inc' },
      { id: 1, text: '' },
      { id: 2, text: 'größer' },
      { id: 3, text: '<img src=x onerror=alert(1)>' },
      { id: 4, text: '計算 🚀' }
    ]
  }),
  workers: sample({
    what: 'four text columns in one table; a worker that lives and one that left',
    seq: 2,
    table: 'workers',
    rows: [
      {
        worker: 0,
        pid: 4242,
        threads: 2,
        memoryLimit: 2e9,
        joined: 0.125,
        left: NaN,
        name: 'worker 0',
        address: 'unix:/tmp/spanwise-a/peer-0.sock',
        host: 'hosta',
        why: ''
      },
      {
        worker: 1,
        pid: 4243,
        threads: 2,
        memoryLimit: 2e9,
        joined: 0.25,
        left: 3.5,
        name: 'worker 1',
        address: 'tcp:127.0.0.1:40001',
        host: 'hosta',
        why: 'killed'
      }
    ]
  }),
  clients: sample({
    what: 'a notebook, and a script that has left',
    seq: 4,
    table: 'clients',
    rows: [
      {
        client: 1,
        joined: 0.5,
        left: NaN,
        name: 'first-look',
        kernel: '5b1a1c1e-0c7d-4c3f-9f43-1f3f6a1d2c3b',
        path: '/home/alice/first-look.ipynb'
      },
      {
        client: 2,
        joined: 1.5,
        left: 4.25,
        name: 'größer',
        kernel: '',
        path: ''
      }
    ]
  }),
  runs: sample({
    what: 'every width of column; a run whose source knows no waits',
    seq: 3,
    table: 'runs',
    rows: [1, 2, 3].map(run => ({
      run,
      node: run + 10,
      function: 0,
      span: 1 as SpanId,
      lane: (run % 2) as LaneId,
      status: RunStatus.Ok,
      attempt: 1,
      start: 0.1 * run,
      duration: 0.5,
      waitReady: run === 3 ? NaN : 0.25,
      waitInputs: 0,
      waitThread: 0.125,
      cpu: 0.375,
      nbytes: 28,
      type: run === 3 ? NONE_U32 : 4
    }))
  })
} as const;

export function galleryOfBlocks(): Readonly<
  Record<string, string | Uint8Array>
> {
  const files: Record<string, string | Uint8Array> = {};
  for (const [name, { what, seq, table, rows }] of Object.entries(
    BLOCK_SAMPLES
  )) {
    const builder = new BlockBuilder<TableName>(table);
    const sealed = (constantFrom?: number): Uint8Array => {
      for (const row of rows) {
        builder.append(row as unknown as Row<TableName>);
      }
      return builder.seal(seq, constantFrom);
    };
    files[`src/testing/gallery/blocks/${name}.bin`] = sealed();
    // The same with columns of one value, which longer blocks have.
    files[`src/testing/gallery/constant-columns/${name}.bin`] = sealed(1);
    files[`src/testing/gallery/blocks/${name}.json`] = `${JSON.stringify(
      { what, seq, table, rows },
      (_, value: unknown) => (Number.isNaN(value) ? 'NaN' : value),
      2
    )}\n`;
  }
  return files;
}
