/**
 * The observer as a program: `node spanwise.cjs observer --folder DIR`. Reads its settings, a line of JSON on standard
 * input, prints one line when it is ready, and ends when its standard input does: its parent holds the other end.
 */
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { warmUp } from '../../observer/warm-up';
import { PROTOCOL } from '../../wire/handshake-messages';
import { BUILD } from '../build';
import { BoundedLog } from '../bounded-log';
import { Lifeline } from '../lifeline';
import { removeOwnFolder } from '../own-folder';
import { Observer } from './observer';

/** Computation comes first: with every core busy, the observer gets a quarter of a worker's share. It still uses free cores fully. */
const NICENESS = 5;
/** What the owner puts there, and the observer's socket (docs/contracts.md §8). */
const OURS = /^(observer\.(log|sock)|secret|address)$/;

type Settings = {
  readonly secret: Uint8Array;
  readonly transport: 'unix' | 'tcp';
  readonly budgetBytes?: number;
};

/** Runs until the lifeline ends; the exit code. */
export async function runObserver(args: readonly string[]): Promise<number> {
  const folder = args[args.indexOf('--folder') + 1];
  if (!args.includes('--folder') || folder === undefined) {
    return failed('observer needs --folder DIR.');
  }
  const lifeline = new Lifeline(process.stdin);
  new BoundedLog(join(folder, 'observer.log'));
  let observer: Observer;
  try {
    const settings = readSettings(await lifeline.settings);
    observer = await Observer.start({
      folder,
      build: BUILD,
      ...settings,
      warmUp,
      note: sentence => process.stderr.write(`${sentence}\n`)
    });
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
  setPriority(NICENESS);
  process.stdout.write(
    `${JSON.stringify({ ready: { address: observer.address } })}\n`
  );
  await lifeline.ended;
  await observer.close();
  // Its owner does it too, unless it was killed.
  await removeOwnFolder(folder, OURS);
  return 0;
}

/** @throws Error with a sentence for the settings' author. */
function readSettings(json: unknown): Settings {
  const { protocol, secretHex, transport, budgetBytes } = (
    typeof json === 'object' && json !== null ? json : {}
  ) as Readonly<Record<string, unknown>>;
  if (protocol !== PROTOCOL) {
    throw new Error(
      `The settings are of protocol ${String(protocol)}, this observer of ${PROTOCOL}: install the same version of Spanwise on both sides.`
    );
  }
  if (typeof secretHex !== 'string' || !/^[0-9a-f]{64}$/.test(secretHex)) {
    throw new Error('The settings: secretHex must be 64 hex digits.');
  }
  if (transport !== 'unix' && transport !== 'tcp') {
    throw new Error('The settings: transport must be "unix" or "tcp".');
  }
  const secret = Uint8Array.from(Buffer.from(secretHex, 'hex'));
  return typeof budgetBytes === 'number' && budgetBytes > 0
    ? { secret, transport, budgetBytes }
    : { secret, transport };
}

function failed(sentence: string): number {
  process.stdout.write(`${JSON.stringify({ failed: sentence })}\n`);
  return 1;
}
