import { OomKills } from '../oom-kills';

const GROUP = { '/proc/self/cgroup': '1:name=systemd:/\n0::/user.slice\n' };
const EVENTS = '/sys/fs/cgroup/user.slice/memory.events';
const SYSTEM = '/proc/vmstat';

/** Asks after each of these states of the files. */
function asked(states: readonly Record<string, string>[]): boolean[] {
  let files = states[0]!;
  const kills = new OomKills(path => files[path] ?? '');
  return states.map(state => {
    files = state;
    return kills.haveRisen();
  });
}

describe("the OOM killer's work", () => {
  it('is that of the own control group, if it says so', () => {
    const state = (own: number, all: number) => ({
      ...GROUP,
      [EVENTS]: `oom ${own}\noom_kill ${own}\noom_group_kill 0\n`,
      [SYSTEM]: `oom_kill ${all}\n`
    });
    expect(asked([state(2, 7), state(2, 8), state(3, 9), state(3, 9)])).toEqual(
      [false, false, true, false]
    );
  });

  it("is else the system's, and nothing where neither is told", () => {
    const state = (all: number) => ({
      [SYSTEM]: `nr_free_pages 5\noom_kill ${all}\n`
    });
    expect(asked([state(7), state(8), {}, {}])).toEqual([
      false,
      true,
      false,
      false
    ]);
  });

  it('is read of this system', () => {
    expect(new OomKills().haveRisen()).toBe(false);
  });
});
