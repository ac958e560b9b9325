/** The legend over logs drawn at random and by hand: a word for each segment that is drawn, and none for what is not. */
import { flushSync } from 'react-dom';
import { ask, type Asked } from '../../../observer/__tests__/ask';
import { blockRows } from '../../../observer/store/block-rows';
import { ingestBlock } from '../../../observer/store/ingest';
import { LogStore } from '../../../observer/store/log-store';
import {
  drawCluster,
  TICK,
  TICKS,
  toldToSource
} from '../../../testing/drawn-cluster';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import type { FineMetricsResult } from '../../../wire/panel-link';
import { headlineOf } from '../rows';
import { ShownView } from './shown-view';

const view = new ShownView();

/** Fill and pattern, whichever element has them. */
function lookOf(element: Element): string {
  const classes = [...element.classList].filter(name =>
    /^sw-(?:idle|pattern|failed)/.test(name)
  );
  const fill = (element as HTMLElement).style.getPropertyValue('--sw-fill');
  return [fill, ...classes.sort()].join(' ');
}

const words = () => view.texts('Legend');
const wordOf = (title: string) => title.slice(0, title.lastIndexOf(': '));

/** What is wrong with the legend of one answer. */
function check(result: FineMetricsResult, isRunning: boolean): void {
  view.show(result, { isRunning });
  const items = view.all('ul[aria-label=Legend] > li').map(item => ({
    word: item.textContent ?? '',
    look: lookOf(item.querySelector('.sw-swatch')!)
  }));
  const bar = view.all('.sw-FineMetrics-bar .sw-bar-part').map(segment => ({
    word: wordOf(segment.title),
    look: lookOf(segment)
  }));
  const inRows = view
    .all('ul[aria-label="By function"] .sw-bar-part')
    .map(lookOf);
  const drawn = new Set([...bar.map(({ look }) => look), ...inRows]);
  expect(new Set(items.map(({ look }) => look))).toEqual(drawn);
  expect(new Set(items.map(({ word }) => word)).size).toBe(items.length);
  expect(new Set(items.map(({ look }) => look)).size).toBe(items.length);
  expect(items).toEqual(expect.arrayContaining(bar));
  const words = view.all('.sw-FineMetrics-groups > span');
  const groups = words.length;
  // Each colour of the bar stands at one of the words over it.
  expect(
    words
      .flatMap(word => [...word.querySelectorAll('.sw-swatch')].map(lookOf))
      .sort()
  ).toEqual(bar.map(({ look }) => look).sort());
  for (const word of words) {
    expect(word.querySelector('.sw-swatch')).not.toBeNull();
  }
  // From half a pixel of 1,000 on a part is drawn.
  const { parts, total } = headlineOf(result, isRunning);
  expect(bar.map(({ word }) => word)).toEqual(
    parts.filter(({ value }) => value >= total * 0.0005).map(({ word }) => word)
  );
  const drawnGroups = parts
    .filter(part => bar.some(({ word }) => word === part.word))
    .map(({ group }) => group);
  expect(groups).toBe(new Set(drawnGroups).size);
}

it('unfolds the legend, which a low panel shows folded', () => {
  view.show(ask(drawnStore(firstLook()), 'fine-metrics', { ended: true }));
  const [button] = view.all('button[aria-expanded]');
  const [headline] = view.all('.sw-FineMetrics-headline');
  const seen = () => [
    button!.getAttribute('aria-expanded'),
    headline!.dataset['legend']
  ];
  expect(button!.textContent).toBe('Legend');
  expect(seen()).toEqual(['false', 'folded']);
  for (const each of [
    ['true', 'open'],
    ['false', 'folded']
  ]) {
    flushSync(() => button!.click());
    expect(seen()).toEqual(each);
  }
});

const SEEDS = Array.from({ length: 8 }, (_, i) => i + 1);
const END = TICKS * TICK;

describe('the legend has a word for each segment that is drawn, and no other', () => {
  it.each(SEEDS)('in random log %i, at any time', seed => {
    const log = new LogStore('drawn');
    for (const block of toldToSource(drawCluster(seed))) {
      ingestBlock(log, blockRows(block));
    }
    const names = ask(log, 'fine-metrics').byFunction;
    const questions: Asked[] = [
      { ended: true },
      { now: END / 2 },
      { time: { from: END / 4, to: END / 3 } },
      { filter: { functions: names.slice(0, 1).map(each => each.function) } }
    ];
    for (const asked of questions) {
      for (const unit of ['seconds', 'bytes', 'count']) {
        const params = { unit };
        check(
          ask(log, 'fine-metrics', { ...asked, params }),
          asked.ended !== true
        );
      }
    }
  });

  it('in a run that goes on, of which much has no figures yet', () => {
    const run = firstLook(38);
    const live = ask(drawnStore(run, { live: true }), 'fine-metrics', {
      now: run.end + 20
    });
    check(live, true);
    expect(words()).toContain('still running');
    expect(words()).toContain('nothing runnable');
  });

  it('in a run that is over, under a filter and without', () => {
    const log = drawnStore(firstLook(38));
    check(ask(log, 'fine-metrics', { ended: true }), false);
    // Of the rounding of durations no more than a trace is left.
    expect(words()).toEqual([
      'CPU',
      'waiting for a core',
      'waiting for the GIL',
      'blocked (I/O, sleep)',
      'not on CPU, cause not known',
      'transfer',
      'disk',
      '(de)serialise',
      'failed, cancelled or lost',
      'scheduler not yet answered',
      'nothing runnable',
      'held on another worker',
      'paused for memory',
      'inputs in flight'
    ]);
    const filter = { functions: ['fit_fold'] };
    check(ask(log, 'fine-metrics', { ended: true, filter }), false);
    // What the filter hides is no part of the bar.
    expect(words()).toEqual([
      'CPU',
      'waiting for a core',
      'waiting for the GIL',
      'blocked (I/O, sleep)',
      'transfer',
      '(de)serialise',
      'failed, cancelled or lost',
      'scheduler not yet answered',
      'nothing runnable',
      'held on another worker',
      'paused for memory'
    ]);
  });
});
