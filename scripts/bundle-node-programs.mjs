/**
 * Bundles what the npm package `spanwise` starts or embeds instead of importing it:
 *
 *   src/node/diagnostics/sampler-main.ts -> sampler.mjs          a process beside the one that is measured
 *   src/node/observe/sender-program.ts   -> sender.mjs           a thread beside a program that is observed
 *   src/node/visualize/page/main.ts      -> visualize-page.js    inside the HTML files of visualize
 *   src/node/pools/{thread,process}-program.ts -> pool-{thread,process}.mjs   the programs of workers
 *
 * With all of them, LICENCES.txt: those of the packages that are bundled.
 *
 * Into the folder given as argument, or .build/node-programs, where the tests find them; only those named after it, or all.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundledLicences } from './bundled-licences.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

const { version } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8')
);

const programs = [
  {
    entryPoints: ['src/node/diagnostics/sampler-main.ts'],
    outfile: 'sampler.mjs',
    platform: 'node',
    format: 'esm',
    target: 'node22',
    // Installed beside the package; used where there is no /proc.
    external: ['pidusage', 'pidtree']
  },
  ...['thread', 'process'].map(kind => ({
    entryPoints: [`src/node/pools/${kind}-program.ts`],
    outfile: `pool-${kind}.mjs`,
    platform: 'node',
    format: 'esm',
    target: 'node22'
  })),
  {
    entryPoints: ['src/node/observe/sender-program.ts'],
    outfile: 'sender.mjs',
    platform: 'node',
    format: 'esm',
    target: 'node22',
    legalComments: 'inline',
    define: { SPANWISE_VERSION: JSON.stringify(version) }
  },
  {
    entryPoints: ['src/node/visualize/page/main.ts'],
    outfile: 'visualize-page.js',
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
    minify: true,
    legalComments: 'inline',
    define: { global: 'globalThis' },
    // Style sheets of plotly's maps, which are not in the bundle.
    loader: { '.css': 'empty' }
  }
];

/**
 * @param names - of the files to write; all if empty
 * @returns the bytes of each file written into `folder`
 */
export async function bundleNodePrograms(
  folder = join(root, '.build', 'node-programs'),
  names = []
) {
  mkdirSync(folder, { recursive: true });
  const sizes = {};
  const inputs = [];
  for (const program of programs) {
    if (names.length > 0 && !names.includes(program.outfile)) {
      continue;
    }
    const { outputFiles, metafile } = await build({
      absWorkingDir: root,
      bundle: true,
      metafile: true,
      write: false,
      charset: 'utf8',
      logLevel: 'warning',
      ...program
    });
    const { contents } = outputFiles[0];
    const path = join(folder, program.outfile);
    // In one step, under a name of its own: another test may be reading or writing it.
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, contents);
    renameSync(draft, path);
    sizes[basename(path)] = contents.length;
    inputs.push(...Object.keys(metafile.inputs));
  }
  if (names.length === 0) {
    writeFileSync(join(folder, 'LICENCES.txt'), bundledLicences(root, inputs));
  }
  return sizes;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sizes = await bundleNodePrograms(
    process.argv[2],
    process.argv.slice(3)
  );
  for (const [name, bytes] of Object.entries(sizes)) {
    console.log(`${name}: ${(bytes / 1024).toFixed(0)} KiB`);
  }
}
