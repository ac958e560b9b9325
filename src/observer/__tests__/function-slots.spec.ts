/** Colours of functions from one cluster of a notebook to the next, and which of those that share one is plain. */
import * as fc from 'fast-check';
import { FunctionSlots } from '../function-slots';

const weigh = (
  slots: FunctionSlots,
  more: Readonly<Record<string, number>>,
  whole: number
): void => slots.weigh(new Map(Object.entries(more)), whole);
const names = (count: number, prefix = 'f') =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const coloured = (slots: FunctionSlots, of: readonly string[]) =>
  of.map(name => [name, slots.of(name)]);

describe('the next cluster of a notebook', () => {
  it.each([11, 20, 30])(
    'has %d functions in the colours of the one before, whatever comes first',
    count => {
      const all = names(count);
      const before = new FunctionSlots();
      all.forEach(name => before.meet(name));
      weigh(before, Object.fromEntries(all.map(name => [name, 1])), count);
      const next = new FunctionSlots(before);
      [...all].reverse().forEach(name => next.meet(name));
      weigh(next, Object.fromEntries(all.map(name => [name, 1])), count);
      expect(coloured(next, all)).toEqual(coloured(before, all));
    }
  );

  it('keeps the colours of functions that have not come yet from new ones', () => {
    const all = names(10);
    const before = new FunctionSlots();
    all.forEach(name => before.meet(name));
    const next = new FunctionSlots(before);
    names(2, 'new').forEach(name => next.meet(name));
    all.forEach(name => next.meet(name));
    expect(coloured(next, all)).toEqual(coloured(before, all));
    const given = [...all, 'new0', 'new1'].map(name => next.of(name).slot);
    expect(new Set(given).size).toBe(12);
  });

  it('has them also if one between was never looked at', () => {
    const all = names(10);
    const first = new FunctionSlots();
    all.forEach(name => first.meet(name));
    const last = new FunctionSlots(new FunctionSlots(first));
    [...all].reverse().forEach(name => last.meet(name));
    expect(coloured(last, all)).toEqual(coloured(first, all));
  });

  it('has them also after more clusters that were never looked at than a stack has room for', () => {
    const all = names(10);
    const first = new FunctionSlots();
    all.forEach(name => first.meet(name));
    let last = first;
    for (let i = 0; i < 50_000; i++) {
      last = new FunctionSlots(last);
    }
    [...all].reverse().forEach(name => last.meet(name));
    expect(coloured(last, all)).toEqual(coloured(first, all));
  });

  it('gives the colours of functions that are no more to those that find none', () => {
    const before = new FunctionSlots();
    names(24, 'old').forEach(name => before.meet(name));
    const next = new FunctionSlots(before);
    const fresh = names(24, 'new');
    fresh.forEach(name => next.meet(name));
    for (const name of fresh) {
      expect(next.of(name).slot).toBeGreaterThanOrEqual(0);
    }
    expect(next.of('old3').slot).toBe(-1);
    next.meet('another');
    expect(next.of('another').slot).toBe(-1);
  });

  it('leaves one that was heavy plain until another has run for much longer', () => {
    const all = names(24);
    const before = new FunctionSlots();
    all.forEach(name => before.meet(name));
    const { slot } = before.of('f0');
    const sharer = all.slice(12).find(name => before.of(name).slot === slot)!;
    weigh(before, { f0: 50, [sharer]: 10 }, 100);
    const next = new FunctionSlots(before);
    next.meet(sharer);
    weigh(next, { [sharer]: 10 }, 10);
    expect(next.of('f0')).toEqual({ slot, round: 0 });
    next.meet('f0');
    weigh(next, { f0: 5, [sharer]: 80 }, 200);
    expect(next.of('f0')).toEqual({ slot, round: 0 });
    weigh(next, { [sharer]: 100 }, 200);
    expect(next.of(sharer)).toEqual({ slot, round: 0 });
  });
});

