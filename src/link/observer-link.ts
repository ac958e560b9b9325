/**
 * The way of the record log to the observer. Blocks are kept in a ring of 64 MiB; an observer gets those that it lacks, and the
 * computation never waits for it. Used in the scheduler process, and beside a Node program that is observed.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { wholeBlock } from '../records/block';
import type { SealedBlock } from '../records/log-writer';
import { HandshakeRefused } from '../wire/handshake';
import type { FieldsInput, Message } from '../wire/schema';
import { dial } from './dial';
import type { Link, LinkRefusal } from './link';
import { ReplayRing, type LogGap } from './replay-ring';
import { readSecret } from './secret-file';

/** While this much is on its way the observer is slow, and sending more gains nothing: blocks wait in the ring. */
const QUEUE_BYTES = 8 * 2 ** 20;
const FIRST_PAUSE_SECONDS = 0.1;
const LONGEST_PAUSE_SECONDS = 2;
/** Time limit for `resume`: an observer that lets this cluster in says at once which blocks it has. */
const RESUME_SECONDS = 10;
/**
 * The codes of refusals that do not pass by themselves. Other refusals (a busy machine, a broken frame) are reported to the user after this many.
 */
const LASTING_REFUSALS: readonly string[] = ['secret', 'protocol'];
const PASSING_REFUSALS = 5;
/** A link that held this long before it was refused was a good one: panels showed the log meanwhile. */
const GOOD_SECONDS = 60;

export type ObserverPlace = {
  readonly address: string;
  readonly secretFile: string;
};

type OpenFields = FieldsInput<'source', 'up', 'open'>;
export type EndReason = FieldsInput<'source', 'up', 'end'>['why'];

type ObserverLinkOptions = {
  /** Asked before each try: where an observer is, or was. */
  place(): ObserverPlace | Promise<ObserverPlace>;
  readonly build: string;
  readonly open: OpenFields;
  /** Rows left the ring before this observer had them. */
  onGap(gaps: readonly LogGap[]): void;
  /** Nobody asks what has been delivered before the log ends: while nobody looks, the observer need not say so each time. */
  readonly isPatient?: boolean;
  /** Whether anybody looks at what this observer has; told when it changes, and at first somebody may. */
  onViewers?(hasViewers: boolean): void;
  /** For the program's own log. */
  note(sentence: string): void;
  /** The observer refused this source, or said something impossible. For the user; called once for each reason. */
  onRefused(sentence: string): void;
  /** For that sentence: who goes on computing, and advice to add to the observer's own. */
  readonly who: string;
  remedy(code: string): string;
  /** How many bytes of blocks are kept. */
  readonly ringBytes?: number;
  /** The same for the tables that outlast the ring. */
  readonly lastingBytes?: number;
  /** How long an observer that has let this cluster in may take to say what it has. */
  readonly resumeSeconds?: number;
  /** How long a link has to hold to be a good one. */
  readonly goodSeconds?: number;
};

export class ObserverLink {
  private readonly _ring: ReplayRing;
  private _link: Link<'source', 'up'> | null = null;
  private _isOpen = false;
  /** Whether this observer reads columns of one value. */
  private _readsConstants = false;
  private _hasViewers = true;
  private _pauseSeconds = FIRST_PAUSE_SECONDS;
  private _retry: NodeJS.Timeout | undefined;
  private _closed = false;
  private _pumpIsDue = false;
  /** Told when something came from the observer, or the link broke. */
  private readonly _onChange = new Set<() => void>();
  private _isConnecting = false;
  private _lastNote = '';
  private _refusedBecause = '';
  /** Refusals in a row. */
  private _refusals = 0;
  /** When the present link was opened. */
  private _openedAt = 0;
  /** Whether the observer has acknowledged a block on it. */
  private _isBelieved = false;
  private _resumeLimit: NodeJS.Timeout | undefined;
  constructor(private readonly _options: ObserverLinkOptions) {
    this._ring = new ReplayRing(_options.ringBytes, _options.lastingBytes);
    void this._connect();
  }

  /**
   * Takes a block; sends it if an observer is connected, in one message with the blocks that were sealed together with it.
   *
   * @param at - seconds since the log's start.
   */
  push(block: SealedBlock, at: number): void {
    this._ring.push(block, at);
    if (!this._pumpIsDue) {
      this._pumpIsDue = true;
      setImmediate(() => {
        this._pumpIsDue = false;
        this._pump();
      });
    }
  }

