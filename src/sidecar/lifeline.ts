/**
 * Standard input of a Node program: one line of settings, then nothing, until its owner ends. The line holds the user's
 * environment, which therefore lies in no file.
 */
import type { Readable } from 'node:stream';

/** An environment is some 10 KB, a module path less. */
const MOST_CHARACTERS = 64 * 2 ** 20;

export class Lifeline {
  /** The first line, as JSON. Rejects with a sentence. */
  readonly settings: Promise<unknown>;
  /** Resolves when the owner has gone or has closed its end, even if that was before the first call. */
  readonly ended: Promise<void>;

  constructor(input: Readable) {
    this.ended = new Promise(resolve => {
      input.once('end', resolve);
      input.once('close', resolve);
      input.once('error', () => resolve());
    });
    this.settings = new Promise((resolve, reject) => {
      let text = '';
      input.setEncoding('utf8');
      const take = (chunk: string): void => {
        text += chunk;
        const end = text.indexOf('\n');
        if (end < 0 && text.length < MOST_CHARACTERS) {
          return;
        }
        input.off('data', take);
        input.resume();
        try {
          resolve(JSON.parse(text.slice(0, end < 0 ? undefined : end)));
        } catch {
          reject(new Error(NO_SETTINGS));
        }
      };
      input.on('data', take);
      void this.ended.then(() => reject(new Error(NO_SETTINGS)));
    });
    // Callers get the rejection. As long as there is no caller, it must not count as unhandled.
    this.settings.catch(() => undefined);
  }
}

const NO_SETTINGS =
  'The settings must come as one line of JSON on standard input.';
