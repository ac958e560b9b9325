/** An impossible value in a client's message is refused, whatever the other values are. */
import { NONE_U16, NONE_U32, SubmitFlag } from '../../../records/enumerations';
import { MAX_DENSE_IDS } from '../../../base/versioned-ids';
import { Scheduler } from '../../../scheduler';
import { FrameDecoder, FrameEncoder } from '../../../wire/frame';
import type { Message } from '../../../wire/schema';
import { MOST_KEYS_ASKED } from '../../../wire/worker-link';
import { BlobStore } from '../blob-store';
import { ClientBlobs, ClientTasks } from '../client-scope';
import {
  checkFromClient,
  checkFromWorker,
  type ComingGraph
} from '../check-messages';
import { TaskRows } from '../task-rows';

type Row = { id: number; template: number; flags?: SubmitFlag };

function submit(
  rows: readonly Row[],
  users: readonly number[] = []
): Message<'client', 'up'> {
  const ids = (pick: (row: Row) => number): Uint32Array =>
    Uint32Array.from(rows, pick);
  const zeros = new Uint32Array(rows.length);
  const body = new FrameEncoder('client', 'up').encodeBody(
    'submit',
    { generation: 0 },
    {
      tasks: {
        rows: rows.length,
        id: ids(({ id }) => id),
        suffix: zeros,
        group: zeros,
        function: zeros,
        span: new Uint32Array(rows.length),
        origin: new Uint8Array(rows.length),
        template: ids(({ template }) => template),
        chunk: zeros.map(() => NONE_U32),
        row: zeros,
        firstDependency: zeros,
        flags: Uint8Array.from(rows, ({ flags }) => flags ?? 0),
        retries: new Uint8Array(rows.length),
        restriction: new Uint16Array(rows.length),
        userPriority: new Int32Array(rows.length)
      },
      dependencies: { rows: 0, id: new Uint32Array(0) },
      users: { rows: users.length, count: Uint32Array.from(users) }
    } as never,
    []
  );
  return new FrameDecoder('client', 'up').decode(body) as never;
}

function scattered(ids: readonly number[]): Message<'client', 'up'> {
  const zeros = new Uint32Array(ids.length);
  const body = new FrameEncoder('client', 'up').encodeBody('scattered', {}, {
    tasks: {
      rows: ids.length,
      id: Uint32Array.from(ids),
      suffix: zeros,
      group: zeros,
      function: zeros,
      span: new Uint32Array(ids.length),
      flags: new Uint8Array(ids.length),
      nbytes: new Float64Array(ids.length)
    }
  } as never);
  return new FrameDecoder('client', 'up').decode(body) as never;
}