  /** Waits until an observer is connected, at most `limitSeconds`: for example, the successor of one that has died. */
  opened(limitSeconds: number): Promise<void> {
    return this._wait(
      () => this._isOpen || this._closed,
      performance.now() + limitSeconds * 1000
    );
  }

  /** Waits until the observer has the blocks up to `seq`: at most `limitSeconds`, and only while one is connected. */
  delivered(seq: number, limitSeconds: number): Promise<void> {
    return this._until(
      () => this._ring.acknowledged >= seq,
      performance.now() + limitSeconds * 1000
    );
  }

  /** Sends what is left and why the log ends, waits until the observer has it, at most `limitSeconds`, and closes. */
  async end(
    why: EndReason,
    at: number,
    limitSeconds: number,
    told = ''
  ): Promise<void> {
    const limit = performance.now() + limitSeconds * 1000;
    // A link that is just being opened is waited for; an observer that could not be reached is not.
    await this._until(
      () => this._isOpen && this._ring.sent >= this._ring.newest,
      limit
    );
    if (this._isOpen && this._link !== null) {
      this._link.send('end', { why, at, told });
      this._link.flush();
      await this._until(
        () => this._ring.acknowledged >= this._ring.newest,
        limit
      );
    }
    this.close();
  }

  close(): void {
    this._closed = true;
    clearTimeout(this._retry);
    clearTimeout(this._resumeLimit);
    this._link?.close('The source has ended.');
  }

  private async _connect(): Promise<void> {
    const { build, open } = this._options;
    this._isConnecting = true;
    try {
      const place = await this._options.place();
      const link = await dial({
        address: await currentAddress(place),
        secret: await readSecret(place.secretFile),
        role: 'source',
        build
      });
      if (this._closed) {
        link.close();
        return;
      }
      this._link = link;
      link.start({
        messages: batch => {
          for (const message of batch) {
            const wrong = this._take(message);
            if (wrong !== null) {
              link.refuse('broken-frame', wrong);
              return;
            }
          }
        },
        drained: () => {
          this._pump();
          this._changed();
        },
        closed: why => this._lost(link, why)
      });
      link.send('open', open);
      const seconds = this._options.resumeSeconds ?? RESUME_SECONDS;
      this._resumeLimit = setTimeout(() => {
        // It does not read: what waits would never be sent.
        link.destroy(
          `The observer did not say within ${seconds} s from where to go on.`
        );
      }, seconds * 1000);
    } catch (error) {
      this._isConnecting = false;
      this._changed();
      this._noteOnce(`The observer cannot be reached: ${String(error)}`);
      if (error instanceof HandshakeRefused) {
        this._refusedOnce({
          by: 'them',
          code: error.code,
          sentence: error.sentence
        });
      }
      this._tryAgain();
    }
  }

  /**
   * Returns what is wrong with a message. An observer cannot have blocks that were never sent, and it says `resume` once, before all else:
   * each `resume` makes this side send all blocks again.
   */
  private _take({ type, fields }: Message<'source', 'down'>): string | null {
    if (type === 'resume') {
      if (this._isOpen) {
        return `${type}: the observer has already said what it has.`;
      }
      if (fields.haveSeq > this._ring.mostSent) {
        return notSent(type, fields.haveSeq, this._ring.mostSent);
      }
      this._readsConstants = fields.readsConstants;
      this._resume(fields.haveSeq);
      this._viewed(fields.hasViewers);
    } else if (type === 'ack') {
      if (!this._isOpen) {
        return `${type}: the observer has not yet said what it has.`;
      }
      if (fields.seq > this._ring.sent) {
        return notSent(type, fields.seq, this._ring.sent);
      }
      this._acked(fields.seq);
      this._viewed(fields.hasViewers);
    }
    return null;
  }

  private _viewed(hasViewers: boolean): void {
    if (hasViewers !== this._hasViewers) {
      this._hasViewers = hasViewers;
      this._options.onViewers?.(hasViewers);
    }
  }

  private _resume(haveSeq: number): void {
    this._isOpen = true;
    this._openedAt = performance.now();
    this._isBelieved = false;
    clearTimeout(this._resumeLimit);
    this._ring.resume(haveSeq);
    this._isConnecting = false;
    this._pump();
    this._changed();
  }

  private _acked(seq: number): void {
    this._isBelieved ||= seq > this._ring.acknowledged;
    this._ring.acknowledge(seq);
    this._pump();
    this._changed();
  }

