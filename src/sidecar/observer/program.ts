/**
 * The observer as a program: `node spanwise.mjs observer --folder DIR`. Reads DIR/observer.json, prints one line when it is ready, and ends
 * when its standard input does: whoever started it holds the other end.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { build } from '../build';
import { Observer } from './observer';

const PROTOCOL = 1;

const settings = v.object({
  protocol: v.literal(PROTOCOL),
  secretHex: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  transport: v.picklist(['unix', 'tcp']),
  budgetBytes: v.optional(v.pipe(v.number(), v.minValue(1)))
});

/** Runs until the lifeline ends; the exit code. */
export async function runObserver(args: readonly string[]): Promise<number> {
  const folder = args[args.indexOf('--folder') + 1];
  if (!args.includes('--folder') || folder === undefined) {
    return failed('observer needs --folder DIR.');
  }
  let observer: Observer;
  try {
    const text = await readFile(join(folder, 'observer.json'), 'utf8');
    const { secretHex, transport, budgetBytes } = v.parse(
      settings,
      JSON.parse(text)
    );
    observer = await Observer.start({
      folder,
      transport,
      secret: Uint8Array.from(Buffer.from(secretHex, 'hex')),
      build,
      ...(budgetBytes === undefined ? {} : { budgetBytes }),
      note: sentence => process.stderr.write(`${sentence}\n`)
    });
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
  process.stdout.write(
    `${JSON.stringify({ ready: { address: observer.address } })}\n`
  );
  await lifelineEnd();
  await observer.close();
  return 0;
}

function failed(sentence: string): number {
  process.stdout.write(`${JSON.stringify({ failed: sentence })}\n`);
  return 1;
}

function lifelineEnd(): Promise<void> {
  return new Promise(resolve => {
    process.stdin.once('end', resolve);
    process.stdin.once('close', resolve);
    process.stdin.once('error', () => resolve());
    process.stdin.resume();
  });
}
