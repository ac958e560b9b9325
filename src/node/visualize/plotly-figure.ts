/** A figure as plotly takes it: plain data. */
export type Trace = Readonly<Record<string, unknown>>;
export type Layout = Readonly<Record<string, unknown>>;

export type PlotlyFigure = {
  readonly data: readonly Trace[];
  readonly layout: Layout;
  readonly config: Readonly<Record<string, unknown>>;
};

/** How plotly behaves: the wheel zooms, a double click goes back, nothing is ever sent anywhere. */
export const plotlyConfig = {
  scrollZoom: true,
  doubleClick: 'reset',
  displaylogo: false,
  showSendToCloud: false,
  showTips: false,
  modeBarButtonsToRemove: ['select2d', 'lasso2d', 'autoScale2d']
} as const;
