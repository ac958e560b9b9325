import { NotPortableError } from '../graph/portable';
import type { PortableForm } from '../graph/portable-form';
import { importAround } from './module-import';

/**
 * A program may send functions of its own file; if nothing keeps the workers from starting the run again when they import it, they would
 * go on for ever:
 *
 * ```
 *   program: getProcesses(… module(import.meta.url, 'f'))
 *     worker imports the file: getProcesses(… module(import.meta.url, 'f'))     refused here
 *       worker of the worker …
 * ```
 *
 * @throws NotPortableError for a function of the module whose import has begun the run.
 */
export function refuseOwnImport(form: PortableForm): void {
  if (form.kind === 'module' && form.url === importAround()) {
    throw new NotPortableError(
      `\`${form.exportName}\` is in ${form.url}, which starts this run whenever it is imported, and each worker imports it: there would be no end to it. ` +
        `Start runs under \`if (import.meta.main)\`, or put the tasks' functions into a file of their own.`
    );
  }
}
