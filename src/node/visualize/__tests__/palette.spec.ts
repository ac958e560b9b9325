import * as fc from 'fast-check';
import { colourMap, viridis } from '../palette';

const names = (count: number) =>
  Array.from(
    { length: count },
    (_, index) => `f${String(index).padStart(3, '0')}`
  );

describe('§4.5 colours', () => {
  it('§4.5: Viridis of three and of six are the known ones', () => {
    expect(viridis(3)).toEqual(['#440154', '#208f8c', '#fde724']);
    expect(viridis(6)).toEqual([
      '#440154',
      '#404387',
      '#29788e',
      '#22a784',
      '#79d151',
      '#fde724'
    ]);
  });

  it('§4.5: the smallest palette that is enough, in the order of the sorted labels', () => {
    expect([...colourMap(['b', 'a', 'c', 'a'])]).toEqual([
      ['a', '#440154'],
      ['b', '#208f8c'],
      ['c', '#fde724']
    ]);
    expect([...colourMap(names(11)).values()]).toEqual(viridis(11));
  });

  it('§4.5: if colours remain they are shuffled, always the same way', () => {
    const colours = [...colourMap(names(40)).values()];
    expect(new Set(colours).size).toBe(40);
    expect(colours).toEqual([...colourMap(names(40)).values()]);
    const places = colours.map(colour => viridis(256).indexOf(colour));
    expect(Math.max(...places) - Math.min(...places)).toBeGreaterThan(200);
  });

  it('§4.5: more labels than colours share them in turn', () => {
    const own = colourMap(names(5), ['#111111', '#222222', '#111111']);
    expect([...own.values()]).toEqual([
      '#111111',
      '#222222',
      '#111111',
      '#222222',
      '#111111'
    ]);
    // Two of the 256 colours are there twice.
    expect(new Set(colourMap(names(600)).values()).size).toBe(254);
  });

  it('§4.5: equal labels have equal colours, whatever their order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string(), { maxLength: 30 }),
        fc.integer(),
        (labels, seed) => {
          const other = [...labels].sort(
            (a, b) => ((a.length * seed) % 7) - ((b.length * seed) % 7)
          );
          expect(colourMap(other)).toEqual(colourMap(labels));
          expect(colourMap(labels).size).toBe(new Set(labels).size);
        }
      )
    );
  });
});
