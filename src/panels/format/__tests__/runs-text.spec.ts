import { english } from '../../../testing/translators';
import {
  executionsText,
  failedRunsText,
  failedText,
  runningText,
  taskRunsText
} from '..';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

it('says what is counted, one as one', () => {
  const texts = [0, 1, 12_640].map(count => [
    plain(taskRunsText(count, english)),
    plain(executionsText(count, english))
  ]);
  expect(texts).toEqual([
    ['0 task runs', '0 executions'],
    ['1 task run', '1 execution'],
    ['12,640 task runs', '12,640 executions']
  ]);
  expect(plain(taskRunsText(1_250_000, english, '1,250,000'))).toBe(
    '1,250,000 task runs'
  );
});

it('says how many of what runs were cancelled, where some were', () => {
  const texts = [
    runningText(8, undefined, english),
    runningText(8, 0, english),
    runningText(12_640, 3, english),
    runningText(2, 2, english),
    runningText(0, 0, english)
  ];
  expect(texts).toEqual([
    '8 running',
    '8 running',
    '12,640 running, 3 of them cancelled',
    '2 cancelled, still running',
    '0 running'
  ]);
});

it('says of how many tasks failed runs are, where that is told', () => {
  const texts = [
    failedRunsText(0, undefined, english),
    failedRunsText(1, 1, english),
    failedRunsText(4, 1, english),
    failedRunsText(15, 3, english),
    failedRunsText(15, undefined, english)
  ];
  expect(texts.map(plain)).toEqual([
    '0 failed runs',
    '1 failed run',
    '4 failed runs of 1 task',
    '15 failed runs of 3 tasks',
    '15 failed runs'
  ]);
});

it('tells tasks that failed without a failed run from runs that did', () => {
  const text = (
    failed: number,
    failedTasks: number | undefined,
    failedUnrun: number
  ) => plain(failedText({ failed, failedTasks, failedUnrun }, english));
  expect([
    text(15, 3, 0),
    text(1, undefined, 1),
    text(2, 0, 2),
    text(2, 1, 1),
    text(6, 2, 2)
  ]).toEqual([
    '15 failed runs of 3 tasks',
    '1 failed task',
    '2 failed tasks',
    '1 failed run · 1 task failed otherwise',
    '4 failed runs of 2 tasks · 2 tasks failed otherwise'
  ]);
});
