/** The errors of reading a file of a process that has ended meanwhile, or belongs to someone else. */
const codes = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM']);

export function isMissing(error: unknown): boolean {
  return codes.has((error as NodeJS.ErrnoException).code ?? '');
}
