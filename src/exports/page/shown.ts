/** What a cell says, in the panels' words and units. */
import { assertUnreachable } from '../../base/assert';
import {
  activityWord,
  causeWord,
  movedPlace,
  movedWord
} from '../../panels/fine-metrics/rows';
import {
  formatAmount,
  formatBytes,
  formatCount,
  formatDuration,
  formatPercent,
  partWord,
  UNKNOWN,
  workerLabel
} from '../../panels/format';
import { measureWord } from '../../panels/memory/rows';
import type { Cell, Shown } from '../content';
import { english } from '../english';

export function textOf({ value, as }: Cell): string {
  return value === null
    ? UNKNOWN
    : typeof value === 'number'
      ? figure(value, as)
      : word(value, as);
}

function figure(value: number, as: Shown | undefined): string {
  switch (as) {
    case 'seconds':
      return formatDuration(value);
    case 'bytes':
      return formatBytes(value);
    case 'bytes/s':
      return `${formatBytes(value)}/s`;
    case 'percent':
      return formatPercent(value);
    case 'amount':
      return formatAmount(value);
    default:
      return formatCount(value);
  }
}

function word(text: string, as: Shown | undefined): string {
  switch (as) {
    case 'context':
      return movedPlace(text, english);
    case 'context of transfer':
      // (behind tasks their inputs come)
      return movedPlace(text === 'background' ? 'receive' : text, english);
    case 'activity':
      return activityWord(text, 'seconds', english);
    case 'activity told':
      return activityWord(text, 'seconds', english, true);
    case 'activity of amount':
      return activityWord(text, 'count', english);
    case 'moved':
      return movedWord(text, english);
    case 'cause':
      return causeWord(text, english);
    case 'parts':
      return `${partWord(text, english)}, all parts`;
    case 'measure':
      return measureWord(text, english);
    case 'worker':
      return workerLabel(text, english);
    case 'seconds':
    case 'bytes':
    case 'bytes/s':
    case 'percent':
    case 'count':
    case 'amount':
    case undefined:
      return text;
    default:
      return assertUnreachable(as);
  }
}