describe('what a client says', () => {
  const refusal = (
    message: Message<'client', 'up'>,
    coming: ComingGraph | null = null
  ): string => {
    const blobs = new ClientBlobs(new BlobStore());
    blobs.addTemplate(1, new Uint8Array(9));
    const rows = new TaskRows(new Scheduler().tasks);
    const tasks = new ClientTasks(rows, 0);
    try {
      checkFromClient(message, {
        tasks,
        blobs,
        names: 0,
        coming,
        isOfWorker: false
      });
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };

  it.each([
    ['alone', [{ id: 0, template: 7 }]],
    ['none at all', [{ id: 0, template: NONE_U32 }]],
    [
      'after an alias, which runs nothing',
      [
        { id: 0, template: 7, flags: SubmitFlag.Alias },
        { id: 1, template: 7 }
      ]
    ],
    [
      'after one that was sent',
      [
        { id: 0, template: 1 },
        { id: 1, template: 7 }
      ]
    ]
  ])('names no template that was never sent: %s', (_, rows) => {
    expect(refusal(submit(rows))).toMatch(/template \d+, which was never sent/);
  });

  it.each([
    ['names', 2_000, 0, ''],
    ['leases', 1, 64, ''],
    ['names that are too long', 2_001, 0, '"share": a name of 2001'],
    ['leases that are too long', 1, 65, 'a lease of 65 characters']
  ])('has names and leases of so many characters: %s', (_, n, m, why) => {
    const body = new FrameEncoder('client', 'up').encodeBody('share', {
      request: 1,
      kind: 'semaphore',
      what: 'acquire',
      name: 'n'.repeat(n),
      lease: 'l'.repeat(m),
      limit: 1
    });
    const message = new FrameDecoder('client', 'up').decode(body);
    expect(refusal(message).includes(why)).toBe(true);
    expect(refusal(message) === '').toBe(why === '');
  });

  it('tells the users of all tasks of a part, or of none', () => {
    const rows = [
      { id: 1, template: 1 },
      { id: 2, template: 1 }
    ];
    expect(refusal(submit(rows, [7, 0]))).toBe('');
    expect(refusal(submit(rows, [7]))).toBe(
      '"submit": 1 counts of users for 2 tasks.'
    );
    // And of all parts of a graph, or of none.
    const after = (isTold: boolean | null, users?: number[]): string =>
      refusal(submit(rows, users), { generation: 0, isTold });
    expect(after(true, [7, 0]) + after(false) + after(null, [7, 0])).toBe('');
    expect(after(true)).toMatch(/with some pieces of graph \d+, and not with/);
    expect(after(false, [7, 0])).toBe(after(true));
  });

  it('may leave out as many ids as a submission that it gave up had', () => {
    expect(refusal(submit([{ id: MAX_DENSE_IDS, template: 1 }]))).toBe('');
    expect(refusal(submit([{ id: MAX_DENSE_IDS + 1, template: 1 }]))).toMatch(
      'when the next is 0'
    );
  });

  it.each([
    ['one after the other', [4, 4], 4],
    ['apart', [0, 1, 2, 0], 0],
    ['among those that descend', [9, 8, 7, 8], 8],
    ['after one that is higher', [5, 3, 6, 6], 6]
  ])('names no task twice in one message: %s', (_, ids, twice) => {
    const rows = ids.map(id => ({ id, template: 1 }));
    expect(refusal(submit(rows))).toBe(`"submit": task ${twice} comes twice.`);
    expect(refusal(scattered(ids))).toBe(
      `"scattered": task ${twice} comes twice.`
    );
  });

  it('may name tasks in any order', () => {
    const rows = [9, 8, 11, 7, 10].map(id => ({ id, template: 1 }));
    expect(refusal(submit(rows))).toBe('');
  });
});

describe('what a worker says', () => {
  it('asks for so many keys at once', () => {
    const ask = (count: number): (() => void) => {
      const body = new FrameEncoder('worker', 'up').encodeBody(
        'askKeys',
        { request: 1 },
        { ids: { taskId: Array.from({ length: count }, (_, i) => i) } }
      );
      const message = new FrameDecoder('worker', 'up').decode(body);
      return () => checkFromWorker(message, 0, 1);
    };
    expect(ask(MOST_KEYS_ASKED)).not.toThrow();
    expect(ask(MOST_KEYS_ASKED + 1)).toThrow('4097 ids; 4096 are the most');
  });

  it.each([
    ['offset', Infinity],
    ['offset', -2e9],
    ['within', -0.1],
    ['within', Infinity]
  ])('says of its clock only what can be: no %s of %p', (what, value) => {
    const asks = (wrong: object): (() => void) => {
      const fields = { sent: 5, offset: -1e6, within: 0.001, ...wrong };
      const body = new FrameEncoder('worker', 'up').encodeBody(
        'askClock',
        fields as Message<'worker', 'up', 'askClock'>['fields'],
        {}
      );
      const message = new FrameDecoder('worker', 'up').decode(body);
      return () => checkFromWorker(message, 0, 1);
    };
    expect(asks({})).not.toThrow();
    expect(asks({ [what]: value })).toThrow(`"askClock": ${what} is ${value}.`);
  });

  it.each([
    ['start', NaN],
    ['start', Infinity],
    ['duration', NaN],
    ['duration', -1],
    ['duration', 1e10],
    ['cpu of a meter', -0.5],
    ['cpu of a meter', Infinity],
    ['offset of a part', NaN],
    ['offset of a part', -Infinity],
    ['duration of a part', NaN],
    ['duration of a part', -1],
    ['row of a sign', 1]
  ])('says of a run only what can be: no %s of %p', (what, value) => {
    const message = (isWrong: boolean): Message<'worker', 'up'> => {
      const of = (name: string, right: number): number[] =>
        isWrong && name === what ? [value] : [right];
      const body = new FrameEncoder('worker', 'up').encodeBody(
        'finished',
        { firstName: 0, names: [] },
        {
          runs: {
            taskId: [1],
            runId: [1],
            status: [0],
            thread: [0],
            start: of('start', 5),
            duration: of('duration', 0.5),
            cpu: [NaN],
            waitInputs: [NaN],
            waitThread: [NaN],
            nbytes: [8],
            inlineStart: [0],
            inlineLength: [NONE_U32],
            firstPart: [0],
            type: [NONE_U32]
          },
          parts: {
            kind: [4],
            function: [0],
            span: [0],
            offset: of('offset of a part', -0.5),
            duration: of('duration of a part', 0.5),
            cpu: [NaN],
            coreWait: [NaN],
            bytes: [NaN],
            from: [NONE_U16],
            held: [0]
          },
          meters: {
            row: [0],
            function: [0],
            span: [0],
            label: [0],
            unit: [0],
            value: [0.25],
            cpu: of('cpu of a meter', NaN)
          },
          signs: { row: of('row of a sign', 0) }
        }
      );
      return new FrameDecoder('worker', 'up').decode(body);
    };
    const check = (isWrong: boolean) => () =>
      checkFromWorker(message(isWrong), 0, 1);
    expect(check(false)).not.toThrow();
    expect(check(true)).toThrow(
      what === 'row of a sign'
        ? `"finished": row ${value} after 0, of 0.`
        : `"finished": ${what.replace(/ of a .*/, '')} is ${value}`
    );
  });
});
