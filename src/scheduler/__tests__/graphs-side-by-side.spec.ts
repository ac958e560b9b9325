import { SchedulerFixture } from '../../testing/scheduler-fixture';

describe('a graph that needs a task of a graph that another client is sending', () => {
  it('is ordered by its own tasks alone', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a', { client: 0, want: 'a', last: false });
    // `a` is the first task of its graph, as `c` is of this one: taken for it, `c` would wait for itself.
    s.submit('a -> c; c -> d', { client: 1, want: 'd' });
    expect(s.saidOf('assign')).toEqual(['assign 0: a c']);
    s.finish(0, 'a');
    s.finish(0, 'c');
    expect(s.saidOf('assign')).toEqual(['assign 0: d']);
  });

  it('begins when that one is complete', () => {
    const s = new SchedulerFixture();
    s.join(0);
    s.submit('a', { client: 0, want: '', last: false });
    s.submit('a -> c', { client: 1, want: 'c', last: false });
    expect(s.said()).toEqual([]);
    s.submit('b', { client: 0, want: '' });
    expect(s.saidOf('assign')).toEqual(['assign 0: a c']);
  });
});
