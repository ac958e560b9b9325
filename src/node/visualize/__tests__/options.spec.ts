import { checkedOptions } from '../options';

describe('§4 options of visualize', () => {
  it('§4: has the defaults', () => {
    expect(checkedOptions({})).toEqual({
      title: 'Profile Results',
      height: 300,
      palette: 'Viridis',
      labelSize: 60
    });
  });

  it('§4: names an option that does not exist', () => {
    expect(() => checkedOptions({ plotWidth: 3 } as never)).toThrow(
      /no option 'plotWidth'; it has title, width,/
    );
    expect(() => checkedOptions({ toString: 3 } as never)).toThrow(
      /no option 'toString'/
    );
  });

  it.each([
    [{ width: -1 }, 'width'],
    [{ height: NaN }, 'height'],
    [{ palette: 'Sunset' }, 'palette'],
    [{ palette: [] }, 'palette'],
    [{ labelSize: 0 }, 'labelSize'],
    [{ title: 3 }, 'title'],
    [{ show: 1 }, 'show'],
    [{ filename: '' }, 'filename']
  ])('§4: refuses %j', (options, name) => {
    expect(() => checkedOptions(options as never)).toThrow(
      new RegExp(`^visualize: ${name} must be `)
    );
  });
});
