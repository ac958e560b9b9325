import { renderToStaticMarkup } from 'react-dom/server';
import { createElement } from '../../../charts/shown-element';
import { LaneName } from '../lanes-view';

it('is one text in what may be cut, and has all of it in its title', () => {
  const page = document.createElement('div');
  page.innerHTML = renderToStaticMarkup(
    <LaneName text="overlapping 12" isBeside height={20} />
  );
  const name = page.querySelector<HTMLElement>('.sw-TaskStream-laneName')!;
  expect([name.title, name.dataset.beside]).toEqual(['overlapping 12', 'true']);
  // (the style cuts it at its left, and leaves its letters in their order)
  const text = name.querySelector('.sw-TaskStream-laneWord > bdi')!;
  expect(text.textContent).toBe('overlapping 12');
});
