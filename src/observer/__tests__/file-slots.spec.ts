import fc from 'fast-check';
import { FileSlots } from '../file-slots';

const add = (slots: FileSlots, samples: Record<string, number>) =>
  slots.add(new Map(Object.entries(samples)));
const files = (name: string, count: number, n: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`${name}${i}.py`, n])
  );

/** With the last samples f23 leaves for a file of twice its weight, and some of half its weight stay. */
const ONE_LEAVES: Record<string, number>[] = [
  { 'f0.py': 1 },
  { 'f11.py': 1 },
  { 'f23.py': 1, 'f13.py': 2 },
  { 'f1.py': 1, 'f15.py': 1, 'f14.py': 1, 'f45.py': 1, 'f44.py': 1 },
  { 'f20.py': 1, 'f16.py': 2 },
  {
    ...{ 'f5.py': 1, 'f2.py': 1, 'f24.py': 1, 'f26.py': 2, 'f21.py': 1 },
    ...{ 'f25.py': 2, 'f18.py': 3, 'f37.py': 3, 'f17.py': 3 }
  },
  {
    ...{ 'f27.py': 2, 'f32.py': 2, 'f12.py': 2, 'f3.py': 3, 'f31.py': 3 },
    ...{ 'f33.py': 3, 'f4.py': 3, 'f28.py': 3, 'f19.py': 3 }
  },
  {
    ...{ 'f23.py': 1, 'f29.py': 4, 'f6.py': 5, 'f30.py': 4, 'f41.py': 4 },
    ...{ 'f34.py': 4, 'f35.py': 4, 'f7.py': 5, 'f38.py': 4 }
  }
];

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

  it('are another’s for one that has to leave for a heavier one of the same samples', () => {
    const slots = new FileSlots();
    const blocks: readonly Record<string, number>[] = [
      { 'f1.py': 1, 'f2.py': 1, 'f3.py': 1, 'f58.py': 1 },
      { 'f45.py': 1, 'f30.py': 1, 'f5.py': 1, 'f29.py': 1 },
      {
        'f11.py': 1,
        'f12.py': 1,
        'f25.py': 1,
        'f13.py': 1,
        'f10.py': 2,
        'f15.py': 1
      },
      { 'f8.py': 1, 'f19.py': 2 },
      { 'f27.py': 1, 'f16.py': 1, 'f26.py': 1, 'f31.py': 1 },
      { 'f46.py': 1, 'f9.py': 1 },
      {
        'f17.py': 3,
        'f0.py': 3,
        'f22.py': 3,
        'f18.py': 3,
        'f4.py': 3,
        'f32.py': 3
      },
      {
        'f6.py': 2,
        'f59.py': 2,
        'f7.py': 3,
        'f20.py': 3,
        'f47.py': 4,
        'f14.py': 3
      },
      { 'f24.py': 5, 'f21.py': 4, 'f58.py': 1, 'f23.py': 4 }
    ];
    blocks.forEach(samples => add(slots, samples));
    // Of two samples, where others have one.
    expect(slots.slotOf('f58.py')).toBeGreaterThanOrEqual(0);
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
        for (const file of names.filter(each => slots.slotOf(each) < 0)) {
          expect(weights.get(file)).toBeLessThan(2 * lightest);
        }
      }),
      { examples: [[ONE_LEAVES]] }
    );
  });
});
