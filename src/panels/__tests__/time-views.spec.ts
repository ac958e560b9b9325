import { TimeViews } from '../time-views';

it('what is shown of a cluster is told, and stays', () => {
  const views = new TimeViews();
  const told: string[] = [];
  views.changed.connect((_, cluster) => told.push(cluster));
  expect(views.of('a', 0)).toBeNull();
  views.show('a', { from: 1, to: 2 });
  views.show('b', { from: 3, to: 4 });
  expect(views.of('a', 1000)).toEqual({ from: 1, to: 2 });
  expect(views.of('b', 1000)).toEqual({ from: 3, to: 4 });
  expect(told).toEqual(['a', 'b']);
});

it('what went on with the newest work stays until there is newer work, once it is hidden', () => {
  const views = new TimeViews();
  const view = { from: 1, to: 2 };
  views.show('a', view);
  views.hide('a', view, 10);
  expect(views.of('a', 10)).toMatchObject(view);
  expect(views.of('a', 11)).toBeNull();
  // Another panel shows it by now.
  const other = { from: 5, to: 6 };
  views.show('a', other);
  views.hide('a', view, 10);
  expect(views.of('a', 11)).toEqual(other);
});
