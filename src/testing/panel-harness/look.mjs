/**
 * Builds the page and takes a screenshot of a panel:
 *
 *   node src/testing/panel-harness/look.mjs OUT.png [query] [width] [height] [script]
 *
 * `script` runs in the page before the picture is taken; what it returns is printed.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import esbuild from 'esbuild';
import { chromium } from '@playwright/test';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../../..');
const [
  out = 'panel.png',
  query = '',
  width = '1200',
  height = '760',
  script = ''
] = process.argv.slice(2);
/** What the observer uses of Node: a clock, and files, of which a page has none. */
const nodeInPage = {
  name: 'node-in-page',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path }) => ({
      path,
      namespace: 'node-in-page'
    }));
    build.onLoad({ filter: /.*/, namespace: 'node-in-page' }, () => ({
      contents: `export const { performance } = globalThis;
export const readFileSync = () => { throw new Error('A page reads no files.'); };`
    }));
  }
};
const folder = join(root, '.build/panel-harness');
mkdirSync(folder, { recursive: true });
await esbuild.build({
  entryPoints: [join(here, 'page.ts')],
  bundle: true,
  format: 'esm',
  splitting: true,
  outdir: folder,
  loader: {
    '.svg': 'text',
    '.css': 'empty',
    '.ttf': 'empty',
    '.woff': 'empty',
    '.woff2': 'empty'
  },
  define: { 'process.env.NODE_ENV': '"production"', global: 'window' },
  alias: { path: 'path-browserify' },
  plugins: [nodeInPage],
  logLevel: 'error'
});
const styles = readdirSync(join(root, 'style'))
  .filter(name => name.endsWith('.css') && name !== 'index.css')
  .map(name => readFileSync(join(root, 'style', name), 'utf8'))
  .join('\n');
writeFileSync(
  join(folder, 'page.html'),
  `<!doctype html><meta charset="utf-8"><style>${readFileSync(join(here, 'jupyter-variables.css'), 'utf8')}${styles}</style><body><script type="module" src="page.js"></script>`
);
const { createServer } = await import('node:http');
const server = createServer((request, response) => {
  const name = new URL(request.url ?? '/', 'http://localhost').pathname.slice(
    1
  );
  try {
    const body = readFileSync(join(folder, name));
    response.setHeader(
      'content-type',
      name.endsWith('.js') ? 'text/javascript' : 'text/html'
    );
    response.end(body);
  } catch {
    response.statusCode = 404;
    response.end();
  }
});
await new Promise(done => server.listen(0, '127.0.0.1', done));
const { port } = server.address();
const browser = await chromium.launch({
  executablePath:
    process.env.CHROMIUM ??
    execFileSync('which', ['chromium']).toString().trim()
});
try {
  const page = await browser.newPage({
    viewport: { width: Number(width), height: Number(height) },
    deviceScaleFactor: Number(process.env.SCALE ?? 1)
  });
  page.on('pageerror', error => console.error('page error:', error.message));
  page.on(
    'console',
    message =>
      message.type() === 'error' && console.error('console:', message.text())
  );
  await page.goto(`http://127.0.0.1:${port}/page.html?${query}`);
  await page.waitForSelector('section.sw-panel');
  await page.waitForTimeout(1200);
  if (script !== '') {
    const value = await page.evaluate(`(async () => { ${script} })()`);
    if (value !== undefined) {
      console.log(JSON.stringify(value));
    }
    await page.waitForTimeout(600);
  }
  await page.screenshot({ path: out });
} finally {
  await browser.close();
  server.close();
}
