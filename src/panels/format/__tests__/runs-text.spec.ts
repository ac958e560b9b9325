import { english } from '../../../testing/translators';
import { executionsText, failedRunsText, taskRunsText } from '..';

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
