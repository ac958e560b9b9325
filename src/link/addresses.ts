/** Addresses of doors: `unix:/path/to.sock` or `tcp:127.0.0.1:PORT`. Runs in the Node programs. */
import { chmod, stat } from 'node:fs/promises';
import type { ListenOptions, NetConnectOpts, Server } from 'node:net';
import { join } from 'node:path';

/** Bytes of a unix socket's path that Linux takes (sun_path less the ending zero). */
const UNIX_PATH_BYTES = 107;

export type Transport = 'unix' | 'tcp';

/** How to connect to an address. */
export function connectOptions(address: string): NetConnectOpts {
  const unix = /^unix:(.+)$/.exec(address);
  if (unix?.[1] !== undefined) {
    return { path: unix[1] };
  }
  const tcp = /^tcp:(.+):(\d+)$/.exec(address);
  if (tcp?.[1] !== undefined) {
    return { host: tcp[1], port: Number(tcp[2]), noDelay: true };
  }
  throw new Error(`"${address}" is neither unix:PATH nor tcp:HOST:PORT.`);
}

/** Where a door listens: `folder`/`name`.sock, or a port of the loopback interface; 0: a free one. */
export async function listenOptions(
  transport: Transport,
  folder: string,
  name: string,
  port = 0
): Promise<ListenOptions> {
  if (transport === 'tcp') {
    return { host: '127.0.0.1', port };
  }
  const mode = (await stat(folder)).mode & 0o777;
  if ((mode & 0o077) !== 0) {
    throw new Error(
      `${folder} is open to other users (mode ${mode.toString(8)}); sockets need 700.`
    );
  }
  const path = join(folder, `${name}.sock`);
  if (Buffer.byteLength(path) > UNIX_PATH_BYTES) {
    throw new Error(
      `${path} is longer than the ${UNIX_PATH_BYTES} bytes a socket's path may have; ` +
        'set TMPDIR to a shorter one, or SPANWISE_TRANSPORT=tcp.'
    );
  }
  return { path };
}

/** The address of a server that listens, its socket the user's alone. */
export async function addressOf(server: Server): Promise<string> {
  const address = server.address();
  if (address === null) {
    throw new Error('The door does not listen.');
  }
  if (typeof address === 'string') {
    await chmod(address, 0o600);
    return `unix:${address}`;
  }
  return `tcp:${address.address}:${address.port}`;
}