describe('of functions that share a colour', () => {
  it('the one that has much more is plain, and keeps the colour', () => {
    const slots = new FunctionSlots();
    names(24).forEach(name => slots.meet(name));
    const late = slots.of('f20');
    expect(late.round).toBe(1);
    const early = names(12).find(name => slots.of(name).slot === late.slot)!;
    weigh(slots, { [early]: 40, f20: 60 }, 1000);
    expect(slots.of('f20')).toEqual(late);
    weigh(slots, { f20: 20 }, 1000);
    expect(slots.of('f20')).toEqual({ slot: late.slot, round: 0 });
    expect(slots.of(early)).toEqual(late);
    // Nor do they change in turns.
    weigh(slots, { [early]: 100 }, 1000);
    expect(slots.of(early)).toEqual(late);
  });

  it('none changes for one that does not matter', () => {
    const slots = new FunctionSlots();
    names(24).forEach(name => slots.meet(name));
    weigh(slots, { f20: 4 }, 1000);
    expect(slots.of('f20').round).toBe(1);
  });
});

describe('whatever comes, and however often the kernel is restarted', () => {
  const event = fc.oneof(
    fc.record({ meet: fc.nat(60) }),
    fc.record({ heavier: fc.nat(60), by: fc.integer({ min: 1, max: 400 }) }),
    fc.constant('restart' as const)
  );

  it('no two functions look alike', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), events => {
        let slots = new FunctionSlots();
        let whole = 0;
        for (const each of events) {
          if (each === 'restart') {
            slots = new FunctionSlots(slots);
            whole = 0;
          } else if ('meet' in each) {
            slots.meet(`f${each.meet}`);
          } else {
            slots.meet(`f${each.heavier}`);
            whole += each.by;
            weigh(slots, { [`f${each.heavier}`]: each.by }, whole);
          }
          const held = names(61)
            .map(name => slots.of(name))
            .filter(({ slot }) => slot >= 0)
            .map(({ slot, round }) => `${slot} ${round}`);
          expect(new Set(held).size).toBe(held.length);
          expect(held.length).toBeLessThanOrEqual(36);
        }
      })
    );
  });

  it('a function that has a colour keeps it as long as no late one takes it', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(200), { minLength: 1, maxLength: 24 }),
        fc.array(fc.uniqueArray(fc.nat(23), { maxLength: 24 }), {
          maxLength: 4
        }),
        (ids, runs) => {
          const all = ids.map(id => `f${id}`);
          let slots = new FunctionSlots();
          all.forEach(name => slots.meet(name));
          const expected = all.map(name => slots.of(name).slot);
          for (const run of runs) {
            slots = new FunctionSlots(slots);
            for (const i of run) {
              const name = all[i % all.length]!;
              slots.meet(name);
              weigh(slots, { [name]: i + 1 }, 100);
            }
          }
          slots = new FunctionSlots(slots);
          [...all].reverse().forEach(name => slots.meet(name));
          expect(all.map(name => slots.of(name).slot)).toEqual(expected);
        }
      )
    );
  });
});

describe('a function of which a run lasts', () => {
  it('has a colour from the beginning, also where the first two dozen are taken', () => {
    const slots = new FunctionSlots();
    names(300).forEach(name => slots.meet(name));
    weigh(slots, Object.fromEntries(names(300).map(name => [name, 0.1])), 30);
    expect(slots.of('f299').slot).toBe(-1);
    slots.begin('long');
    const { slot } = slots.of('long');
    expect(slot).toBeGreaterThanOrEqual(0);
    // It keeps it when it has ended, and is the heaviest.
    weigh(slots, { long: 110 }, 140);
    expect(slots.of('long').slot).toBe(slot);
  });

  it('takes it from a light one where all are taken, and not from one that matters or lasts', () => {
    const slots = new FunctionSlots();
    names(24).forEach(name => slots.meet(name));
    names(11, 'heavy').forEach(name => slots.meet(name));
    weigh(
      slots,
      Object.fromEntries(names(11, 'heavy').map(name => [name, 10])),
      110
    );
    slots.begin('short');
    weigh(slots, { short: 0.1 }, 110.1);
    slots.begin('long');
    expect(slots.of('long').slot).toBeGreaterThanOrEqual(0);
    expect(slots.of('short').slot).toBe(-1);
    slots.begin('other');
    expect(slots.of('other').slot).toBe(-1);
    expect(slots.of('long').slot).toBeGreaterThanOrEqual(0);
    for (const name of names(11, 'heavy')) {
      expect(slots.of(name).slot).toBeGreaterThanOrEqual(0);
    }
  });
});
