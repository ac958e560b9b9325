/**
 * What packages that measure values say, and how long they take, against what the values take in truth: memory before and after.
 *
 *     npm install --prefix FOLDER object-sizeof@2.6.5 sizeof@1.0.0 js-sizeof@0.0.1
 *     npx esbuild benchmarks/size-of.ts --bundle --platform=node --format=esm --outfile=.build/size-of.mjs
 *     node .build/size-of.mjs FOLDER
 *
 * Each measurement is in a process of its own, which is ended after 10 s. Prints the table of docs/local-diagnostics.md.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serialize } from 'node:v8';
import { sizeOf } from '../src/node/diagnostics/size-of';

type Measure = (value: unknown) => unknown;

const LIMIT_SECONDS = 10;
const packages = ['object-sizeof', 'sizeof', 'js-sizeof'];

/** Made so that nothing of a value is shared with another one or known before. */
const values: Readonly<Record<string, () => unknown>> = {
  'Float64Array of 100,000': () => new Float64Array(100_000).fill(1.5),
  'an object with that in it': () => ({
    block: new Float64Array(100_000).fill(1.5)
  }),
  'Map of 100 Float64Arrays of 1,000': () =>
    new Map(
      Array.from({ length: 100 }, (_, at) => [`block ${at}`, block(1000)])
    ),
  'the same Float64Array of 100,000 ten times': () =>
    new Array(10).fill(new Float64Array(100_000).fill(1.5)),
  '100,000 rows { x, y }': () =>
    Array.from({ length: 100_000 }, (_, at) => ({ x: at + 0.5, y: at + 0.25 })),
  '1,000,000 numbers in an array': () =>
    Array.from({ length: 1_000_000 }, (_, at) => at + 0.5),
  'text of 1,000,000 ASCII letters': () =>
    Buffer.alloc(1_000_000, 97).toString('latin1'),
  'text of 1,000,000 other letters': () =>
    Buffer.alloc(2_000_000, 'ж', 'utf16le').toString('utf16le'),
  'ring of 10,000 objects': () => {
    const links: { next?: unknown }[] = Array.from({ length: 10_000 }, () => ({
      next: undefined
    }));
    links.forEach((link, at) => (link.next = links[(at + 1) % links.length]));
    return links[0];
  }
};

function block(length: number): Float64Array {
  return new Float64Array(length).fill(1.5);
}

function bytesInUse(): number {
  for (let pass = 0; pass < 4; pass++) {
    (globalThis as { gc?: () => void }).gc!();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Bytes of one value: the growth by several that are held, so that what else the process does is small against it. */
function trueBytes(make: () => unknown): number {
  const count = 8;
  const held = new Array<unknown>(count).fill(0);
  // Does the work that only the first one costs.
  make();
  const before = bytesInUse();
  for (let at = 0; at < count; at++) {
    held[at] = make();
  }
  const after = bytesInUse();
  return (after - before) / held.length;
}

async function measureOf(name: string, folder: string): Promise<Measure> {
  if (name === 'sizeOf') {
    return sizeOf;
  }
  if (name === 'v8.serialize') {
    return value => serialize(value).length;
  }
  const found = createRequire(join(folder, 'package.json'))(name) as
    | Measure
    | { readonly sizeof: Measure };
  return typeof found === 'function' ? found : found.sizeof;
}

async function one(name: string, value: string, folder: string) {
  if (name === 'truth') {
    return { bytes: trueBytes(values[value]!) };
  }
  const measure = await measureOf(name, folder);
  const subject = values[value]!();
  const times: number[] = [];
  let answer: unknown;
  const end = performance.now() + 1000;
  do {
    const begin = performance.now();
    try {
      answer = measure(subject);
    } catch (error) {
      // Running out of stack counts as giving up, too.
      answer = error;
    }
    times.push(performance.now() - begin);
  } while (performance.now() < end && times.length < 101);
  times.sort((a, b) => a - b);
  return {
    bytes: typeof answer === 'number' ? answer : null,
    ms: times[Math.floor(times.length / 2)]
  };
}

type Answer = { readonly bytes: number | null; readonly ms?: number } | null;

function inProcess(name: string, value: string, folder: string): Answer {
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      '--expose-gc',
      fileURLToPath(import.meta.url),
      '--one',
      name,
      value,
      folder
    ],
    { timeout: 1000 * LIMIT_SECONDS, encoding: 'utf8' }
  );
  return status === 0 ? (JSON.parse(stdout) as Answer) : null;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toPrecision(3)} MB`;
}

function duration(ms: number): string {
  const [value, unit] =
    ms < 1 ? [1000 * ms, 'us'] : ms < 1000 ? [ms, 'ms'] : [ms / 1000, 's'];
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
}

function cell(answer: Answer, truth: number): string {
  if (answer === null) {
    return `no answer in ${LIMIT_SECONDS} s`;
  }
  const { bytes, ms } = answer;
  const ratio = bytes === null ? 'gives up' : (bytes / truth).toFixed(2);
  return `${ratio}, ${duration(ms!)}`;
}

function table(folder: string): void {
  const names = ['sizeOf', ...packages, 'v8.serialize'];
  const titles = names.map(name => {
    if (!packages.includes(name)) {
      return `\`${name}\``;
    }
    const file = join(folder, 'node_modules', name, 'package.json');
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as {
      version: string;
    };
    return `${name} ${version}`;
  });
  const lines = [['value', 'truth', ...titles]];
  lines.push(lines[0]!.map(() => '---'));
  for (const value of Object.keys(values)) {
    const { bytes } = inProcess('truth', value, folder)!;
    lines.push([
      value,
      megabytes(bytes!),
      ...names.map(name => cell(inProcess(name, value, folder), bytes!))
    ]);
  }
  lines.forEach(cells => console.log(`| ${cells.join(' | ')} |`));
}

const [first, ...rest] = process.argv.slice(2);
if (first === '--one') {
  const [name, value, folder] = rest as [string, string, string];
  console.log(JSON.stringify(await one(name, value, folder)));
} else {
  table(first!);
}
