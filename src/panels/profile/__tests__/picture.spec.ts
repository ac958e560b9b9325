/** The picture of the frames, held against what the page draws of the same answer. */
import { readPalette } from '../../../charts/theme';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { english } from '../../../testing/translators';
import { icicle } from '../figure';
import { legendOf } from '../legend';
import { pictureOf } from '../picture';
import { frameTree, type FrameTree, search } from '../rows';
import { drawnProfile } from './drawn-frames';

const WIDTH = 800;

function drawn(tree: FrameTree, focus: number | null = null, text = '') {
  const picture = pictureOf({
    title: 'Profile, first-look',
    subtitle: 'what is shown',
    tree,
    focus,
    selected: null,
    found: search(tree, text, english),
    width: WIDTH,
    legend: legendOf(tree, english),
    palette: readPalette(document.body),
    textWidth: each => each.length * 6,
    trans: english
  });
  const page = new DOMParser().parseFromString(picture.svg, 'image/svg+xml');
  expect(page.querySelector('parsererror')).toBeNull();
  const texts = [...page.querySelectorAll('text')].map(
    each => each.textContent
  );
  return { picture, page, texts };
}

const numberOf = (element: Element, name: string) =>
  Number(element.getAttribute(name));

const whole = frameTree(
  ask(drawnStore(firstLook()), 'profile', { ended: true })
);

it('has each frame in its place, as wide as on the page', () => {
  const { page, picture, texts } = drawn(whole);
  const { shapes, rows } = icicle(whole, null, WIDTH);
  const rects = [...page.querySelectorAll('g g:nth-of-type(2) rect')];
  const places = new Set(
    rects.map(
      each =>
        `${numberOf(each, 'x').toFixed(1)} ${numberOf(each, 'y')} ${numberOf(each, 'width').toFixed(1)}`
    )
  );
  expect(shapes.length).toBeGreaterThan(8);
  for (const { x, row, width } of shapes) {
    const right = Math.max(0.5, width - 1);
    expect(places).toContain(`${x.toFixed(1)} ${row * 22} ${right.toFixed(1)}`);
  }
  expect(picture.height).toBeGreaterThan(rows * 22);
  expect(texts).toEqual(
    expect.arrayContaining(['Profile, first-look', 'what is shown'])
  );
  expect(texts.join('\n')).toMatch(/fit_fold/);
});

it('shows what is zoomed to, with its callers', () => {
  const focus = whole.result.nodes.name.indexOf('fit');
  const { texts } = drawn(whole, focus);
  expect(texts.join('\n')).toMatch(/^fit /m);
  expect(texts.join('\n')).not.toMatch(/read_table/);
});

it('names what feet mean, each swatch filled as the foot is', () => {
  const { page, texts } = drawn(whole);
  for (const { name } of legendOf(whole, english)) {
    expect(texts).toContain(name);
  }
  const ids = new Set(
    [...page.querySelectorAll('pattern')].map(({ id }) => id)
  );
  const used = [...page.querySelectorAll('rect')]
    .map(each => /^url\(#(.*)\)$/.exec(each.getAttribute('fill') ?? '')?.[1])
    .filter(id => id !== undefined);
  expect(used.length).toBeGreaterThan(2);
  for (const id of used) {
    expect(ids).toContain(id);
  }
});

it('shows a name of users as text', () => {
  const result = drawnProfile(['all 3', '  x 3']);
  const { nodes } = result;
  const name = ['all', '<img/src=x>&\u202e'];
  const { page, texts } = drawn(
    frameTree({ ...result, nodes: { ...nodes, name } })
  );
  expect(page.querySelector('img')).toBeNull();
  expect(texts.join('\n')).toContain('<img/src=x>&\\u202e');
});

it('draws what is not found paler, and outlines what is', () => {
  const { page } = drawn(whole, null, 'sin');
  expect(page.querySelectorAll('rect[stroke]').length).toBe(
    search(whole, 'sin', english)!.nodes.size
  );
  expect(
    page.querySelectorAll('rect[fill-opacity="0.6"]').length
  ).toBeGreaterThan(5);
});
