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
});
