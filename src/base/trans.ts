/**
 * The part of JupyterLab's translator that files without JupyterLab use. A text is a whole sentence, or a whole phrase of a list: languages
 * differ in the order of words, so that no sentence is put together from pieces. `%1` is the first argument; in `_n`, where the count
 * chooses between the forms, `%1` is the count as a plain number and `%2` the argument after it.
 */
export type Trans = {
  __(text: string, ...args: unknown[]): string;
  _n(one: string, many: string, count: number, ...args: unknown[]): string;
};
