/** The button of a strip that names a notebook, with the style sheets of the page. */
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { nullTranslator } from '@jupyterlab/translation';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../charts/shown-element';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import { english } from '../../testing/translators';
import { strips } from '../panel-states';
import { StateStrip } from '../state-view';

const STYLES = path.resolve(__dirname, '../../../style');
const NAME = `${'a-very-long-name-of-an-experiment-'.repeat(8)}7.ipynb`;

class ResizeObserverStub {
  observe(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

it('leaves the sentence half of the strip, and has the whole name in its tooltip', () => {
  for (const name of ['controls.css', 'panel.css']) {
    const sheet = document.createElement('style');
    // jsdom knows no container queries.
    sheet.textContent = readFileSync(path.join(STYLES, name), 'utf8').replace(
      /@container[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g,
      ''
    );
    document.head.append(sheet);
  }
  const [strip] = strips(
    {
      status: { kind: 'open' },
      cluster: clusterInfo({ state: 'ended', endedAt: 1 }),
      hasFigures: true,
      figuresTo: 3,
      failure: null,
      now: 0,
      follows: false,
      target: { notebook: `deep/${NAME}` }
    },
    nullTranslator.load('spanwise'),
    { reconnect: () => undefined, setFollows: () => undefined }
  );
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  flushSync(() => root.render(<StateStrip strip={strip!} trans={english} />));
  const button = host.querySelector('button')!;
  expect(button.textContent).toBe(`Follow the next run of ${NAME}`);
  const style = getComputedStyle(button);
  expect([
    style.maxWidth,
    style.overflow,
    style.textOverflow,
    style.whiteSpace
  ]).toEqual(['50%', 'hidden', 'ellipsis', 'nowrap']);
  expect(button.title).toContain(`deep/${NAME}`);
  expect(getComputedStyle(host.querySelector('.sw-strip-sentence')!).flex).toBe(
    '1'
  );
  flushSync(() => root.unmount());
  host.remove();
});
