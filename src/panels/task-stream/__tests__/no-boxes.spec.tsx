import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../../charts/shown-element';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import type { Filter } from '../../../wire/panel-link';
import type { Painted } from '../lanes-drawing';
import { TaskStreamModel } from '../model';
import { NoBoxes } from '../no-boxes';

/** `x` ran from 2 s to 5 s of a run of 20 s; the view is where nothing ran. */
const log = drawRuns('0/0  a.bbb..............cc', {
  tasks: { a: {}, b: { span: 'x' }, c: {} }
});

function shown(filter: Filter) {
  const model = new TaskStreamModel();
  model.setResult(ask(log, 'task-stream', { filter, ended: true }));
  model.setView({ from: 8, to: 12 });
  const drawing = {
    painted: new Signal<typeof Signal, Painted>(Signal) as never
  };
  const host = document.createElement('div');
  const root = createRoot(host);
  flushSync(() =>
    root.render(
      <NoBoxes
        model={model}
        drawing={drawing}
        trans={nullTranslator.load('spanwise')}
      />
    )
  );
  flushSync(() =>
    (drawing.painted as Signal<typeof Signal, Painted>).emit('nothing')
  );
  const buttons = [...host.querySelectorAll('button')];
  return {
    model,
    sentence: host
      .querySelector('.sw-state-sentence')!
      .textContent!.replaceAll('\u00a0', ' '),
    buttons,
    names: buttons.map(
      ({ textContent, className }) =>
        `${textContent}${className.includes('primary') ? '!' : ''}`
    )
  };
}

describe('where nothing ran in view', () => {
  it('the first way out is to what is filtered', () => {
    const filter: Filter = { spans: { any: [{ path: ['x'] }] } };
    const { model, names, buttons, sentence } = shown(filter);
    expect(names).toEqual([
      'Show the selection!',
      'Show the whole run',
      'Follow'
    ]);
    expect(sentence).toBe(
      '8.00 s – 12.0 s is in view; the selection is 2.00 s – 5.00 s.'
    );
    buttons[0]!.click();
    expect(model.view.from).toBeCloseTo(1.25, 6);
    expect(model.view.to).toBeCloseTo(5.75, 6);
    buttons[1]!.click();
    expect(model.view).toEqual(model.whole);
  });

  it('its *Follow* does what that of the toolbar does', () => {
    const { model, buttons } = shown({});
    model.setView({ from: 8, to: 9.5 });
    buttons[1]!.click();
    const { view } = model;
    expect(model.isFollowing).toBe(true);
    expect(view.to - view.from).toBeCloseTo(1.5, 6);
    model.setView({ from: 8, to: 9.5 });
    model.setFollowing(true);
    expect(model.view).toEqual(view);
  });

  it('it is the whole run if nothing is filtered, or no task is left', () => {
    expect(shown({}).names).toEqual(['Show the whole run!', 'Follow']);
    expect(shown({}).sentence).toContain('the run is');
  });
});
