import { renderToStaticMarkup } from 'react-dom/server';
import * as React from 'react';
import { LaneName } from '../lanes-view';

it('has a number that is not cut with the words beside it, and both in its title', () => {
  for (const [text, cut] of [
    ['overlapping 12', ['overlapping ']],
    ['thread 1', ['thread ']],
    ['3. Faden', ['. Faden']],
    ['all threads', ['all threads']]
  ] as const) {
    const page = document.createElement('div');
    page.innerHTML = renderToStaticMarkup(
      <LaneName text={text} isBeside height={20} />
    );
    const name = page.querySelector<HTMLElement>('.sw-TaskStream-laneName')!;
    expect([name.textContent, name.title]).toEqual([text, text]);
    const words = [...name.querySelectorAll('.sw-TaskStream-laneWord')];
    expect(words.map(({ textContent }) => textContent)).toEqual(cut);
  }
});
