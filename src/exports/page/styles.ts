/** The page's style sheet: the palette of the panels in both shades, chosen by the system's. */
import { customProperties, type Shade } from '../../charts/palette';

/** As JupyterLab's own two themes. */
const OWN: Readonly<Record<Shade, readonly (readonly [string, string])[]>> = {
  light: [
    ['--page', '#ffffff'],
    ['--text', '#212121'],
    ['--quiet', '#616161'],
    ['--line', '#bdbdbd'],
    ['--strength', '34%']
  ],
  dark: [
    ['--page', '#1e1e1e'],
    ['--text', '#e0e0e0'],
    ['--quiet', '#bdbdbd'],
    ['--line', '#616161'],
    ['--strength', '46%']
  ]
};

const rootOf = (shade: Shade): string =>
  `:root { ${[...OWN[shade], ...customProperties(shade)]
    .map(([name, colour]) => `${name}: ${colour};`)
    .join(' ')} }`;

const LAYOUT = `
:root { color-scheme: light dark; }
body { margin: 16px; background: var(--page); color: var(--text); font: 14px/1.45 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 24px 0 4px; }
.note, .legend, .about { color: var(--quiet); margin: 4px 0; }
.about span { margin-right: 16px; white-space: pre-wrap; overflow-wrap: anywhere; }
.tools { display: flex; gap: 8px; align-items: center; margin: 8px 0; }
.tools button { margin-left: auto; }
.icicle { position: relative; overflow: hidden; outline-offset: 2px; }
.frame { position: absolute; box-sizing: border-box; overflow: hidden; cursor: pointer; padding: 1px 4px; border: 1px solid var(--page);
  background: color-mix(in srgb, var(--fill) var(--strength), var(--page)); white-space: nowrap; font-size: 12px; }
.frame.caller { opacity: 0.7; }
.frame.found { background: var(--sw-found-fill); }
.frame.at, .frame:hover { border-color: var(--text); }
.about span, .frame small, dd, td { unicode-bidi: isolate; }
.frame small { color: var(--quiet); }
.frame i { position: absolute; left: 0; right: 0; bottom: 0; height: 3px; }
.legend span { margin-right: 14px; }
.legend b { display: inline-block; width: 12px; height: 6px; margin: 0 5px 2px 0; }
.legend b.swatch { width: 10px; height: 10px; margin-bottom: 0; --drawn: var(--sw-pattern-line); }
.legend b.lines-1, .legend b.lines-2 { --drawn: var(--page); }
.swatch.lines-1, .swatch.lines-2 { background: linear-gradient(var(--drawn), var(--drawn)) no-repeat 0 2px / 100% 2px; }
.swatch.lines-2 { background: linear-gradient(var(--drawn), var(--drawn)) no-repeat 0 2px / 100% 2px,
  linear-gradient(var(--drawn), var(--drawn)) no-repeat 0 6px / 100% 2px; }
.swatch.struck { background: linear-gradient(var(--drawn), var(--drawn)) no-repeat 0 50% / 100% 2px; }
.swatch.failed { background: linear-gradient(45deg, transparent 44%, #fff 44% 56%, transparent 56%) 50% / 7px 7px no-repeat,
  linear-gradient(-45deg, transparent 44%, #fff 44% 56%, transparent 56%) 50% / 7px 7px no-repeat; outline: 1px solid var(--sw-failed-line); outline-offset: -1px; }
.swatch.slash { background: repeating-linear-gradient(-45deg, transparent 0 2.5px, var(--drawn) 2.5px 4.2px); }
.swatch.horizontal { background: repeating-linear-gradient(0deg, transparent 0 3px, var(--drawn) 3px 4.5px); }
.swatch.grid { background: linear-gradient(var(--drawn) 1px, transparent 1px) 0 0 / 5px 5px,
  linear-gradient(90deg, var(--drawn) 1px, transparent 1px) 0 0 / 5px 5px; }
.facts { display: grid; grid-template-columns: max-content auto; gap: 0 12px; min-height: 8em; margin: 8px 0; }
.facts dt { color: var(--quiet); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
canvas.lanes { display: block; width: 100%; touch-action: pan-y; cursor: crosshair; }
figure { margin: 8px 0 20px; }
figcaption { color: var(--quiet); overflow-wrap: anywhere; }
figcaption b { color: var(--text); }
figure svg { display: block; width: 100%; height: 120px; border: 1px solid var(--line); box-sizing: border-box; }
path.curve { stroke-width: 1.5px; }
.ticks { position: relative; height: 16px; overflow: hidden; color: var(--quiet); font-size: 12px; }
.ticks span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
details > summary { cursor: pointer; }
table { border-collapse: collapse; margin: 8px 0; font-size: 13px; }
th, td { text-align: left; padding: 2px 8px; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th.figure, td.figure { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
pre { overflow: auto; max-height: 480px; padding: 8px; border: 1px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere; }
#problem:empty { display: none; }
`;

export function styleSheet(): string {
  return `${rootOf('light')}
@media (prefers-color-scheme: dark) { ${rootOf('dark')} }
${LAYOUT}`;
}
