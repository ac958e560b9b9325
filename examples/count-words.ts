/**
 * Counts the words of all Markdown files in a folder: files are read eight at a time, while a bar shows how far it is.
 *
 *     node count-words.js [FOLDER]
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getAsync, ProgressBar, ref, task, type Key } from 'spanwise';

type Counts = ReadonlyMap<string, number>;

async function countWords(path: string): Promise<Counts> {
  const counts = new Map<string, number>();
  const text = await readFile(path, 'utf8');
  for (const [word] of text.toLowerCase().matchAll(/\p{Letter}{4,}/gu)) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

function merge(...parts: Counts[]): Counts {
  const sum = new Map<string, number>();
  for (const part of parts) {
    part.forEach((count, word) => sum.set(word, (sum.get(word) ?? 0) + count));
  }
  return sum;
}

function mostFrequent(counts: Counts, howMany: number): [string, number][] {
  return [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, howMany);
}

const folder = process.argv[2] ?? '.';
const files = (await readdir(folder)).filter(name => name.endsWith('.md'));

// Counts are merged in pairs as they come, so that few are held at once.
const graph = new Map<Key, unknown>();
let level: Key[] = files.map(name => {
  const key = ['count', name] as const;
  graph.set(key, task(countWords, join(folder, name)));
  return key;
});
for (let height = 0; level.length > 1; height++) {
  const next: Key[] = [];
  for (let at = 0; at < level.length; at += 2) {
    const key = ['merge', height, at / 2] as const;
    const pair = level.slice(at, at + 2).map(part => ref(part));
    graph.set(key, task(merge, ...pair));
    next.push(key);
  }
  level = next;
}
graph.set('top', task(mostFrequent, level[0] ? ref(level[0]) : new Map(), 5));

const bar = new ProgressBar();
const top = await bar.run(() =>
  getAsync<[string, number][]>(graph, 'top', { numWorkers: 8 })
);
console.log(`${files.length} files`);
for (const [word, count] of top) {
  console.log(`${String(count).padStart(6)} ${word}`);
}
