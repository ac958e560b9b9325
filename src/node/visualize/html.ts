/**
 * One HTML file that needs nothing else: the picture's columns (gzipped), plotly, and the script that draws.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { markupText } from '../../base/markup-text';
import { programFile } from '../program-files';
import type { Picture } from './figure';
import { summaryOf } from './summary';
import { THEMES } from './theme';

export function htmlPage(picture: Picture): string {
  const script = readFileSync(programFile('visualize-page.js'), 'utf8');
  const hash = createHash('sha256').update(script).digest('base64');
  // No host may be reached, and no other script runs than this one. plotly sets styles from script and saves pictures through data and blob.
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${hash}'`,
    "style-src 'unsafe-inline'",
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'"
  ].join('; ');
  // Base64 cannot end the element, whatever the keys hold.
  const packed = gzipSync(JSON.stringify(picture)).toString('base64');
  const title = markupText(picture.options.title);
  const summary = markupText(summaryOf(picture.plots));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>
:root { color-scheme: light dark; }
body { margin: 12px; background: ${THEMES.light.background}; color: ${THEMES.light.text}; font: 14px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) {
  body { background: ${THEMES.dark.background}; color: ${THEMES.dark.text}; }
}
</style>
</head>
<body>
<main>
<div id="figure" role="img" aria-label="${title}: ${summary}"></div>
<p id="problem" role="alert"></p>
<noscript><p>This file draws its figure by the script that it contains; the browser has scripts switched off. In JupyterLab, press Trust HTML above.</p></noscript>
</main>
<script type="text/plain" id="picture">${packed}</script>
<script>${script}</script>
</body>
</html>
`;
}
