/**
 * The program of the thread that sends: beside the one that computes, which may be busy for as long as its tasks are. It keeps what was
 * recorded, finds the observer and sends it there, and measures memory, so that both go on while `getSync` holds the program's own thread.
 *
 *     blocks of the program ─┐
 *                            ├─► one log, numbered here ─► ring ─► observer
 *     blocks from here ──────┘   (memory, what runs, gaps)
 */
import { DEFAULT_SPAN } from '../../records/ids';
import { NONE_U32 } from '../../records/enumerations';
import { existsSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { monotonicClock } from '../../link/monotonic';
import { ObserverLink, type ObserverPlace } from '../../link/observer-link';
import { type Doorbell, ringDoorbell } from '../../link/ring-doorbell';
import { LogWriter } from '../../records/log-writer';
import { findDoorbells } from './connections';
import { HOME } from './home';
import { processMemory } from './process-memory';
import type { LogEnd } from './log-sink';
import { RunningBoard } from './running-board';
import { RunningRows } from './running-rows';
import type { FromSender, SenderData, ToSender } from './sender-messages';

declare const SPANWISE_VERSION: string | undefined;

const BUILD = `npm ${typeof SPANWISE_VERSION === 'string' ? SPANWISE_VERSION : 'unbundled'}`;
/** Time between two looks at the running tasks; every second look is also at memory. */
const LOOK_MS = 100;
const FLUSH_SECONDS = 10;
/** How long the end of a log waits for an observer that is being started again. */
const SUCCESSOR_SECONDS = 3;
/** Where the sequence number stands in a block (records/block.ts). */
const SEQ_AT = 4;

const REMEDY =
  'Restart JupyterLab, then this program; if their versions differ, run "npm install spanwise@latest" and "pip install --upgrade spanwise".';

const port = parentPort!;
const data = workerData as SenderData;
const now = monotonicClock();
const { start: START, ...open } = data.description;
const since = (): number => now() - START;
const say = (message: FromSender): void => port.postMessage(message);

/** All blocks of the log, from all writers, in the order in which they arrive. */
class OneLog {
  private _seq = 0;
  readonly own = new LogWriter(({ bytes }) => this.push(bytes, since()));
  private readonly _link = new ObserverLink({
    place: () => place.now(),
    build: BUILD,
    open,
    onGap: gaps => {
      for (const { table, from, to, rows } of gaps) {
        this.own
          .table('gaps')
          .append({ table, from, to, rows, why: 'replay ring' });
      }
      this.own.seal();
    },
    note: () => undefined,
    onRefused: sentence => say({ type: 'warning', sentence }),
    who: 'This program',
    remedy: () => REMEDY
  });

  push(bytes: Uint8Array<ArrayBuffer>, at: number): void {
    this._seq++;
    new DataView(bytes.buffer, bytes.byteOffset).setUint32(
      SEQ_AT,
      this._seq,
      true
    );
    this._link.push({ seq: this._seq, bytes }, at);
  }

  delivered(): Promise<void> {
    return this._link.delivered(this._seq, FLUSH_SECONDS);
  }

  async end(why: LogEnd, at: number, limitSeconds: number): Promise<void> {
    const limit = performance.now() + limitSeconds * 1000;
    await this._link.opened(Math.min(SUCCESSOR_SECONDS, limitSeconds));
    await this._link.end(why, at, (limit - performance.now()) / 1000);
  }

  close(): void {
    this._link.close();
  }
}

/** The observer of the first server that answers. */
class Place {
  private _place: ObserverPlace | null = null;

  async now(): Promise<ObserverPlace> {
    if (this._place === null) {
      try {
        this._place = await firstOf(data.doorbells);
      } catch (error) {
        finish({ type: 'nobody', sentence: String((error as Error).message) });
        throw error;
      }
    } else if (!existsSync(this._place.secretFile)) {
      // The server has ended. Another may run by now: the observers of one server are found by their file.
      this._place = await firstOf(findDoorbells(data.connection));
    }
    return this._place;
  }
}

async function firstOf(doorbells: readonly Doorbell[]): Promise<ObserverPlace> {
  const reasons: string[] = [];
  for (const doorbell of doorbells) {
    try {
      return await ringDoorbell(doorbell, BUILD);
    } catch (error) {
      reasons.push(reasonOf(doorbell, error));
    }
  }
  throw new Error(
    `JupyterLab's Spanwise extension did not answer: ${reasons.join('; ')} ${REMEDY}`
  );
}

function reasonOf({ address }: Doorbell, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.includes(address) ? message : `${message} (${address})`;
}

/** Processes that compute, by their number in the log. */
const processes = new Map<number, number>();

function measureMemory(): void {
  const table = log.own.table('memory');
  const write = (worker: number, bytes: number): void =>
    table.append({
      t: since(),
      worker,
      process: bytes,
      managed: NaN,
      spilled: NaN,
      unmanagedOld: NaN
    });
  write(HOME, processMemory() ?? NaN);
  for (const [worker, pid] of processes) {
    const bytes = processMemory(pid);
    if (bytes === null) {
      processes.delete(worker);
      // The panel adds up the newest figures, so a process that has ended gets 0.
      write(worker, 0);
      say({ type: 'processEnded', worker });
    } else if (!Number.isNaN(bytes)) {
      write(worker, bytes);
    }
  }
}

function lookWhatRuns(): void {
  running.look(now(), (lane, task) =>
    log.own.table('running').append({
      lane,
      node: task?.node ?? NONE_U32,
      function: task?.functionId ?? 0,
      span: task?.span ?? DEFAULT_SPAN,
      started: (task?.started ?? START) - START
    })
  );
}

function look(): void {
  lookWhatRuns();
  if (looks++ % 2 === 0) {
    measureMemory();
  }
  log.own.seal();
}

function take(message: ToSender): void {
  switch (message.type) {
    case 'block':
      log.push(message.bytes, message.at);
      return;
    case 'process':
      processes.set(message.worker, message.pid);
      return;
    case 'flush':
      void log
        .delivered()
        .then(() => say({ type: 'delivered', request: message.request }));
      return;
    case 'end':
      clearInterval(looking);
      void log
        .end(message.why, message.at, message.limitSeconds)
        .then(() => finish({ type: 'ended' }));
  }
}

/** Nothing more will be done here. */
function finish(message: FromSender): void {
  clearInterval(looking);
  log.close();
  const ended = new Int32Array(data.ended);
  Atomics.store(ended, 0, 1);
  Atomics.notify(ended, 0);
  say(message);
  port.close();
}

const place = new Place();
const log = new OneLog();
const running = new RunningRows(new RunningBoard(data.running));
let looks = 0;
const looking = setInterval(look, LOOK_MS);
port.on('message', take);
