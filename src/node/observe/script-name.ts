import { basename, extname } from 'node:path';

/** What panels call a program that has given itself no name. */
export function scriptName(): string {
  const script = process.argv[1];
  return script === undefined ? 'node' : basename(script, extname(script));
}
