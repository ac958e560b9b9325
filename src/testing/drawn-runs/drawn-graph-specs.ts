/** Draws the tasks of submissions. */
import type { SeededRandom } from '../../base/seeded-random';
import type { Amounts, Restriction } from '../../scheduler';
import type { DrawnSpec } from './drawn-tasks';

/** What tasks may do, and how they may be bound. */
type SpecKinds = {
  readonly fails: boolean;
  readonly secedes: boolean;
  readonly restricts: boolean;
  /** Whether some hold resources of their worker. */
  readonly needs: boolean;
};

/** What the best worker has, and what tasks may need of it. */
export const ALL_RESOURCES: Amounts = { GPU: 2, MEM: 1 };
const NEEDS: readonly Amounts[] = [
  { GPU: 1 },
  { GPU: 1 },
  { GPU: 2 },
  { MEM: 0.3 },
  { GPU: 1, MEM: 0.1 },
  { MEM: 0 }
];

/** What a worker has. */
export function drawnResources(random: SeededRandom): Amounts {
  return random.pick([ALL_RESOURCES, { GPU: 1 }, { GPU: 2, MEM: 0.5 }, {}]);
}

/** The names that workers may have and restrictions may mean; nobody has the last one until all is calm. */
export const PLACES = ['place-0', 'place-1', 'place-2', 'nowhere'] as const;

/** The shapes of graphs: how far back a task's inputs lie, and how many there are. */
const SHAPES = [
  { most: 0, reach: 1 },
  { most: 1, reach: 1 },
  { most: 2, reach: 3 },
  { most: 3, reach: 8 },
  { most: 4, reach: 40 },
  { most: 12, reach: 40 }
] as const;

/**
 * @param first - the number of the first task.
 * @param earlier - numbers of tasks of earlier submissions that these may need.
 */
export function drawnSpecs(
  random: SeededRandom,
  count: number,
  first: number,
  earlier: readonly number[],
  kinds: SpecKinds
): DrawnSpec[] {
  const shape = random.pick(SHAPES);
  const wants = random.pick([0.1, 0.3, 1]);
  const hasPriorities = random.chance(0.3);
  const isRestricted = kinds.restricts && random.chance(0.4);
  const isNeedy = kinds.needs && random.chance(0.6);
  const specs: DrawnSpec[] = [];
  for (let i = 0; i < count; i++) {
    const inputs: number[] = [];
    const wanted = i === 0 ? 0 : random.below(shape.most + 1);
    for (let k = 0; k < wanted; k++) {
      inputs.push(first + i - 1 - random.below(Math.min(i, shape.reach)));
    }
    if (earlier.length > 0 && random.chance(0.2)) {
      inputs.push(random.pick(earlier));
    }
    if (inputs.length > 0 && random.chance(0.1)) {
      inputs.push(random.pick(inputs));
    }
    specs.push({
      inputs,
      ...misdeeds(random, kinds.fails),
      secedes: kinds.secedes && random.chance(0.1),
      retries: random.chance(0.2) ? 1 + random.below(3) : 0,
      priority: hasPriorities ? random.below(5) - 2 : 0,
      restriction: withNeed(
        random,
        isRestricted && random.chance(0.4) ? restriction(random) : null,
        isNeedy && random.chance(0.5)
      ),
      isData: inputs.length === 0 && random.chance(0.1),
      isWanted: i === count - 1 || random.chance(wants)
    });
  }
  return specs;
}

/** Data that a client places: it does nothing. */
export function drawnData(random: SeededRandom, count: number): DrawnSpec[] {
  return Array.from({ length: count }, () => ({
    inputs: [],
    raises: 0,
    kills: 0,
    reschedules: 0,
    secedes: false,
    retries: 0,
    priority: 0,
    restriction: null,
    isData: false,
    isWanted: random.chance(0.7)
  }));
}

function misdeeds(
  random: SeededRandom,
  fails: boolean
): Pick<DrawnSpec, 'raises' | 'kills' | 'reschedules'> {
  const none = { raises: 0, kills: 0, reschedules: 0 };
  if (!fails || random.chance(0.8)) {
    return none;
  }
  const often = random.pick([1, 1, 2, Infinity]);
  switch (random.below(4)) {
    case 0:
      return { ...none, kills: often };
    case 1:
      return { ...none, reschedules: often };
    default:
      return { ...none, raises: often };
  }
}

function restriction(random: SeededRandom): Restriction {
  const named = (): number | string =>
    random.chance(0.5) ? random.below(5) : random.pick(PLACES);
  return {
    workers: random.chance(0.5) ? [named()] : [named(), named()],
    allowOther: random.chance(0.5)
  };
}

function withNeed(
  random: SeededRandom,
  bound: Restriction | null,
  isNeedy: boolean
): Restriction | null {
  return isNeedy
    ? {
        ...(bound ?? { workers: null, allowOther: false }),
        resources: random.pick(NEEDS)
      }
    : bound;
}
