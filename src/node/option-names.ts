/** Every option of `O`; the compiler asks for a new one here. */
export type OptionNames<O> = Readonly<Record<keyof O, true>>;

/**
 * Refuses options that do not exist, which TypeScript does only where they are written down: a misspelt one would be ignored.
 *
 * @param owner - whose options they are: `ProgressBar has no option 'dt'; …`
 * @throws TypeError naming the option and those that there are; also for what is no object.
 */
export function checkOptionNames<O extends object>(
  owner: string,
  options: O,
  names: OptionNames<O>
): void {
  // Programs without types: null and bare values.
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw new TypeError(
      `${owner} takes its options as an object, { ${Object.keys(names)[0]}: … }, not ${String(options)}.`
    );
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(names, name)) {
      throw new TypeError(
        `${owner} has no option '${name}'; it has ${Object.keys(names).join(', ')}.`
      );
    }
  }
}

/** How an error names a value that should have been a number: a text with digits looks like one. */
export function asGiven(value: unknown): string {
  return typeof value === 'string' ? `the text '${value}'` : String(value);
}
