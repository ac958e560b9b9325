/** Plotly is large: it is loaded once, when the first of its charts is shown, or before by whoever knows that one will be. */
import type { IPlotlyApi } from './plotly-api';

export async function loadPlotly(): Promise<IPlotlyApi> {
  return (await import('./plotly-bundle')).plotly;
}
