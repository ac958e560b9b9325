import type { Palette } from './palette';

/** How a figure looks; every one may be left out. */
export type FigureOptions = {
  /** Above the first plot. */
  readonly title: string;
  /** Of the figure, pixels. Left out, an HTML file fills its window. */
  readonly width?: number;
  /** Of each plot, pixels. */
  readonly height: number;
  /** `'Viridis'`, or your own colours. */
  readonly palette: Palette;
  /** About how many characters a task's label has. */
  readonly labelSize: number;
};

export type VisualizeOptions = Partial<FigureOptions> & {
  /** Where to write an HTML file that works without network; none is written if left out. */
  readonly filename?: string | URL;
  /** Open the file in a browser (a temporary one if there is no `filename`). */
  readonly show?: boolean;
};

export const defaultOptions: FigureOptions = {
  title: 'Profile Results',
  height: 300,
  palette: 'Viridis',
  labelSize: 60
};

const rules: Readonly<
  Record<
    keyof VisualizeOptions,
    [isRight: (value: unknown) => boolean, what: string]
  >
> = {
  title: [value => typeof value === 'string', 'a string'],
  width: [isPixels, 'a number of pixels from 100 to 20000'],
  height: [isPixels, 'a number of pixels from 100 to 20000'],
  palette: [
    isPalette,
    "'Viridis' or a list of colours such as ['#440154', '#fde725']"
  ],
  labelSize: [
    value => typeof value === 'number' && value >= 1,
    'a number of characters'
  ],
  filename: [
    value =>
      (typeof value === 'string' && value !== '') || value instanceof URL,
    'a path or a file URL'
  ],
  show: [value => typeof value === 'boolean', 'true or false']
};

/**
 * @returns the options with the defaults filled in
 * @throws TypeError naming an option that does not exist or has a wrong value
 */
export function checkedOptions(
  options: VisualizeOptions
): FigureOptions & Pick<VisualizeOptions, 'filename' | 'show'> {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name)) {
      throw new TypeError(
        `visualize has no option '${name}'; it has ${Object.keys(rules).join(', ')}.`
      );
    }
    const [isRight, what] = rules[name as keyof VisualizeOptions];
    if (value !== undefined && !isRight(value)) {
      throw new TypeError(`visualize: ${name} must be ${what}.`);
    }
  }
  const given = Object.entries(options).filter(
    ([, value]) => value !== undefined
  );
  return { ...defaultOptions, ...Object.fromEntries(given) };
}

function isPixels(value: unknown): boolean {
  return typeof value === 'number' && value >= 100 && value <= 20_000;
}

function isPalette(value: unknown): boolean {
  return (
    value === 'Viridis' ||
    (Array.isArray(value) &&
      value.length > 0 &&
      value.every(colour => typeof colour === 'string'))
  );
}
