/**
 * The program of a child process. File descriptor 3 carries messages both ways; 4 carries nothing: it closes when the parent dies, however
 * that happens, and a thread of its own watches it, because the main thread may be busy with a task that never ends.
 */
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { forwardOutput } from './forward-output';
import type { FromWorker, RunMessage, ToWorker } from './messages';
import { PackRunner } from './pack-runner';
import {
  canEncode,
  decodedCopy,
  encodeFrame,
  FrameReader
} from './process-frames';

const MESSAGES = 3;
const LIFELINE = 4;

const socket = new Socket({ fd: MESSAGES, readable: true, writable: true });

function send(message: FromWorker): void | Promise<void> {
  const values = message.type === 'results' ? message.values : [];
  const { chunks, isLarge } = encodeFrame(message, values);
  socket.cork();
  const written = new Promise<void>(resolve => {
    chunks.forEach((chunk, at) =>
      socket.write(chunk, () => at === chunks.length - 1 && resolve())
    );
  });
  socket.uncork();
  // Large memory is not copied, so no task may change it before it has left.
  return isLarge ? written : undefined;
}

const cancelled = new Set<number>();
const begun = { pack: -1, tasks: 0 };

const runner = new PackRunner({
  send,
  canSend: canEncode,
  arrivalOf: decodedCopy,
  claim: ({ pack, count }: RunMessage) => {
    if (begun.pack !== pack) {
      begun.pack = pack;
      begun.tasks = 0;
    }
    return cancelled.delete(pack) ? count : begun.tasks++;
  },
  pause: async () => {
    // The first may come before the pipe is looked at, the second comes after.
    await setImmediate();
    await setImmediate();
  }
});

const reader = new FrameReader(
  message => {
    const known = message as ToWorker;
    if (known.type === 'run') {
      runner.add(known);
    } else if (known.type === 'initialize') {
      void runner.initialize(known);
    } else {
      cancelled.add(known.pack);
    }
  },
  error => {
    throw error;
  }
);

forwardOutput(message => {
  // Small, so it is written at once.
  void send(message);
});
socket.on('data', chunk => reader.push(chunk));
// The parent has ended or has let go of this worker.
socket.on('close', () => process.exit(0));
socket.on('error', () => process.exit(1));
// Ctrl-C reaches every process of the terminal; the parent decides what it means.
process.on('SIGINT', () => undefined);

const watcher = new Worker(
  `const { Socket } = require('node:net');
   const lifeline = new Socket({ fd: ${LIFELINE}, readable: true, writable: false });
   lifeline.on('close', () => process.kill(process.pid, 'SIGKILL'));
   lifeline.on('error', () => process.kill(process.pid, 'SIGKILL'));
   lifeline.resume();`,
  { eval: true, execArgv: [] }
);
watcher.unref();
void send({ type: 'ready' });
