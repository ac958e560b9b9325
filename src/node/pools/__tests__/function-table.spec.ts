import fc from 'fast-check';
import type { TaskFunction } from '../../graph/nodes';
import { module, NotPortableError, PortableForms } from '../../graph/portable';
import { FunctionTable } from '../function-table';

const made = (text: string) =>
  globalThis.eval(`(${text})`) as unknown as TaskFunction;

describe('functions that a pool sends', () => {
  it('a text is looked into once, however many functions have it', () => {
    const look = jest.spyOn(PortableForms.prototype, 'formOf');
    const table = new FunctionTable();
    const ids = new Set<number>();
    for (let at = 0; at < 1000; at++) {
      ids.add(table.idOf((x: number) => x + 1));
    }
    expect(ids.size).toBe(1);
    expect(table.size).toBe(1);
    expect(look).toHaveBeenCalledTimes(1);
    look.mockRestore();
  });

  it('a text that cannot be sent is refused each time', () => {
    const table = new FunctionTable();
    const factor = 3;
    const make = () => (x: number) => x * factor;
    expect(() => table.idOf(make())).toThrow(NotPortableError);
    expect(() => table.idOf(make())).toThrow('`factor`');
    expect(table.size).toBe(0);
  });

  it('functions of modules are told apart, though one text makes them all', () => {
    const table = new FunctionTable();
    const ids = ['basename', 'dirname', 'basename'].map(name =>
      table.idOf(module('node:path', name))
    );
    expect(ids).toEqual([0, 1, 0]);
    expect(table.idOf(() => 1)).toBe(2);
    const moving = module('node:path', 'basename', { movesResult: true });
    expect(table.idOf(moving)).toBe(3);
  });

  it('equal texts have one id, others have others, in whatever order they come', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 9 })), numbers => {
        const table = new FunctionTable();
        const idOfText = new Map<string, number>();
        for (const number of numbers) {
          const text = `x => x + ${number}`;
          const id = table.idOf(made(text));
          expect(id).toBe(idOfText.get(text) ?? idOfText.size);
          idOfText.set(text, id);
        }
        expect(table.size).toBe(idOfText.size);
      })
    );
  });

  it('what is too much is forgotten, and each worker knows what it is called by', () => {
    const texts = Array.from(
      { length: 12 },
      (_, at) => `x => x + ${at} + '${'-'.repeat(100 * at)}'`
    );
    const known = texts.map(made);
    const weight = (at: number) => texts[at]!.length + 200;
    const most = 4000;
    const messages = fc.array(
      fc.record({
        worker: fc.nat({ max: 2 }),
        isNew: fc.boolean(),
        checked: fc.array(fc.nat({ max: 11 }), { maxLength: 12 }),
        called: fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 6 })
      }),
      { maxLength: 30 }
    );
    fc.assert(
      fc.property(messages, drawn => {
        const table = new FunctionTable(most);
        const workers = [0, 1, 2].map(() => ({
          upTo: 0,
          textOf: new Map<number, string>()
        }));
        for (const { worker: of, isNew, checked, called } of drawn) {
          checked.forEach(at => table.check(known[at]!));
          table.beginMessage();
          const ids = called.map(at =>
            table.idOf(isNew ? made(texts[at]!) : known[at]!)
          );
          const worker = workers[of]!;
          for (const { id, form } of table.definitionsFrom(worker.upTo)) {
            worker.textOf.set(id, (form as { expression: string }).expression);
          }
          worker.upTo = table.nextSerial;
          expect(ids.map(id => worker.textOf.get(id))).toEqual(
            called.map(at => texts[at])
          );
          const live = table
            .definitionsFrom(0)
            .map(({ form }) =>
              texts.indexOf((form as { expression: string }).expression)
            );
          const sum = (ats: Iterable<number>) =>
            [...ats].reduce((all, at) => all + weight(at), 0);
          // Functions that a message calls stay until the next one begins, however many there are.
          const calledNow = sum(new Set(called));
          expect(sum(live)).toBeLessThanOrEqual(Math.max(most, calledNow));
          expect(table.size).toBe(live.length);
          // Ids are given again.
          expect(Math.max(...ids)).toBeLessThan(texts.length);
        }
      })
    );
  });

  it('what was measured of one function is not said of the next with its id', () => {
    const table = new FunctionTable(1);
    const ids = [1, 2].map(number => {
      table.beginMessage();
      const id = table.idOf(made(`x => x + ${number}`));
      expect(table.meanMs(id)).toBeUndefined();
      table.measured(id, 2, 10);
      return id;
    });
    expect(ids).toEqual([0, 0]);
    expect(table.meanMs(0)).toBe(5);
  });
});
