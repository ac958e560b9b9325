import { basename, extname } from 'node:path';

/** The name that panels show for a program without one. */
export function scriptName(): string {
  const script = process.argv[1];
  return script === undefined ? 'node' : basename(script, extname(script));
}
