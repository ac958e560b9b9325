/**
 * The part of plotly that Spanwise calls, and what a figure is: data and
 * layout as plain objects whose colours are roles, `'--sw-kind-transfer'` or
 * `'--jp-border-color2'`. Figures are made by pure code that knows no theme.
 */
export type Figure = {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly layout: Readonly<Record<string, unknown>>;
};

export type IPlotlyElement = HTMLElement & {
  on?(event: string, listener: (event: never) => void): void;
  removeAllListeners?(event: string): void;
};

export type IPlotlyApi = {
  register(parts: readonly object[]): void;
  react(
    element: HTMLElement,
    data: readonly object[],
    layout: object,
    config: object
  ): Promise<unknown>;
  purge(element: HTMLElement): void;
  Plots: { resize(element: HTMLElement): Promise<unknown> };
};
