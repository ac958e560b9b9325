/** @jest-environment node */
import { monotonicClock } from '../../../link/monotonic';
import { OwnProfile, type OwnProfileAnswer } from '../own-profile';

const SETTINGS = {
  enabled: true,
  interval: 0.001,
  cycle: 1,
  scheduler: false
};
const clock = monotonicClock();
let profile: OwnProfile;

afterEach(() => profile.close());

function functionThatIsBusy(seconds: number): void {
  const begun = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(begun);
    if (user + system > seconds * 1e6) {
      return;
    }
  }
}

/** Samples in which a function is, or all. */
function samplesOf(answer: OwnProfileAnswer, name?: string): number {
  const { parents, frameOf, frames, buckets } = answer;
  const isIn = (place: number): boolean =>
    place > 0 &&
    (frames[frameOf[place]!]![0] === name || isIn(parents[place]!));
  let found = 0;
  for (const [, counts] of buckets) {
    for (let at = 0; at < counts.length; at += 2) {
      found += name === undefined || isIn(counts[at]!) ? counts[at + 1]! : 0;
    }
  }
  return found;
}

it('begins with the first question, and then has all of what it was asked after', () => {
  profile = new OwnProfile(clock, SETTINGS);
  const first = profile.answer();
  expect(samplesOf(first, functionThatIsBusy.name)).toBe(0);
  expect(first.since).toBeLessThanOrEqual(clock());
  for (const times of [1, 2]) {
    functionThatIsBusy(0.3);
    const answer = profile.answer();
    expect(answer).toMatchObject({ since: first.since, why: '' });
    // A core that others have, too, lets it be looked at more seldom.
    expect(samplesOf(answer, functionThatIsBusy.name)).toBeGreaterThan(
      30 * times
    );
    expect(answer.frames.map(([name]) => name)).not.toContain('(idle)');
    for (const [second] of answer.buckets) {
      expect(second).toBeGreaterThanOrEqual(Math.floor(first.since!) - 1);
      expect(second).toBeLessThanOrEqual(clock());
    }
  }
});

it('forgets the oldest seconds, and says so', () => {
  profile = new OwnProfile(clock, SETTINGS, 1_000, 2);
  const first = profile.answer();
  const until = clock() + 3;
  while (clock() < until) {
    functionThatIsBusy(0.01);
  }
  const { buckets, since } = profile.answer();
  expect(buckets).toHaveLength(2);
  expect(since).toBe(buckets[0]![0]);
  expect(since).toBeGreaterThan(first.since!);
});

it('counts samples where they leave a tree that is full', () => {
  profile = new OwnProfile(clock, SETTINGS, 2);
  profile.answer();
  functionThatIsBusy(0.3);
  const answer = profile.answer();
  expect(answer.parents).toHaveLength(2);
  expect(answer.frames.length).toBeLessThanOrEqual(1);
  expect(samplesOf(answer)).toBeGreaterThan(30);
});

it('looks at nothing where profiles are switched off', () => {
  profile = new OwnProfile(clock, { ...SETTINGS, enabled: false });
  functionThatIsBusy(0.05);
  expect(profile.answer()).toMatchObject({
    ...{ interval: 0, since: null, why: '', buckets: [] }
  });
});

it('is not begun by a question that only wants what there is', () => {
  profile = new OwnProfile(clock, SETTINGS);
  expect(profile.answer(false)).toMatchObject({
    interval: SETTINGS.interval,
    since: null,
    why: '',
    buckets: []
  });
  expect(profile.answer(false).since).toBeNull();
  const { since } = profile.answer();
  expect(since).not.toBeNull();
  expect(profile.answer(false).since).toBe(since);
});
