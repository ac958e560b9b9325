import { nullTranslator } from '@jupyterlab/translation';
import * as React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import type { ITheme } from '../../panel-context';
import { TaskStreamModel } from '../model';
import { WholeRun } from '../whole-run';

it('says beside its time that pauses are in it', () => {
  const model = new TaskStreamModel();
  const log = drawnStore(firstLook());
  model.setResult(ask(log, 'task-stream', { ended: true }));
  const page = document.createElement('div');
  page.innerHTML = renderToStaticMarkup(
    <WholeRun
      model={model}
      theme={{} as ITheme}
      trans={nullTranslator.load('spanwise')}
    />
  );
  const lines = page
    .querySelector('.sw-TaskStream-gutter')!
    .innerHTML.split('<br>')
    .map(line => line.replace(/<[^>]*>/g, '').replaceAll('&nbsp;', ' '));
  expect(lines).toEqual(['whole run', '29.6 s', 'with pauses']);
});
