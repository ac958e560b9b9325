import fc from 'fast-check';
import { FileSlots } from '../file-slots';

const add = (slots: FileSlots, samples: Record<string, number>) =>
  slots.add(new Map(Object.entries(samples)));
const files = (name: string, count: number, n: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`${name}${i}.py`, n])
  );

describe('colours of files', () => {
  it('are the heaviest’s, not the first’s', () => {
    const slots = new FileSlots();
    add(slots, files('imported', 60, 1));
    const heavy = Array.from({ length: 12 }, (_, i) => `heavy${i}.py`);
    for (const [i, file] of heavy.entries()) {
      add(slots, { [file]: 100 + i });
    }
    const taken = heavy.map(file => slots.slotOf(file));
    expect(taken.every(slot => slot >= 0 && slot < 12)).toBe(true);
    // Each has another.
    expect(new Set(taken).size).toBe(12);
  });

  it('stay, but where a file comes that is much heavier', () => {
    const slots = new FileSlots();
    add(slots, files('first', 36, 10));
    const before = Array.from({ length: 36 }, (_, i) =>
      slots.slotOf(`first${i}.py`)
    );
    expect(before.every(slot => slot >= 0)).toBe(true);
    const now = () =>
      before.filter((slot, i) => slots.slotOf(`first${i}.py`) !== slot).length;
    add(slots, { 'new.py': 19 });
    expect(slots.slotOf('new.py')).toBe(-1);
    expect(now()).toBe(0);
    add(slots, { 'new.py': 1 });
    expect(slots.slotOf('new.py')).toBeGreaterThanOrEqual(0);
    expect(now()).toBe(1);
    // As the samples go on in their proportions, nothing changes.
    const kept = slots.slotOf('new.py');
    for (let i = 0; i < 50; i++) {
      add(slots, { ...files('first', 36, 10), 'new.py': 20 });
    }
    expect(slots.slotOf('new.py')).toBe(kept);
    expect(now()).toBe(1);
  });

  it('are three files’ each at most, and none is left out that is heavier than twice one of them', () => {
    const blocks = fc.array(
      fc.dictionary(
        fc.integer({ min: 0, max: 80 }).map(i => `f${i}.py`),
        fc.integer({ min: 1, max: 1000 }),
        { maxKeys: 40 }
      ),
      { maxLength: 30 }
    );
    fc.assert(
      fc.property(blocks, taken => {
        const [slots, again] = [new FileSlots(), new FileSlots()];
        const weights = new Map<string, number>();
        for (const samples of taken) {
          add(slots, samples);
          add(again, samples);
          for (const [file, n] of Object.entries(samples)) {
            weights.set(file, (weights.get(file) ?? 0) + n);
          }
        }
        const names = [...weights.keys()];
        expect(names.map(file => slots.slotOf(file))).toEqual(
          names.map(file => again.slotOf(file))
        );
        const bySlot = Array.from({ length: 12 }, (_, slot) =>
          names.filter(file => slots.slotOf(file) === slot)
        );
        expect(Math.max(...bySlot.map(({ length }) => length))).toBeLessThan(4);
        const coloured = bySlot.flat();
        expect(coloured.length).toBe(Math.min(36, names.length));
        const lightest = Math.min(...coloured.map(file => weights.get(file)!));
        const last = Object.keys(taken.at(-1) ?? {});
        for (const file of last.filter(each => slots.slotOf(each) < 0)) {
          expect(weights.get(file)).toBeLessThan(2 * lightest);
        }
      })
    );
  });
});
