/** The program of a worker thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { forwardOutput } from './forward-output';
import type { FromWorker, ToWorker } from './messages';
import { PackRunner } from './pack-runner';
import type { ThreadData } from './thread-worker';

const port = parentPort!;
const claims = new Int32Array((workerData as ThreadData).claims);

const send = (message: FromWorker, moved: readonly ArrayBuffer[]) =>
  port.postMessage(message, moved as ArrayBuffer[]);

const runner = new PackRunner({
  send,
  canSend: value => {
    try {
      structuredClone(value);
      return true;
    } catch {
      return false;
    }
  },
  arrivalOf: structuredClone,
  claim: pack => Atomics.add(claims, pack.cell, 1)
});

forwardOutput(message => send(message, []));
port.on('message', (message: ToWorker) => {
  if (message.type === 'run') {
    runner.add(message);
  } else if (message.type === 'initialize') {
    void runner.initialize(message);
  }
});
port.on('messageerror', error => {
  throw error;
});
send({ type: 'ready' }, []);
