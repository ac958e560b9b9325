/** How many functions two runs have in common, by the hashes that are kept of them, and which run is proposed by that. */
import * as fc from 'fast-check';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import {
  MOST_HASHES,
  NameSketch,
  sharedNames
} from '../../../observer/store/name-sketch';
import type { ClusterInfo } from '../../../wire/panel-link';
import { areAlike, proposedRun } from '../other-run';
import { SharedFunctions } from '../shared-functions';

/** A run of these functions; each program has a name of its own. */
function run(cluster: string, names: Iterable<string>, at = 0): ClusterInfo {
  const sketch = new NameSketch();
  [...names].forEach(name => sketch.add(name));
  const info = clusterInfo({ cluster, name: cluster, startedAt: 1000 + at });
  sketches.set(info, sketch);
  return info;
}

const sketches = new WeakMap<ClusterInfo, NameSketch>();
const shared = (a: ClusterInfo, b: ClusterInfo): number | undefined =>
  sharedNames(sketches.get(a)!, sketches.get(b)!) ?? undefined;
/** What is told of runs with this one. */
const sharedWith = (own: ClusterInfo) => (one: ClusterInfo) => shared(one, own);

const ofNobody = () => undefined;
const named = (letter: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${letter}-function-${i}`);

/** Names of few letters come in several of the sets. */
const someNames = (most: number) =>
  fc
    .record({ from: fc.nat(most), count: fc.integer({ min: 1, max: most }) })
    .map(({ from, count }) =>
      Array.from({ length: count }, (_, i) => `f${from + i}`)
    );

describe('of all functions of two runs', () => {
  it('as many are found in common as there are, however unlike in number', () => {
    fc.assert(
      fc.property(
        someNames(MOST_HASHES - 1),
        someNames(MOST_HASHES - 1),
        (a, b) => {
          const ofB = new Set(b);
          const exact = a.filter(name => ofB.has(name)).length;
          expect(shared(run('a', a), run('b', b))).toBe(exact);
        }
      )
    );
  });

  it('those of a small run are found in a long session: always of 500, often of 5,000', () => {
    const large = (count: number) => run('large', named('s', count));
    const share = (count: number): number => {
      const session = large(count);
      const names = named('s', count);
      let found = 0;
      for (let i = 0; i < 150; i++) {
        const few = [i, 37 * i + 11, 101 * i + 7].map(at => names[at % count]!);
        found += Number((shared(run('small', few), session) ?? 0) > 0);
      }
      return found / 150;
    };
    expect(share(200)).toBe(1);
    expect(share(500)).toBe(1);
    // The smallest tenth of all hashes is told: of three functions one is among them in a quarter of cases.
    expect(share(5000)).toBeGreaterThan(0.1);
  });

  it('are about as many as there are where not all are told', () => {
    const all = named('s', 6000);
    const [a, b] = [run('a', all.slice(0, 4000)), run('b', all.slice(1000))];
    expect(shared(a, b)! / 3000).toBeGreaterThan(0.8);
    expect(shared(a, b)! / 3000).toBeLessThan(1.25);
    // Never more than one of the runs has.
    const few = run('few', all.slice(0, 10));
    expect(shared(few, a) ?? 0).toBeLessThanOrEqual(10);
  });
});

describe('the run that is proposed', () => {
  it('is one with at least half as many functions in common as any has', () => {
    fc.assert(
      fc.property(
        someNames(300),
        fc.array(someNames(300), { minLength: 1, maxLength: 6 }),
        (own, others) => {
          const first = run('own', own);
          const runs = others.map((names, i) => run(`run-${i}`, names, -1 - i));
          const exact = others.map(
            names => names.filter(name => own.includes(name)).length
          );
          const found = proposedRun(
            [first, ...runs],
            first,
            null,
            sharedWith(first),
            ofNobody
          )!;
          const most = Math.max(...exact);
          const its = exact[runs.indexOf(found)]!;
          expect(2 * its).toBeGreaterThanOrEqual(most);
        }
      )
    );
  });

  it('is a long session with its few functions, and no newer run of others', () => {
    const session = run('session', named('s', 200), 0);
    const unrelated = run('unrelated', named('u', 20), 1);
    const missed = named('s', 200)
      .map((_, i, all) => run('own', all.slice(i, i + 3), 2))
      .filter(
        own =>
          proposedRun(
            [own, unrelated, session],
            own,
            null,
            sharedWith(own),
            ofNobody
          ) !== session
      );
    expect(missed).toEqual([]);
  });

  it('is the last of its program as long as none of its functions has ended', () => {
    const own = { ...run('own', [], 9), name: 'fit.py' };
    const before = { ...run('before', named('f', 3)), name: 'fit.py' };
    const newer = run('newer', named('u', 20), 1);
    const ofNone = () => undefined;
    expect(sharedNames(new NameSketch(), sketches.get(newer)!)).toBeNull();
    expect(areAlike(before, own, ofNone, ofNobody)).toBe(true);
    expect(areAlike(newer, own, ofNone, ofNobody)).toBe(false);
    const runs = [own, newer, before];
    expect(proposedRun(runs, own, null, ofNone, ofNobody)).toBe(before);
  });

  it('has a function in common, where that is told, whatever program it is of', () => {
    const own = { ...run('own', ['load']), name: 'fit.py' };
    const namesake = { ...run('namesake', ['plot']), name: 'fit.py' };
    const alike = { ...run('alike', ['load']), name: 'other.py' };
    const told = (info: ClusterInfo) => Number(info === alike);
    expect(areAlike(namesake, own, told, ofNobody)).toBe(false);
    expect(areAlike(alike, own, told, ofNobody)).toBe(true);
  });
});

describe('what is told of functions in common', () => {
  const [own, other] = ['own', 'other'].map(cluster =>
    clusterInfo({ cluster })
  ) as [ClusterInfo, ClusterInfo];
  const telling = (cluster: string, count: number) => ({
    ...other,
    sharedFunctions: [{ cluster, count }]
  });

  it('is what was told last with the own run, also while nothing is', () => {
    const functions = new SharedFunctions();
    functions.follow([own, other], own);
    expect(functions.of(other)).toBeUndefined();
    functions.follow([own, telling('own', 3)], own);
    functions.follow([own, telling('another', 5)], own);
    functions.follow([own, other], own);
    expect(functions.of(other)).toBe(3);
    // (with another own run it was not told)
    functions.follow([own, other], clusterInfo({ cluster: 'third' }));
    expect(functions.of(other)).toBeUndefined();
  });
});
