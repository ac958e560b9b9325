/**
 * The Node end of spanwise/tests/test_wire_node.py: links of this side against links of Python.
 *
 *     node link-partner.cjs door unix|tcp FOLDER   opens a door, prints its address, answers `get` with blobs of as many bytes as the ids say
 *     node link-partner.cjs dial ADDRESS           dials as `source`, sends two blocks, prints what `ack` says
 *
 * The secret comes as a line of hex on stdin; the end of stdin ends the process.
 */
import { createInterface } from 'node:readline';
import { dial } from '../link/dial';
import { Door } from '../link/door';
import type { Transport } from '../link/addresses';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const BUILD = '0.0.0+test';

async function openDoor(
  secret: Uint8Array,
  transport: Transport,
  folder: string
): Promise<void> {
  const door = await Door.open({
    transport,
    folder,
    name: 'partner',
    secret,
    build: BUILD,
    roles: ['peer'],
    welcome: (role, intro) => ({ role, intro }),
    onLink: link =>
      link.start({
        messages: batch => {
          for (const message of batch) {
            if (message.type === 'get') {
              const { request } = message.fields;
              const taskId = message.tables.ids.taskId;
              link.send(
                'data',
                { request },
                {
                  items: {
                    taskId,
                    status: new Uint8Array(taskId.length),
                    nbytes: Float64Array.from(taskId)
                  }
                },
                Array.from(taskId, id => new Uint8Array(id).fill(id % 251))
              );
            } else if (message.type === 'put') {
              const sum = message.blobs.reduce(
                (total, blob) => total + blob.length,
                0
              );
              link.send('stored', { request: sum });
            }
          }
        },
        closed: () => undefined
      })
  });
  say(door.address);
}

async function dialDoor(secret: Uint8Array, address: string): Promise<void> {
  const link = await dial({
    address,
    secret,
    role: 'source',
    build: BUILD,
    intro: { name: 'größer' }
  });
  link.start({
    messages: batch => {
      for (const message of batch) {
        if (message.type === 'ack') {
          say(`ack ${message.fields.seq}`);
        }
      }
    },
    closed: why => say(`closed ${why}`)
  });
  link.send('block', {}, {}, [
    new Uint8Array(5_000_000).fill(1),
    new Uint8Array(7).fill(2)
  ]);
}

const lines = createInterface({ input: process.stdin });
lines.once('line', line => {
  const secret = Buffer.from(line, 'hex');
  const [what, first = '', second = ''] = process.argv.slice(2);
  const started =
    what === 'door'
      ? openDoor(secret, first as Transport, second)
      : dialDoor(secret, first);
  started.catch((error: Error) => say(`failed ${error.message}`));
});
lines.on('close', () => process.exit(0));
