/** Functions without a colour of their own have the grey of (de)serialising: a line along the top tells them from it, wherever a colour stands for something. */
import { boxFill } from '../../charts/lane-fills';
import { COLOURS } from '../../charts/palette';
import { markOf } from '../mark';

const OTHER = { slot: -1, round: 0 };

it.each(['light', 'dark'] as const)(
  'have boxes that are not those of serialising, in %s',
  shade => {
    const [other, serialise] = [
      boxFill(COLOURS[shade], 'compute', OTHER),
      boxFill(COLOURS[shade], 'serialize', null)
    ];
    expect(other.colour).toBe(serialise.colour);
    expect([other.topLines, serialise.topLines]).toEqual([1, 0]);
  }
);

it('have swatches and bars that are not those of serialising', () => {
  const [other, serialise] = [
    markOf(OTHER, 'sw-swatch'),
    markOf({ kind: 'serialize' }, 'sw-swatch')
  ];
  expect(other.className).not.toBe(serialise.className);
  expect(other.className).toContain('sw-toplines-1');
});
