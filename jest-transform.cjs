/**
 * Compiles a file for jest with esbuild: no type check (tsc does that), a few
 * milliseconds per file, the same compiler as the Node bundle.
 */
const { createHash } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { extname } = require('node:path');
const esbuild = require('esbuild');

/** Icons are imported as text; style sheets mean nothing to a unit test. */
const loaders = {
  '.ts': 'ts',
  '.tsx': 'tsx',
  '.svg': 'text',
  '.css': 'empty'
};

const ownSource = readFileSync(__filename, 'utf8');

/** jest's cache key: the compiler, this file and the compiled text. */
function getCacheKey(source, path, options) {
  return createHash('sha256')
    .update(esbuild.version)
    .update(ownSource)
    .update(path)
    .update(String(options.instrument))
    .update(source)
    .digest('hex');
}

function process(source, path) {
  const loader = loaders[extname(path)] ?? 'js';
  const { code, map } = esbuild.transformSync(source, {
    loader,
    format: 'cjs',
    target: 'node22',
    jsx: 'transform',
    jsxFactory: 'createElement',
    sourcefile: path,
    sourcemap: 'external'
  });
  return { code, map };
}

module.exports = { getCacheKey, process };
