import fc from 'fast-check';
import { Dictionary } from '../dictionary';

type Command =
  | { readonly do: 'id' | 'find'; readonly text: string }
  | {
      readonly do: 'forget';
      readonly most: number;
      readonly mostCharacters: number;
      readonly used: readonly number[];
    };

// Few texts, so that they come again; of different lengths, one of them empty.
const anyText = fc.constantFrom('', 'a', 'bb', 'ccc', 'dddddd', 'e'.repeat(9));
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  {
    arbitrary: fc.record({ do: fc.constant('id' as const), text: anyText }),
    weight: 4
  },
  fc.record({ do: fc.constant('find' as const), text: anyText }),
  fc.record({
    do: fc.constant('forget' as const),
    most: fc.nat(5),
    mostCharacters: fc.nat(20),
    used: fc.array(fc.nat(9), { maxLength: 3 })
  })
);

/** A slow model of a dictionary: the texts that are kept, the oldest first. */
class Model {
  kept: { id: number; text: string }[] = [];
  next = 0;

  get characters(): number {
    return this.kept.reduce((sum, { text }) => sum + text.length, 0);
  }

  find(text: string): number | undefined {
    return this.kept.find(each => each.text === text)?.id;
  }

  id(text: string): number {
    const known = this.find(text);
    if (known === undefined) {
      this.kept.push({ id: this.next, text });
    }
    return known ?? this.next++;
  }

  forget(
    most: number,
    mostCharacters: number,
    used: readonly number[]
  ): number {
    const before = this.kept.length;
    for (const each of [...this.kept]) {
      const isTooMuch =
        this.kept.length > most || this.characters > mostCharacters;
      if (isTooMuch && !used.includes(each.id)) {
        this.kept = this.kept.filter(other => other !== each);
      }
    }
    return before - this.kept.length;
  }
}

describe('a dictionary', () => {
  it('gives each text one id, and forgets the oldest that nobody uses', () => {
    fc.assert(
      fc.property(fc.array(anyCommand, { maxLength: 40 }), commands => {
        const told: [number, string][] = [];
        const dictionary = new Dictionary((id, text) => told.push([id, text]));
        const model = new Model();
        const given = new Map<number, string>();
        for (const command of commands) {
          if (command.do === 'forget') {
            const { most, mostCharacters, used } = command;
            expect(
              dictionary.forgetOldest(most, mostCharacters, id =>
                used.includes(id)
              )
            ).toBe(model.forget(most, mostCharacters, used));
          } else if (command.do === 'id') {
            const id = model.id(command.text);
            given.set(id, command.text);
            expect(dictionary.id(command.text)).toBe(id);
          } else {
            expect(dictionary.find(command.text)).toBe(
              model.find(command.text)
            );
          }
          expect(dictionary.size).toBe(model.kept.length);
          expect(dictionary.characters).toBe(model.characters);
        }
        expect(told).toEqual([...given]);
        for (const [id, text] of given) {
          const isKept = model.kept.some(each => each.id === id);
          expect(dictionary.text(id)).toBe(isKept ? text : '…');
        }
      })
    );
  });

  it('throws for an id that it never gave', () => {
    const dictionary = new Dictionary();
    dictionary.id('a');
    expect(dictionary.text(0)).toBe('a');
    expect(dictionary.forgetOldest(0, 0, () => false)).toBe(1);
    expect(dictionary.text(0)).toBe('…');
    expect(() => dictionary.text(1)).toThrow(RangeError);
    expect(() => dictionary.text(-1)).toThrow(RangeError);
  });
});
