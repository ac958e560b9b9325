import { nullTranslator } from '@jupyterlab/translation';
import * as React from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { SelectionModel } from '../../../feed/selection';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { Legend } from '../legend';
import { TaskStreamModel } from '../model';

it('folds the small functions, and none that runs for the first time', () => {
  const result = ask(drawnStore(firstLook(38)), 'task-stream', { ended: true });
  const { functions } = result;
  const none = { slot: 1, round: 0, seconds: 0, executions: 0 };
  const task = { ...result.running[0]!, key: 'k', span: 0, started: 1 };
  const model = new TaskStreamModel();
  model.setResult({
    ...result,
    functions: [
      ...functions,
      { ...none, name: 'new' },
      // (of no time, and nothing of it runs)
      { ...none, name: 'old' }
    ],
    running: [{ ...task, function: 'new' }]
  });
  const host = document.createElement('div');
  const root = createRoot(host);
  flushSync(() =>
    root.render(
      <Legend
        model={model}
        selection={new SelectionModel()}
        trans={nullTranslator.load('spanwise')}
      />
    )
  );
  const names = () =>
    [...host.querySelectorAll('button .sw-legend-name')].map(
      ({ textContent }) => textContent
    );
  const fold = () => host.querySelector<HTMLElement>('[aria-expanded]')!;
  const all = functions.map(({ name }) => name);
  expect(names()).toEqual([...all.slice(0, 12), 'new']);
  expect(fold().textContent).toBe(`${all.length - 12 + 1} other functions`);
  flushSync(() => fold().click());
  expect(names()).toEqual([...all, 'new', 'old']);
  expect(fold().textContent).toBe('fewer');
  flushSync(() => root.unmount());
});
