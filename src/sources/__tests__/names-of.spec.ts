import fc from 'fast-check';
import { Dictionary } from '../../records/dictionary';
import { NONE_U32 } from '../../records/enumerations';
import { NamesOf } from '../names-of';

const COINED = 0x80000000;

const anyStep = fc.record({
  // As a place among the names so far: in them, right behind them, or with a gap.
  first: fc.oneof(fc.nat(10), fc.nat(60)),
  names: fc.array(fc.constantFrom('', 'inc', 'add', 'sum', 'load'), {
    maxLength: 20
  })
});

describe('the names of a connection', () => {
  it.each([
    ['a client, which counts from 0', false],
    ['a worker, which coins its own', true]
  ])('of %s are those of the log', (_, isWorker) => {
    const sent = (id: number): number => (isWorker ? COINED + id : id);
    const twenty = { first: 0, names: Array.from({ length: 20 }, String) };
    fc.assert(
      fc.property(
        fc.array(anyStep, { maxLength: 8 }),
        fc.boolean(),
        (drawn, isLong) => {
          // More than there is room for at first.
          const steps = isLong ? [twenty, ...drawn] : drawn;
          const dictionary = new Dictionary();
          // Ids of the log and of the connection differ.
          dictionary.id('of another one');
          const names = new NamesOf(dictionary, isWorker);
          let known: string[] = [];
          for (const { first, names: added } of steps) {
            names.announce(sent(first), added);
            if (first <= known.length) {
              known = [
                ...known.slice(0, first),
                ...added,
                ...known.slice(first + added.length)
              ];
            }
            expect(names.size).toBe(known.length);
          }
          for (const [id, text] of known.entries()) {
            expect(dictionary.text(names.logId(sent(id)))).toBe(text);
          }
          const unknown = [known.length, known.length + 1, 2 ** 31 - 2];
          for (const id of unknown) {
            expect(dictionary.text(names.logId(sent(id)))).toBe('');
          }
          if (isWorker) {
            // The log's own ids stay what they are, up to the last.
            expect(names.logId(7)).toBe(7);
            expect(names.logId(COINED - 1)).toBe(COINED - 1);
            // Work outside tasks has no function, and "none" is no name.
            expect(names.logId(NONE_U32)).toBe(NONE_U32);
          }
        }
      )
    );
  });
});
