/** What quick-expect.cjs makes of `expect` is jest's own one, but for the time. */
import fc from 'fast-check';

const { ofJest: slow } = expect as unknown as { ofJest: jest.Expect };

const MATCHERS = [
  'toBe',
  'toEqual',
  'toBeLessThan',
  'toBeLessThanOrEqual',
  'toBeGreaterThan',
  'toBeGreaterThanOrEqual',
  'toBeCloseTo',
  'toContain'
] as const;

/** The message of what is thrown; of jest's errors, what was compared and how. */
function told(compare: () => void): string {
  try {
    compare();
    return 'holds';
  } catch (error) {
    return String(error);
  }
}

const anyLeaf = fc.constantFrom<unknown>(
  ...[0, -0, 1, NaN, Infinity, 2n, '', 'a', null, undefined, true],
  ...[Symbol.for('a'), Math.max, /a/, new Date(0), new Date(NaN)],
  ...[new Error('a'), new TypeError('a'), new Error('b'), Object.create(null)],
  ...[new Float32Array([0]), new Float32Array([-0]), new Uint8Array([0])]
);
const { value: anyValue } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    anyLeaf,
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b'), tie('value')),
    fc.array(tie('value'), { maxLength: 2 }).map(all => new Set(all)),
    fc.array(tie('value'), { maxLength: 2 }).map(all => {
      const sparse = [...all];
      delete sparse[0];
      return sparse;
    }),
    tie('value').map(of => new Map([['a', of]])),
    tie('value').map(of => Object.assign(new (class A {})(), { of })),
    fc.constantFrom(slow.anything(), slow.any(Number), slow.any(Object))
  )
}));
/** Two values that are often nearly the same one. */
const anyPair = fc.oneof(
  fc.tuple(anyValue, anyValue),
  fc.tuple(fc.nat(2), fc.nat(2)),
  anyValue.map(one => [one, one] as const),
  anyValue.map(one => [one, copyOf(one)] as const),
  fc.tuple(anyLeaf, anyLeaf).map(([one, other]) => [[one], [other]] as const),
  fc
    .tuple(anyLeaf, anyLeaf)
    .map(([one, other]) => [new Set([one, other]), other] as const),
  fc
    .tuple(anyLeaf, anyLeaf)
    .map(([one, other]) => [[one, other], other] as const)
);

/** Without members that are undefined, and of plain types. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(copyOf);
  }
  if (
    typeof value !== 'object' ||
    value === null ||
    Symbol.iterator in value ||
    !/^(Object|A)$/.test(value.constructor?.name ?? 'Object')
  ) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, of]) => of !== undefined)
      .map(([name, of]) => [name, copyOf(of)])
  );
}

it.each(MATCHERS)('%s holds and fails as jest has it', matcher => {
  let held = 0;
  fc.assert(
    fc.property(anyPair, ([received, wanted]) => {
      const mine = told(() => expect(received)[matcher](wanted as never));
      held += Number(mine === 'holds');
      const others = told(() => slow(received)[matcher](wanted as never));
      if (mine !== others) {
        throw new Error(`${mine}\n\nand jest: ${others}`);
      }
    }),
    { numRuns: 300 }
  );
  expect(held).toBeGreaterThan(0);
});

it.each([undefined, 0, 2, 3])(
  'numbers are as close as jest has it, to %p digits',
  digits => {
    const numbers = [0, 0.0006, 0.005, 0.02, 1, NaN, Infinity];
    for (const received of numbers) {
      for (const wanted of numbers) {
        expect(told(() => expect(received).toBeCloseTo(wanted, digits))).toBe(
          told(() => slow(received).toBeCloseTo(wanted, digits))
        );
      }
    }
  }
);

it('is counted', () => {
  expect.assertions(3);
  expect(1).toBe(1);
  expect([1]).not.toEqual([2]);
  expect({ a: 1 }).toEqual({ a: 1 });
});

it('has all matchers, and what hangs on `expect` itself', () => {
  expect(Object.keys(slow(1)).filter(name => !(name in expect(1)))).toEqual([]);
  expect(Object.keys(slow).filter(name => !(name in expect))).toEqual([]);
  expect({ a: 1 }).toEqual({ a: expect.any(Number) });
});

it.each<readonly [string, () => unknown]>([
  ['what was compared', () => expect(1).toBe(2)],
  ['what was negated', () => expect(1).not.toBe(1)],
  ['a promise', () => expect(Promise.resolve(1)).resolves.toBe(2)],
  ['a promise that is kept', () => expect(Promise.resolve(1)).rejects.toBe(1)]
])('an error names this file first: %s', async (_what, compare) => {
  const error = await Promise.resolve()
    .then(compare)
    .then(
      () => 'none',
      (thrown: Error) => thrown.stack
    );
  const frames = String(error)
    .split('\n')
    .filter(line => /^ +at /.test(line) && !line.includes('node_modules'));
  expect(frames[0]).toContain('quick-expect.spec.ts');
});
