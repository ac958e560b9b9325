/** Facts about the servers that the browser tests start. */
import { randomBytes } from 'node:crypto';
import * as path from 'node:path';

/** In the order of their ports. */
const SERVERS = ['laptop', 'hub', 'guarded'] as const;

export type ServerName = (typeof SERVERS)[number];

/** Set by scripts/test; a sentence says so when the tests are run by hand. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') {
    throw new Error(`${name} is not set: run "bash scripts/test browser"`);
  }
  return value;
}

export function portOf(server: ServerName): number {
  const ports = setting('SPANWISE_BROWSER_PORTS').split(' ');
  return Number(ports[SERVERS.indexOf(server)]);
}

/** Of a scheduler that is started again at its address: one that the system gives to nobody meanwhile. */
export function schedulerPort(): string {
  const port = setting('SPANWISE_BROWSER_PORTS').split(' ')[SERVERS.length];
  if (port === undefined) {
    throw new Error(
      'SPANWISE_BROWSER_PORTS names no port for a scheduler: run "bash scripts/test browser"'
    );
  }
  return port;
}

/** Of JupyterLab in the server's addresses. */
export function basePath(server: ServerName): string {
  return server === 'hub' ? '/user/a/' : '/';
}

/** The `baseURL` of tests: with a slash at the end if there is more to it than the server. */
export function addressOf(server: ServerName): string {
  const path = basePath(server);
  return `http://127.0.0.1:${portOf(server)}${path === '/' ? '' : path}`;
}

/** Jupyter's runtime folder, one per server: programs on the machine find the server by its files there. */
export function runtimeFolder(server: ServerName): string {
  return path.join(setting('SPANWISE_BROWSER_FOLDER'), 'runtime', server);
}

/** The token of the server `guarded`: made for each run of the tests, the same in all their processes. */
export function token(): string {
  return (process.env['SPANWISE_BROWSER_TOKEN'] ??=
    randomBytes(16).toString('hex'));
}

/** Where a server has its notebooks. */
export function notebookFolder(server: ServerName): string {
  return path.join(
    setting('SPANWISE_BROWSER_FOLDER'),
    'servers',
    server,
    'root'
  );
}

/** Where a server keeps what users have set. */
export function settingsFolder(server: ServerName): string {
  return path.join(
    setting('SPANWISE_BROWSER_FOLDER'),
    'servers',
    server,
    'settings'
  );
}
