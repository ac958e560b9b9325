import { nullTranslator } from '@jupyterlab/translation';
import * as React from 'react';
import { flushSync } from 'react-dom';
import { createRoot, type Root } from 'react-dom/client';

import { SelectionModel } from '../../../feed/selection';
import { fineMetricsOf } from '../../../testing/panel-harness/drawn-answers';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { FineMetricsView } from '../view';

const trans = nullTranslator.load('spanwise');
const evil = '<img src=x onerror=alert(1)>';

let host: HTMLElement;
let root: Root;
let selection: SelectionModel;

function show(
  result = fineMetricsOf(firstLook(), {}, 38),
  onShowAll = () => {}
) {
  flushSync(() =>
    root.render(
      <FineMetricsView
        result={result}
        order="time"
        isRunning={false}
        selection={selection}
        trans={trans}
        onShowAll={onShowAll}
      />
    )
  );
}

const list = (name: string) =>
  host.querySelector(`ul.sw-metricList[aria-label="${name}"]`) as HTMLElement;
const texts = (name: string) =>
  [...list(name).children].map(item =>
    (item.textContent ?? '').replaceAll('\u00a0', ' ')
  );

beforeEach(() => {
  host = document.body.appendChild(document.createElement('div'));
  root = createRoot(host);
  selection = new SelectionModel();
});
afterEach(() => {
  root.unmount();
  host.remove();
  selection.dispose();
});

describe('Fine Performance Metrics', () => {
  it('reads "function, time, share" in each item', () => {
    show();
    expect(texts('By function')[0]).toMatch(/^fit_fold, [\d.]+ s, \d+ %$/);
    expect(texts('By function').at(-1)).toMatch(/^38 others, /);
    expect(texts('By activity')[0]).toMatch(/^CPU, 2 min \d\d s, \d+ %$/);
    expect(texts('Idle, by cause')[0]).toMatch(/^nothing runnable, /);
    expect(texts('Data moved')[0]).toBe('receive: network, 7.92 s');
  });

  it('filters by a click and leaves out by Alt-click', () => {
    show();
    const button = list('By function').querySelector('button') as HTMLElement;
    button.click();
    expect(selection.filter.functions).toEqual(['fit_fold']);
    button.dispatchEvent(
      new MouseEvent('click', { bubbles: true, altKey: true })
    );
    expect(selection.filter.notFunctions).toEqual(['fit_fold']);
  });

  it('shows all functions when the others are clicked', () => {
    const onShowAll = jest.fn();
    show(undefined, onShowAll);
    (
      list('By function').lastElementChild?.querySelector(
        'button'
      ) as HTMLElement
    ).click();
    expect(onShowAll).toHaveBeenCalledTimes(1);
    expect(selection.isFiltered).toBe(false);
  });

  it('shows names of the user as text', () => {
    const result = fineMetricsOf(firstLook(), {});
    show({
      ...result,
      byFunction: result.byFunction.map((item, index) =>
        index === 0 ? { ...item, function: evil } : item
      )
    });
    expect(host.querySelector('img')).toBeNull();
    expect(texts('By function')[0]?.startsWith(evil)).toBe(true);
  });

  it('says the bar in words', () => {
    show();
    const bar = host.querySelector('[role=img]') as HTMLElement;
    expect(bar.getAttribute('aria-label')).toBe('Where the thread time went');
    expect(bar.getAttribute('aria-description')).toMatch(/^CPU 2\smin/);
  });
});
