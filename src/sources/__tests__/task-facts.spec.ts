import { idOf } from '../../testing/ids';
import { GivenUpTasks } from '../given-up-tasks';
import { nextAttempt } from '../task-facts';

it('attempts count from 1 as far as their column goes, and stay there', () => {
  expect([0, 1, 253, 254, 255, 300].map(nextAttempt)).toEqual([
    1, 2, 254, 255, 255, 255
  ]);
  const column = Uint8Array.of(0);
  for (let run = 0; run < 300; run++) {
    column[0] = nextAttempt(column[0]!);
  }
  expect(column[0]).toBe(255);
});

it('of the tasks that were given up the oldest go when there are too many', () => {
  const tasks = new GivenUpTasks();
  const taskOf = (node: number) => ({
    node,
    functionId: 1,
    span: idOf<never>(2),
    unfinishedSince: 3,
    attempts: 0
  });
  const most = 65_536;
  for (let node = 0; node < most; node++) {
    tasks.keep(idOf(node), taskOf(node));
  }
  // Asking for an entry does not keep it longer.
  expect(tasks.get(idOf(0))).toEqual(taskOf(0));
  tasks.keep(idOf(most), taskOf(most));
  const found = [0, 1, most - 1, most].map(id => tasks.get(idOf(id))?.node);
  expect(found).toEqual([undefined, 1, most - 1, most]);
});