  private _pump(): void {
    const link = this._link;
    if (!this._isOpen || link === null || link.queuedBytes > QUEUE_BYTES) {
      return;
    }
    const blobs = this._ring.take(QUEUE_BYTES);
    if (blobs.length > 0) {
      const known = this._readsConstants ? blobs : blobs.map(wholeBlock);
      // (the first of a link is waited for: it says that the link is a good one)
      const ackMayWait =
        this._options.isPatient === true &&
        this._isBelieved &&
        !this._hasViewers;
      link.send('block', { ackMayWait }, {}, known);
    }
    const gaps = this._ring.takeGaps();
    if (gaps.length > 0) {
      this._options.onGap(gaps);
    }
  }

  private _lost({ refusal }: Link<'source', 'up'>, why: string): void {
    clearTimeout(this._resumeLimit);
    const wasOpen = this._isOpen;
    this._link = null;
    this._isOpen = false;
    this._isConnecting = false;
    this._changed();
    if (this._closed) {
      return;
    }
    const wasGood = wasOpen && this._judge(refusal);
    const note = `The link to the observer ended: ${why}`;
    if (refusal === null) {
      this._options.note(note);
    } else {
      this._noteOnce(note);
      this._refusedOnce(refusal, wasGood);
    }
    this._tryAgain();
  }

  /**
   * Resets the pauses after a good link, and the refusals after a link that nobody refused. After a link that was soon refused pauses go on
   * growing: each new link sends the observer all blocks again.
   *
   * @returns whether the link was a good one.
   */
  private _judge(refusal: LinkRefusal | null): boolean {
    const seconds = (performance.now() - this._openedAt) / 1000;
    const { goodSeconds = GOOD_SECONDS } = this._options;
    const isGood = refusal === null || seconds >= goodSeconds;
    if (refusal === null) {
      this._refusals = 0;
      this._refusedBecause = '';
      this._lastNote = '';
    }
    if (isGood && this._isBelieved) {
      this._pauseSeconds = FIRST_PAUSE_SECONDS;
    }
    return isGood;
  }

  /** There is a try every two seconds, for as long as the cluster lives. */
  private _noteOnce(sentence: string): void {
    if (sentence !== this._lastNote) {
      this._lastNote = sentence;
      this._options.note(sentence);
    }
  }

  private _refusedOnce(
    { code, sentence, by }: LinkRefusal,
    wasGood = false
  ): void {
    this._refusals++;
    // Told apart by its code: its sentence may hold numbers that grow.
    const kind = `${by} ${code}`;
    if (
      kind === this._refusedBecause ||
      (!LASTING_REFUSALS.includes(code) && this._refusals < PASSING_REFUSALS)
    ) {
      return;
    }
    this._refusedBecause = kind;
    // For a wrong protocol the sentence says which side to upgrade; for the rest, both sides have to be restarted.
    const { who } = this._options;
    const advice = this._options.remedy(code);
    const what =
      by === 'us'
        ? 'what the observer says is wrong'
        : 'the observer turned it away';
    const effect = wasGood
      ? 'its panels stand still again and again'
      : 'no panel can show it';
    this._options.onRefused(
      `${who} computes, but ${effect}: ${what}. ${sentence} ${advice}`.trimEnd()
    );
  }

  private _tryAgain(): void {
    if (this._closed) {
      return;
    }
    this._retry = setTimeout(
      () => void this._connect(),
      this._pauseSeconds * 1000
    );
    this._pauseSeconds = Math.min(
      2 * this._pauseSeconds,
      LONGEST_PAUSE_SECONDS
    );
  }

  /** Waits for a condition that the observer's messages may fulfil, and only while one is connected. */
  private _until(condition: () => boolean, limit: number): Promise<void> {
    return this._wait(
      () => condition() || (!this._isOpen && !this._isConnecting),
      limit
    );
  }

  private _wait(condition: () => boolean, limit: number): Promise<void> {
    return new Promise(resolve => {
      const done = (): void => {
        clearTimeout(timer);
        this._onChange.delete(look);
        resolve();
      };
      const timer = setTimeout(done, Math.max(0, limit - performance.now()));
      const look = (): void => {
        if (condition()) {
          done();
        }
      };
      this._onChange.add(look);
      look();
    });
  }

  private _changed(): void {
    [...this._onChange].forEach(look => look());
  }
}

function notSent(type: string, seq: number, sent: number): string {
  return `${type}: the observer cannot have block ${seq} of ${sent}.`;
}

/** The observer's present address: a restarted observer writes it beside its secret. */
async function currentAddress(place: ObserverPlace): Promise<string> {
  try {
    return await readFile(join(dirname(place.secretFile), 'address'), 'utf8');
  } catch {
    return place.address;
  }
}
