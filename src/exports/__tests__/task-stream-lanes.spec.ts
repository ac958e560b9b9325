/**
 * @jest-environment <rootDir>/src/testing/browser-environment.cjs
 */
/** What an exported picture calls the lanes, in its table. */
import type { TaskStreamSection } from '../content';
import { taskStreamElement } from '../page/task-stream-section';

const lanes: TaskStreamSection['lanes'] = [
  { worker: 'worker-0', thread: 0 },
  { worker: 'worker-0', thread: 2, beside: ['seceded', 1] },
  { worker: 'this process', thread: 32_769, beside: ['overlapping', 2] }
];
const each = lanes.map((_, at) => at);
const section: TaskStreamSection = {
  kind: 'task-stream',
  title: 'Task Stream',
  seconds: 1,
  actions: ['compute'],
  lanes,
  functions: [{ name: 'inc', slot: 0, round: 0 }],
  records: {
    key: each.map(at => `inc-${at}`),
    lane: each,
    function: each.map(() => 0),
    status: each.map(() => 'ok')
  },
  boxes: {
    record: each,
    start: each.map(() => 0),
    duration: each.map(() => 1),
    function: each.map(() => 0),
    action: each.map(() => 0),
    held: each.map(() => 1)
  }
};

it('lanes that are of no thread have the words of the panel', () => {
  window.matchMedia = () =>
    ({ matches: false, addEventListener: () => undefined }) as never;
  HTMLCanvasElement.prototype.getContext = () => null;
  const root = taskStreamElement(section);
  const details = root.querySelector('details')!;
  details.dispatchEvent(new Event('toggle'));
  const rows = [...details.querySelectorAll('tbody tr')];
  expect(rows.map(row => row.children[2]!.textContent)).toEqual([
    'worker 0, thread 1',
    'worker 0, seceded 1',
    'this process, overlapping 2'
  ]);
});
