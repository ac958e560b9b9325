/**
 * What the observer's process takes of memory with all runs of a cluster in it, drawn once, and whether it has dropped any: a million with
 * its usual budget, ten million with a larger one.
 *
 *     python -m benchmarks observer-memory [-- --runs 1000000 --more-runs 10000000 --budget 4294967296]
 *
 * The observer is the program that ships, in a process of its own; the synthetic source sends blocks as a scheduler does.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { dial } from '../src/link/dial';
import { BUILD } from '../src/sidecar/build';
import { runObserver } from '../src/sidecar/observer-process/program';
import { PROTOCOL } from '../src/wire/handshake-messages';
import type { ClusterInfo } from '../src/wire/panel-link';
import { argument, handOver, type Figure } from './findings';
import { residentMegabytes } from './panning-server';
import { SyntheticSource } from './panning-source';

const MOST_MEGABYTES = 250;
const MOST_MEGABYTES_OF_MORE = 1000;
const ANSWER_SECONDS = 120;

type Observer = {
  readonly process: ChildProcess;
  readonly address: string;
  readonly secret: Uint8Array;
  end(): Promise<void>;
};

async function startObserver(budgetBytes: number): Promise<Observer> {
  const folder = mkdtempSync(join(tmpdir(), 'spanwise-memory-'));
  const secret = randomBytes(32);
  const child = spawn(
    process.execPath,
    [fileURLToPath(import.meta.url), 'observer', '--folder', folder],
    { stdio: ['pipe', 'pipe', 'inherit'] }
  );
  const settings = {
    protocol: PROTOCOL,
    secretHex: secret.toString('hex'),
    transport: 'unix',
    budgetBytes
  };
  child.stdin.write(`${JSON.stringify(settings)}\n`);
  for await (const line of createInterface(child.stdout)) {
    const { ready } = JSON.parse(line) as { ready?: { address: string } };
    if (ready === undefined) {
      throw new Error(line);
    }
    return {
      process: child,
      address: ready.address,
      secret,
      end: async () => {
        const ended = new Promise(done => child.once('exit', done));
        child.stdin.end();
        await ended;
        rmSync(folder, { recursive: true, force: true });
      }
    };
  }
  throw new Error('The observer did not start.');
}

/** A page that has the Task Stream drawn as a whole; returns what the observer says of the cluster. */
async function look(observer: Observer): Promise<ClusterInfo> {
  const { address, secret } = observer;
  const link = await dial({ address, secret, role: 'panel', build: BUILD });
  const info = await new Promise<ClusterInfo>((done, fail) => {
    const late = setTimeout(
      () => fail(new Error('The observer did not answer.')),
      ANSWER_SECONDS * 1000
    );
    let found: ClusterInfo | undefined;
    link.start({
      messages: batch => {
        for (const message of batch) {
          if (message.type === 'clusters' && found === undefined) {
            found = message.fields.clusters[0]!;
            const view = 'task-stream';
            link.send('watch', { id: 1, cluster: found.cluster, view });
          } else if (message.type === 'snapshot') {
            const { id, seq } = message.fields;
            link.send('ack', { id, seq });
            // 512 cells of 2^27 µs each: 19 hours.
            link.send('tiles', { id, level: 27, first: 0, count: 1 });
          } else if (message.type === 'tile' && found !== undefined) {
            clearTimeout(late);
            done(found);
          } else if (message.type === 'failure') {
            fail(new Error(JSON.stringify(message.fields)));
          }
        }
      },
      closed: why => fail(new Error(why))
    });
  });
  link.close('The benchmark is over.');
  return info;
}

async function measure(
  row: string,
  runs: number,
  budgetBytes: number,
  mostMegabytes: number
): Promise<Figure[]> {
  const observer = await startObserver(budgetBytes);
  try {
    const source = await SyntheticSource.dialAt(
      { ...observer, build: BUILD },
      'synthetic'
    );
    await source.send(runs);
    const taken = residentMegabytes(observer.process.pid!);
    const { tasks, dropped } = await look(observer);
    const looked = residentMegabytes(observer.process.pid!);
    source.close();
    if (dropped !== undefined || tasks !== runs) {
      console.log(`${row}: ${tasks} tasks of ${runs}. ${dropped ?? ''}`);
    }
    const figure = (
      column: string,
      unit: string,
      value: number,
      limit?: number
    ): Figure => ({
      row,
      column,
      unit,
      better: 'lower',
      samples: [value],
      ...(limit === undefined ? {} : { limit })
    });
    console.log(
      `${row.padEnd(28)} ${taken.toFixed(0).padStart(6)} MB, drawn ${looked.toFixed(0).padStart(6)} MB, lacks ${runs - tasks}`
    );
    return [
      figure('all taken in', 'MB', taken, mostMegabytes),
      figure('drawn as a whole', 'MB', looked, mostMegabytes),
      figure(
        'lacking',
        'runs',
        dropped === undefined ? runs - tasks : Math.max(1, runs - tasks),
        0
      )
    ];
  } finally {
    await observer.end();
  }
}

async function main(): Promise<void> {
  const runs = argument('--runs', 1_000_000);
  const moreRuns = argument('--more-runs', 10_000_000);
  const budget = argument('--budget', 4 * 2 ** 30);
  const figures = [
    ...(await measure('usual budget', runs, 2 ** 30, MOST_MEGABYTES)),
    ...(await measure(
      'raised budget',
      moreRuns,
      budget,
      MOST_MEGABYTES_OF_MORE
    ))
  ];
  handOver({ runs, moreRuns, budget }, figures);
}

if (process.argv[2] === 'observer') {
  process.exitCode = await runObserver(process.argv.slice(3));
} else {
  await main();
}
