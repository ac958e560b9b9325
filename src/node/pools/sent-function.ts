import { NotPortableError } from '../graph/portable';
import type { PortableForm } from '../graph/portable-form';
import type { SentFunction } from './messages';
import { importsAround } from './module-import';

/**
 * A function on its way to a worker.
 *
 * A program may send functions of its own file, or of one that sends functions of that one. If importing the file starts the run again,
 * workers start workers for ever:
 *
 * ```
 *   program: getProcesses(… module('a.js', 'f'))
 *     worker imports a.js: getProcesses(… module('b.js', 'g'))
 *       worker of the worker imports b.js: getProcesses(… module('a.js', 'f'))     refused here, within [a.js, b.js]
 *         worker of the worker of …
 * ```
 *
 * @throws NotPortableError for a function of a module whose import has begun the run.
 */
export function sentFunction(form: PortableForm): SentFunction {
  const within = importsAround();
  if (form.kind === 'module' && within.includes(form.url)) {
    const others = within.slice(within.indexOf(form.url) + 1);
    const way = others.length === 0 ? '' : ` (by way of ${others.join(', ')})`;
    throw new NotPortableError(
      `\`${form.exportName}\` is in ${form.url}, which starts this run whenever it is imported${way}, and each worker imports it: there would be no end to it. ` +
        `Start runs under \`if (import.meta.main)\`, or put the tasks' functions into a file of their own.`
    );
  }
  return { form, within };
}
