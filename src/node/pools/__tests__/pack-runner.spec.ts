/** The runner of packs, as each worker has one, between a pool and a link that a test plays. */
import { waitFor } from '../../../testing/wait-for';
import type { FromWorker, RunMessage } from '../messages';
import { PackRunner } from '../pack-runner';
import { Measures } from '../task-meter';

const definition = (id: number, expression: string) => ({
  id,
  form: {
    kind: 'text',
    expression,
    name: 'drawn',
    movesResult: true
  } as const,
  within: []
});

const pack = (
  number: number,
  define: RunMessage['define'],
  args: readonly unknown[]
): RunMessage => ({
  type: 'run',
  pack: number,
  cell: -1,
  measures: Measures.none,
  define,
  count: args.length,
  calls: [0, 1],
  args,
  isShared: false
});

it('an id is what it was for the packs that came before it was given again', async () => {
  const values: unknown[] = [];
  let ended = 0;
  const begun = new Map<number, number>();
  const runner = new PackRunner({
    send: (message: FromWorker) => {
      if (message.type === 'results') {
        expect(message.failure).toBeUndefined();
        values.push(...message.values);
        ended += message.ended ? 1 : 0;
      }
    },
    canSend: () => true,
    arrivalOf: value => value,
    claim: ({ pack: number }) => {
      const next = begun.get(number) ?? 0;
      begun.set(number, next + 1);
      return next;
    }
  });
  runner.add(
    pack(
      0,
      [definition(0, 'async x => { await 1; return `old ${x}`; }')],
      [1, 2]
    )
  );
  runner.add(pack(1, [], [3]));
  runner.add(pack(2, [definition(0, 'x => `new ${x}`')], [4]));
  runner.add(pack(3, [], [5]));
  await waitFor('all have run', () => ended === 4);
  expect(values).toEqual(['old 1', 'old 2', 'old 3', 'new 4', 'new 5']);
});
