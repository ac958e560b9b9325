/** Values that cannot travel, or only look as if they could: an error that says so, and workers that go on. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { task, type TaskFunction } from '../../graph/nodes';
import { module } from '../../graph/portable';
import { buildNodePrograms } from '../../../testing/node-programs';
import { waitFor } from '../../../testing/wait-for';
import { LARGE_BYTES } from '../large-buffers';
import { WorkerEndedError } from '../pool-errors';
import { UnsendableError } from '../unsendable';
import type { ProcessPool } from '../worker-pool';
import { failureOf, workerKinds } from './worker-kinds';

let folder: string;
let keeping: string;
beforeAll(() => {
  buildNodePrograms('pool-thread.mjs', 'pool-process.mjs');
  folder = mkdtempSync(join(tmpdir(), 'spanwise-hostile-'));
  const file = join(folder, 'keeping.mjs');
  writeFileSync(
    file,
    'const kept = new Float64Array(1e5).fill(7); export const table = () => kept;'
  );
  keeping = pathToFileURL(file).href;
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(workerKinds)('with $kind', ({ kind, get, makePool }) => {
  let pool: ProcessPool;
  beforeAll(() => {
    pool = makePool({ size: 1 });
  });
  afterAll(() => pool.close());

  const run = (fn: TaskFunction, ...args: unknown[]) =>
    get({ hostile: task(fn, ...args) }, 'hostile', { pool });

  it.each([
    [
      'resizable',
      () => Reflect.construct(ArrayBuffer, [1e5, { maxByteLength: 2e5 }])
    ],
    [
      'a view of a resizable one',
      () =>
        new Uint8Array(
          Reflect.construct(ArrayBuffer, [1e5, { maxByteLength: 2e5 }])
        )
    ],
    [
      'a part of a resizable one',
      () =>
        new DataView(
          Reflect.construct(ArrayBuffer, [2e5, { maxByteLength: 3e5 }]),
          8,
          1e5
        )
    ],
    [
      'of WebAssembly',
      () =>
        new Uint8Array(new WebAssembly.Memory({ initial: 2 }).buffer, 0, 1e5)
    ]
  ])('large memory that is %s arrives, both ways', async (_, make) => {
    const measure = (value: ArrayBufferView) => value.byteLength;
    expect(await run(make)).toMatchObject({ byteLength: 1e5 });
    expect(await run(measure, make())).toBe(1e5);
  });

  it('memory that has been moved away is refused', async () => {
    const gone = () => {
      const bytes = new Uint8Array(1e5);
      structuredClone(bytes, { transfer: [bytes.buffer] });
      return bytes;
    };
    expect(await failureOf(run(gone))).toBeInstanceOf(UnsendableError);
    expect(await failureOf(run((x: unknown) => x, gone()))).toBeInstanceOf(
      UnsendableError
    );
  });

  it('a getter that throws is named, and does not end the worker', async () => {
    const { workerId } = pool.workers[0]!;
    const lazy = () => ({
      rows: [
        {
          get link(): string {
            throw new Error('not loaded');
          }
        }
      ]
    });
    const error = await failureOf(run(lazy));
    expect(error).toBeInstanceOf(UnsendableError);
    expect(error.message).toContain(
      'result.rows[0].link throws when it is read (not loaded)'
    );
    expect(pool.workers[0]!.workerId).toBe(workerId);
  });

  it.each([
    [
      'whose stack throws',
      () => {
        throw Object.defineProperty(new Error('outer'), 'stack', {
          get() {
            throw new Error('no stack');
          }
        });
      },
      'no stack'
    ],
    [
      'without a text',
      () => {
        throw Object.assign(Object.create(null) as object, {
          inner() {
            return 1;
          }
        });
      },
      'primitive value'
    ]
  ])(
    'an error %s is told, and does not end the worker',
    async (_, fn, text) => {
      const { workerId } = pool.workers[0]!;
      const error = await failureOf(run(fn));
      expect(error).not.toBeInstanceOf(WorkerEndedError);
      expect(error.message).toContain(text);
      expect(pool.workers[0]!.workerId).toBe(workerId);
    }
  );

  it('a callable with a `then` is awaited, as await does', async () => {
    const builder = () =>
      Object.assign(() => 0, {
        then: (resolve: (value: number) => void) => resolve(5)
      });
    expect(await run(builder)).toBe(5);
  });

  it.each([
    [
      'a property of the function',
      function table() {
        const own = table as unknown as { kept?: Float64Array };
        return (own.kept ??= new Float64Array(1e5).fill(7));
      }
    ],
    [
      'a global',
      () => {
        const place = globalThis as { kept?: Float64Array };
        return (place.kept ??= new Float64Array(1e5).fill(7));
      }
    ],
    [
      'an imported module',
      new Function(
        'url',
        'return import(url).then(({ table }) => table())'
      ) as TaskFunction
    ]
  ])('memory that is kept in %s stays there', async (_, fn) => {
    for (let turn = 0; turn < 2; turn++) {
      const value = (await run(fn, keeping)) as Float64Array;
      expect(value).toHaveLength(1e5);
      expect(value[99_999]).toBe(7);
    }
  });

  it('memory that the module of a nested call keeps stays there', async () => {
    const table = module(keeping, 'table');
    for (let turn = 0; turn < 2; turn++) {
      const graph = { listed: [task(table)] };
      const [value] = await get<Float64Array[]>(graph, 'listed', { pool });
      expect(value).toHaveLength(1e5);
    }
  });

  it('bytes that a task prints arrive as they are', async () => {
    const chunks: Buffer[] = [];
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((chunk: unknown, encoding: unknown) => {
        chunks.push(
          Buffer.from(
            chunk as string,
            typeof encoding === 'string'
              ? (encoding as BufferEncoding)
              : undefined
          )
        );
        return true;
      });
    try {
      await run(() => {
        const bytes = Buffer.from('grün');
        // The letter is divided.
        process.stdout.write(bytes.subarray(0, 3));
        process.stdout.write(bytes.subarray(3));
        process.stdout.write('ff00', 'hex');
        return null;
      });
    } finally {
      write.mockRestore();
    }
    const expected = [Buffer.from('grün'), Buffer.from([0xff, 0])];
    expect(Buffer.concat(chunks)).toEqual(Buffer.concat(expected));
  });

  it('what arrives unreadable ends its worker, not this process', async () => {
    if (kind === 'threads') {
      // No value is known that a thread can send and not receive, so the event itself.
      const { transport } = pool.workers[0]!;
      const { _worker: worker } = transport as unknown as {
        _worker: NodeJS.EventEmitter;
      };
      const begun = new Int32Array(new SharedArrayBuffer(4));
      const endless = run((flag: Int32Array) => {
        flag[0] = 1;
        for (;;);
      }, begun);
      await waitFor('the task to begin', () => begun[0] === 1);
      worker.emit('messageerror', new Error('unreadable'));
      expect((await failureOf(endless)).message).toContain('unreadable');
    } else {
      const empty = () =>
        new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
      const error = await failureOf(run(empty));
      expect(error).toBeInstanceOf(WorkerEndedError);
      expect(error.message).toContain('deserialize');
    }
    expect(await run(() => 1)).toBe(1);
  });
});

it('the least size of what counts as large here', () => {
  expect(1e5).toBeGreaterThan(LARGE_BYTES);
});
