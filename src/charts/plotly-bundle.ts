/** plotly with the traces that Spanwise draws: scatter (part of the core), bar, heatmap, icicle. Loaded when the first chart is shown; the only import of plotly.js. */
import bar from 'plotly.js/lib/bar';
import core from 'plotly.js/lib/core';
import heatmap from 'plotly.js/lib/heatmap';
import icicle from 'plotly.js/lib/icicle';
import type { IPlotlyApi } from './plotly-api';

core.register([bar, heatmap, icicle]);

export const plotly: IPlotlyApi = core;
