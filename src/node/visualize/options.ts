import type { Palette } from './palette';

/**
 * Options of {@link visualize}: how the figure looks, and where it is written.
 *
 * @group Pictures
 * @example
 * ```ts
 * import { statSync } from 'node:fs';
 * import { getSync, Profiler, task, type VisualizeOptions } from 'spanwise';
 *
 * const profiler = new Profiler();
 * profiler.run(() => getSync({ a: task(Math.sqrt, 16) }, 'a'));
 * const options: VisualizeOptions = { title: 'One root', filename: 'root.html', palette: ['#440154', '#21918c'] };
 * profiler.visualize(options);
 * console.log(statSync('root.html').isFile()); // → true
 * ```
 */
export type VisualizeOptions = {
  /** Above the first plot; `Profile Results` by default. */
  readonly title?: string;
  /** Of the figure, pixels. By default an HTML file fills its window, and the figure's own layout is 800 wide. */
  readonly width?: number;
  /** Of each plot, pixels; 300 by default. */
  readonly height?: number;
  /** `'Viridis'` (the default), or your own colours. */
  readonly palette?: 'Viridis' | readonly string[];
  /** About how many characters a task's label has; 60 by default. */
  readonly labelSize?: number;
  /** Where to write an HTML file that works without network; none is written by default. */
  readonly filename?: string | URL;
  /** Open the file in a browser (a temporary one if there is no `filename`); false by default. */
  readonly show?: boolean;
};

/** How a figure looks, with the defaults filled in. */
export type FigureOptions = {
  readonly title: string;
  readonly width?: number;
  readonly height: number;
  readonly palette: Palette;
  readonly labelSize: number;
};

export const DEFAULT_OPTIONS: FigureOptions = {
  title: 'Profile Results',
  height: 300,
  palette: 'Viridis',
  labelSize: 60
};

const OPTION_RULES: Readonly<
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
    if (!Object.hasOwn(OPTION_RULES, name)) {
      throw new TypeError(
        `visualize has no option '${name}'; it has ${Object.keys(OPTION_RULES).join(', ')}.`
      );
    }
    const [isRight, what] = OPTION_RULES[name as keyof VisualizeOptions];
    if (value !== undefined && !isRight(value)) {
      throw new TypeError(`visualize: ${name} must be ${what}.`);
    }
  }
  const given = Object.entries(options).filter(
    ([, value]) => value !== undefined
  );
  return { ...DEFAULT_OPTIONS, ...Object.fromEntries(given) };
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
