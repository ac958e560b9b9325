import { spawn } from 'node:child_process';

/**
 * Opens a file in the program named by the environment's `BROWSER`, else in what the system opens HTML files with. Does not wait for it; if
 * there is no such program, a warning says so.
 */
export function openInBrowser(path: string): void {
  const [command, ...args] = opener(path);
  const child = spawn(command, args, { detached: true, stdio: 'ignore' });
  child.on('error', error => {
    process.emitWarning(
      `${path} was written but could not be opened (${error.message}). Set BROWSER to a program that opens it.`,
      'SpanwiseWarning'
    );
  });
  child.unref();
}

function opener(path: string): [string, ...string[]] {
  const browser = process.env['BROWSER'];
  if (browser !== undefined && browser !== '') {
    return [browser, path];
  }
  switch (process.platform) {
    case 'darwin':
      return ['open', path];
    case 'win32':
      return ['explorer.exe', path];
    default:
      return ['xdg-open', path];
  }
}
