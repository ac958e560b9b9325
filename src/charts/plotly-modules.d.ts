/** The parts of plotly.js 4 that the bundle is made of; its own types describe the whole only. */
declare module 'plotly.js/lib/core' {
  const Plotly: import('./plotly-api').IPlotlyApi;
  export default Plotly;
}
declare module 'plotly.js/lib/bar' {
  const part: object;
  export default part;
}
declare module 'plotly.js/lib/heatmap' {
  const part: object;
  export default part;
}
declare module 'plotly.js/lib/icicle' {
  const part: object;
  export default part;
}
