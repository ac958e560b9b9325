import { withColours } from '../figure-colours';

describe('colours of a figure', () => {
  it('replaces roles wherever they stand, and nothing else', () => {
    const x = [1, 2, 3];
    const figure = {
      data: [{ x, name: 'not --a role', line: { color: '--sw-run-1' } }],
      layout: { colors: ['--sw-run-2', 'red'], scale: [[0, '--sw-track']] }
    };
    const coloured = withColours(figure, role => `<${role}>`);
    expect(coloured).toEqual({
      data: [{ x, name: 'not --a role', line: { color: '<--sw-run-1>' } }],
      layout: {
        colors: ['<--sw-run-2>', 'red'],
        scale: [[0, '<--sw-track>']]
      }
    });
    expect(coloured.data[0]?.x).toBe(x);
  });
});
