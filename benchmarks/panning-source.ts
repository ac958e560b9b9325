/** A synthetic run as a source of the real observer: rings at the doorbell as a kernel does, and sends blocks as a scheduler does. */
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { encodeBlock } from '../src/records/block';
import { dial } from '../src/link/dial';
import type { Link } from '../src/link/link';
import type { Connection } from './panning-server';
import { clusterLog } from './million-runs';

const ANSWER_SECONDS = 60;
/** The generator waits while so much is on its way. */
const QUEUE_BYTES = 4 * 2 ** 20;

export class SyntheticSource {
  private _ackedSeq = 0;
  private _closedBecause: string | null = null;

  private constructor(private readonly _link: Link<'source', 'up'>) {
    _link.start({
      messages: batch => {
        for (const message of batch) {
          if (message.type === 'ack') {
            this._ackedSeq = message.fields.seq;
          }
        }
      },
      closed: why => {
        this._closedBecause = why;
      }
    });
  }

  static async dial(
    connection: Connection,
    name: string
  ): Promise<SyntheticSource> {
    const { build } = connection;
    const doorbell = await dial({
      address: connection.doorbell,
      secret: await secretIn(connection.secretFile),
      role: 'doorbell',
      build
    });
    const place = await new Promise<{ address: string; secretFile: string }>(
      (done, fail) => {
        doorbell.start({
          messages: ([first]) => {
            if (first?.type === 'observer') {
              done(first.fields);
            }
          },
          closed: why => fail(new Error(why))
        });
        doorbell.send('ring', {});
      }
    );
    doorbell.close();
    const secret = await secretIn(place.secretFile);
    return SyntheticSource.dialAt(
      { address: place.address, secret, build },
      name
    );
  }

  /** As a source of the observer that listens there. */
  static async dialAt(
    observer: {
      readonly address: string;
      readonly secret: Uint8Array;
      readonly build: string;
    },
    name: string
  ): Promise<SyntheticSource> {
    const { address, secret, build } = observer;
    const link = await dial({ address, secret, role: 'source', build });
    const source = new SyntheticSource(link);
    link.send('open', {
      logId: `${name}-log`,
      clusterId: name,
      name,
      kind: 'embedded',
      wallEpoch: Date.now() / 1000,
      pid: process.pid
    });
    return source;
  }

  /** Send a cluster's whole life; done when the observer has taken it in. */
  async send(runs: number): Promise<void> {
    let seq = 0;
    for (const block of clusterLog(runs)) {
      seq = block.seq;
      this._link.send('block', {}, {}, [
        encodeBlock(
          block.seq,
          block.table,
          block.rows,
          block.columns as never,
          block.text
        )
      ]);
      while (this._link.queuedBytes > QUEUE_BYTES) {
        await pause(1);
      }
    }
    await this._acked(seq);
  }

  close(): void {
    this._link.close('The benchmark is over.');
  }

  private async _acked(seq: number): Promise<void> {
    const limit = performance.now() + ANSWER_SECONDS * 1000;
    // The observer acknowledges every 64th block at least, and the last one when it has nothing else to do.
    while (this._ackedSeq < seq) {
      if (this._closedBecause !== null || performance.now() > limit) {
        throw new Error(
          `The observer has ${this._ackedSeq} of ${seq} blocks: ${this._closedBecause ?? 'time is up'}`
        );
      }
      await pause(5);
    }
  }
}

async function secretIn(file: string): Promise<Uint8Array> {
  return Buffer.from((await readFile(file, 'utf8')).trim(), 'hex');
}
