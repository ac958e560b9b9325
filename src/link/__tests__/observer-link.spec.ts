import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Seconds } from '../../base/brand';
import { decodeBlock, type Block } from '../../records/block';
import { BlockBuilder } from '../../records/block-builder';
import type { LaneId, SpanId } from '../../records/ids';
import { LogWriter } from '../../records/log-writer';
import { TABLES } from '../../records/tables';
import { waitFor } from '../../testing/wait-for';
import { Door, type AcceptedLink } from '../door';
import { ObserverLink } from '../observer-link';
import type { LogGap } from '../replay-ring';

const secret = Buffer.alloc(32, 7);
/** Milliseconds between tries. */
const PAUSES = [100, 200, 400, 800, 1600, 2000];

/** A block of `names`. */
function writeName(log: LogWriter): void {
  log.table('names').append({ id: 0, text: 'inc' });
  log.seal();
}

/** A block of `memory` with one row. */
function writeMemory(log: LogWriter, t: number): void {
  log.table('memory').append({
    t,
    worker: 0,
    process: 0,
    managed: 0,
    spilled: 0,
    unmanagedOld: 0
  });
  log.seal();
}

/** A block of `gaps`, as the owner of a link writes it. */
function writeGaps(log: LogWriter, gaps: readonly LogGap[]): void {
  for (const gap of gaps) {
    log.table('gaps').append({ ...gap, why: 'replay ring' });
  }
  log.seal();
}

/** Rows of `memory` that came, and those that `gaps` tell of. */
function rowsAccountedFor(blocks: readonly Block[]): number {
  const came = blocks
    .filter(block => block.table === 'memory')
    .map(block => block.rows);
  const told = blocks
    .filter((block): block is Block<'gaps'> => block.table === 'gaps')
    .flatMap(block => [...block.columns.rows]);
  return [...came, ...told].reduce((sum, rows) => sum + rows, 0);
}

describe('the link to the observer', () => {
  let folder: string;
  let door: Door<'source' | 'panel'> | null = null;
  let link: ObserverLink | null = null;
  let blocks: Block[];
  let gaps: readonly LogGap[];
  let notes: string[];
  let refused: string[];
  /** The observer lets clusters in and says nothing. */
  let isMute: boolean;
  /** What else it says of itself. */
  let viewed: boolean[];
  let reads: {
    readonly readsConstants?: boolean;
    readonly hasViewers?: boolean;
  };
  /** The blocks' bytes. */
  let blobs: Uint8Array[];
  /** Of each message with blocks, whether its acknowledgement may wait. */
  let mayWait: boolean[];
  /** How it answers blocks. */
  let answer: (link: AcceptedLink<'source'>) => void;
  const sources: AcceptedLink<'source'>[] = [];
  let onGap: (gaps: readonly LogGap[]) => void;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spanwise-'));
    await writeFile(join(folder, 'secret'), secret);
    blocks = [];
    gaps = [];
    notes = [];
    refused = [];
    isMute = false;
    reads = {};
    viewed = [];
    blobs = [];
    mayWait = [];
    answer = () => undefined;
    sources.length = 0;
    onGap = () => undefined;
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    link?.close();
    await door?.close();
    await rm(folder, { recursive: true });
  });

  /** An observer that has blocks up to `haveSeq`. */
  async function openDoor(
    haveSeq: number,
    roles: readonly ('source' | 'panel')[] = ['source']
  ): Promise<void> {
    door = await Door.open({
      transport: 'unix',
      folder,
      name: 'observer',
      secret,
      build: 'test',
      roles,
      onLink: accepted => {
        const link = accepted as AcceptedLink<'source'>;
        sources.push(link);
        if (isMute) {
          link.start({ messages: () => undefined, closed: () => undefined });
          return;
        }
        link.start({
          messages: batch =>
            batch.forEach(message => {
              if (message.type === 'open') {
                link.send('resume', { haveSeq, ...reads });
              } else if (message.type === 'block') {
                blobs.push(...message.blobs);
                mayWait.push(message.fields.ackMayWait);
                blocks.push(...message.blobs.map(blob => decodeBlock(blob)));
                answer(link);
              }
            }),
          closed: () => undefined
        });
      }
    });
  }

  /** The observer goes, and its end of every link with it. */
  async function closeDoor(): Promise<void> {
    await door?.close();
    sources.splice(0).forEach(source => source.destroy());
  }

  /** The observer goes, and the cluster sees it. */
  async function breakLink(): Promise<void> {
    await closeDoor();
    await waitFor('the link breaks', () =>
      notes.some(note => note.startsWith('The link to the observer ended'))
    );
  }

  /** How long a link is asked to pause, before each try after the first: how late a timer comes is the machine's doing. */
  function pausesAsked(): () => number[] {
    const timers = jest.spyOn(global, 'setTimeout');
    return () =>
      timers.mock.calls
        .map(([, milliseconds]) => milliseconds ?? 0)
        .filter(milliseconds => PAUSES.includes(milliseconds));
  }

  function openLink(
    lastingBytes?: number,
    goodSeconds?: number,
    resumeSeconds = 60,
    isPatient?: boolean
  ): ObserverLink {
    return new ObserverLink({
      place: () => ({
        address: `unix:${join(folder, 'observer.sock')}`,
        secretFile: join(folder, 'secret')
      }),
      build: 'test',
      open: {
        logId: 'l',
        clusterId: 'c',
        name: 'n',
        kind: 'embedded',
        wallEpoch: 0,
        pid: 1
      },
      onGap: found => {
        gaps = found;
        onGap(found);
      },
      onViewers: hasViewers => viewed.push(hasViewers),
      note: sentence => notes.push(sentence),
      onRefused: sentence => refused.push(sentence),
      who: 'This cluster',
      remedy: () => 'Restart JupyterLab.',
      ringBytes: 2000,
      ...(lastingBytes === undefined ? {} : { lastingBytes }),
      resumeSeconds,
      ...(isPatient === undefined ? {} : { isPatient }),
      ...(goodSeconds === undefined ? {} : { goodSeconds })
    });
  }

  it.each(['resume', 'ack'] as const)(
    'leaves an observer that says it has blocks that were not sent (%s)',
    async type => {
      await openDoor(type === 'resume' ? 4712 : 0);
      const kept = (link = openLink());
      const log = new LogWriter(block => kept.push(block, 1));
      writeMemory(log, 1);
      if (type === 'ack') {
        await waitFor('the block arrives', () => blocks.length === 1);
        sources[0]!.send('ack', { seq: 4712 });
      }
      await waitFor('the link breaks', () =>
        notes.some(note => note.includes('cannot have block 4712'))
      );
      // It comes back, and believes what is possible.
      await closeDoor();
      blocks = [];
      await openDoor(0);
      await waitFor('the block comes again', () => blocks.length > 0);
      await link.opened(30);
    }
  );

  it('leaves an observer that acknowledges blocks before it says what it has', async () => {
    await openDoor(0);
    const kept = (link = openLink());
    const log = new LogWriter(block => kept.push(block, 1));
    writeMemory(log, 1);
    await waitFor('the block arrives', () => blocks.length === 1);
    await breakLink();
    isMute = true;
    await openDoor(0);
    await waitFor('the next', () => sources.length === 1);
    sources[0]!.send('ack', { seq: 1 });
    await waitFor('the link breaks', () =>
      notes.some(note => note.includes('has not yet said what it has'))
    );
  });

  it('leaves an observer that says it has blocks that wait here', async () => {
    const kept = (link = openLink());
    const log = new LogWriter(block => kept.push(block, 1));
    for (let t = 1; t <= 3; t++) {
      writeMemory(log, t);
    }
    await openDoor(3);
    await waitFor('the link breaks', () =>
      notes.some(note => note.includes('cannot have block 3 of 0'))
    );
    await closeDoor();
    await openDoor(0);
    await waitFor('all blocks', () => rowsAccountedFor(blocks) === 3);
  });

  it.each<[string, string, (link: AcceptedLink<'source'>) => void]>([
    [
      'says what cannot be',
      'what the observer says is wrong. ack: the observer cannot have block 4712 of 1.',
      link => link.send('ack', { seq: 4712 })
    ],
    [
      'is right once and then wrong',
      'what the observer says is wrong. ack: the observer cannot have block 4712 of 1.',
      link => {
        link.send('ack', { seq: 1 });
        link.send('ack', { seq: 4712 });
      }
    ],
    [
      'asks for all blocks with each',
      'what the observer says is wrong. resume: the observer has already said what it has.',
      link => link.send('resume', { haveSeq: 0 })
    ],
    [
      'refuses each block',
      'the observer turned it away. I cannot read this.',
      link => link.refuse('broken-frame', 'I cannot read this.')
    ]
  ])(
    'comes back more and more seldom to an observer that %s, and tells of it',
    async (_what, sentence, answers) => {
      answer = answers;
      await openDoor(0);
      const pauses = pausesAsked();
      link = openLink();
      const log = new LogWriter(block => link!.push(block, 0));
      writeName(log);
      await waitFor('the sentence', () => refused.length > 0);
      expect(pauses()).toEqual([100, 200, 400, 800, 1600]);
      expect(sources).toHaveLength(5);
      expect(refused).toEqual([
        `This cluster computes, but no panel can show it: ${sentence} Restart JupyterLab.`
      ]);
      expect(notes).toHaveLength(1);
      // One that is right is told nothing of, and its successor is looked for at once.
      answer = right => right.send('ack', { seq: 1 });
      await waitFor('the sixth', () => sources.length === 6);
      await link.opened(30);
      await link.delivered(1, 30);
      notes = [];
      const asked = pauses().length;
      await breakLink();
      await openDoor(0);
      await waitFor('the successor', () => sources.length === 1);
      expect(pauses()[asked]).toBe(100);
      expect(refused).toHaveLength(1);
    }
  );

  it('tells of an observer that refuses again and again, however late each time', async () => {
    answer = right => {
      right.send('ack', { seq: 1 });
      setTimeout(() => right.refuse('broken-frame', 'Enough.'), 60);
    };
    await openDoor(0);
    link = openLink(undefined, 0.05);
    writeName(new LogWriter(block => link!.push(block, 0)));
    await waitFor('the sentence', () => refused.length > 0);
    expect(sources.length).toBe(5);
    await waitFor('two more', () => sources.length >= 7);
    expect(refused).toEqual([
      'This cluster computes, but its panels stand still again and again: the observer turned it away. Enough. Restart JupyterLab.'
    ]);
  });

  it('tells once of what is wrong with another number each time', async () => {
    answer = wrong => wrong.send('ack', { seq: 1000 + sources.length });
    await openDoor(0);
    link = openLink();
    writeName(new LogWriter(block => link!.push(block, 0)));
    await waitFor('seven tries', () => notes.length >= 7);
    expect(refused).toEqual([
      expect.stringContaining('the observer cannot have block 1005 of 1.')
    ]);
  });

  it('gives blocks whole to an observer that does not read columns of one value', async () => {
    const builder = new BlockBuilder('running');
    const sealed = (constantFrom: number): Uint8Array<ArrayBuffer> => {
      for (const lane of [1, 2, 3] as LaneId[]) {
        const span = 4 as SpanId;
        const started = 0.5 as Seconds;
        builder.append({ lane, node: 2, function: 3, span, started });
      }
      return builder.seal(1, constantFrom);
    };
    const [short, whole] = [sealed(1), sealed(Infinity)];
    expect(short.length).toBeLessThan(whole.length);
    await openDoor(0);
    link = openLink();
    link.push({ seq: 1, bytes: short }, 0);
    await waitFor('the block comes', () => blobs.length === 1);
    reads = { readsConstants: true };
    // The one that comes next reads them.
    sources.splice(0).forEach(source => source.destroy());
    await waitFor('the block comes again', () => blobs.length === 2);
    expect(blobs.map(blob => [...blob])).toEqual([[...whole], [...short]]);
    expect(decodeBlock(blobs[1]!).columns).toEqual(
      decodeBlock(blobs[0]!).columns
    );
  });

  it.each([
    [true, [false, true, false, true, false]],
    [undefined, [false, false, false, false, false]]
  ])(
    'lets acknowledgements wait while nobody looks, but for the first of a link, if its owner is patient: %s',
    async (isPatient, expected) => {
      reads = { hasViewers: false };
      let seq = 0;
      let hasViewers = false;
      answer = source => source.send('ack', { seq: ++seq, hasViewers });
      await openDoor(0);
      link = openLink(undefined, undefined, 60, isPatient);
      const log = new LogWriter(block => link!.push(block, 0));
      writeMemory(log, 0);
      await link.delivered(1, 60);
      // The answer to the second says that somebody looks.
      hasViewers = true;
      writeMemory(log, 1);
      await link.delivered(2, 60);
      hasViewers = false;
      writeMemory(log, 2);
      await link.delivered(3, 60);
      writeMemory(log, 3);
      await link.delivered(4, 60);
      seq = 3;
      sources.splice(0).forEach(source => source.destroy());
      await waitFor('all comes again', () => mayWait.length === 5);
      expect(mayWait).toEqual(expected);
    }
  );

  it('tells whether anybody looks when that changes; of an observer that does not say it somebody may', async () => {
    reads = { hasViewers: false };
    answer = source => source.send('ack', { seq: 1, hasViewers: false });
    await openDoor(0);
    link = openLink();
    const log = new LogWriter(block => link!.push(block, 0));
    writeMemory(log, 0);
    await link.delivered(1, 60);
    expect(viewed).toEqual([false]);
    sources[0]!.send('ack', { seq: 1, hasViewers: true });
    await waitFor('a viewer is told of', () => viewed.length === 2);
    sources[0]!.send('ack', { seq: 1, hasViewers: false });
    await waitFor('nobody looks', () => viewed.length === 3);
    reads = {};
    answer = () => undefined;
    sources.splice(0).forEach(source => source.destroy());
    await waitFor('an observer of before comes', () => viewed.length === 4);
    expect(viewed).toEqual([false, true, false, true]);
  });

  it('keeps names for an observer that comes when the rows that use them are gone', async () => {
    link = openLink();
    const kept = link;
    let at = 0;
    const log = new LogWriter(block => kept.push(block, at));
    writeName(log);
    for (at = 1; at <= 50; at++) {
      writeMemory(log, at);
    }
    await openDoor(0);
    const newest = await waitFor(
      'the newest block',
      () => blocks.at(-1)?.seq === log.seq && blocks
    );
    expect(newest[0]!.table).toBe('names');
    const memory = blocks.length - 1;
    expect(memory).toBeLessThan(50);
    expect(gaps).toEqual([
      {
        table: TABLES.memory.number,
        rows: 50 - memory,
        from: 1,
        to: 50 - memory
      }
    ]);
    // However often it tried, it said once that nobody was there.
    expect(new Set(notes).size).toBe(notes.length);
  });

  it('says once, with what to do, that the observer turned it away', async () => {
    await openDoor(0);
    await writeFile(join(folder, 'secret'), Buffer.alloc(32, 8));
    link = openLink();
    await waitFor('a second try', () => notes.length > 0 && refused.length > 0);
    expect(refused).toEqual([
      expect.stringMatching(
        /^This cluster computes, but no panel can show it.*Restart JupyterLab/
      )
    ]);
    // It goes on trying: the next observer may hold its secret.
    await writeFile(join(folder, 'secret'), secret);
    await waitFor('the link', () => sources.length > 0);
    expect(refused).toHaveLength(1);
  });

  it('says so again when an observer that had let it in turns it away', async () => {
    await openDoor(0);
    await writeFile(join(folder, 'secret'), Buffer.alloc(32, 8));
    link = openLink();
    await waitFor('the first refusal', () => refused.length === 1);
    await writeFile(join(folder, 'secret'), secret);
    const log = new LogWriter(block => link!.push(block, 0));
    writeName(log);
    await waitFor('the link', () => blocks.length > 0);
    await writeFile(join(folder, 'secret'), Buffer.alloc(32, 8));
    sources[0]!.destroy();
    await waitFor('the second refusal', () => refused.length === 2);
  });

  it('tells of a refusal that may pass when it has come several times', async () => {
    await openDoor(0, ['panel']);
    const pauses = pausesAsked();
    link = openLink();
    await waitFor('the sentence', () => refused.length > 0);
    expect(pauses().slice(0, 4)).toEqual([100, 200, 400, 800]);
    expect(refused).toEqual([expect.stringContaining('not for "source"')]);
  });

  it('tries again when an observer lets it in and says nothing', async () => {
    isMute = true;
    await openDoor(0);
    link = openLink(undefined, undefined, 1);
    await waitFor('a second link', () => sources.length > 1);
    expect(notes).toContainEqual(
      expect.stringContaining('did not say within 1 s')
    );
    isMute = false;
    const log = new LogWriter(block => link!.push(block, 0));
    writeName(log);
    await waitFor('the block', () => blocks.length > 0);
  });

  it('tells of rows that were sent, left the ring, and never arrived', async () => {
    await openDoor(0);
    link = openLink();
    const kept = link;
    await waitFor('the link', () => sources.length > 0);
    const log = new LogWriter(block => kept.push(block, 0));
    // One after another, so that each is sent before it leaves the ring. None is acknowledged.
    for (let written = 1; written <= 50; written++) {
      writeMemory(log, 0);
      await waitFor('the block', () => blocks.length === written);
    }
    expect(gaps).toEqual([]);
    await breakLink();
    blocks = [];
    // The same observer, which got ten of them.
    await openDoor(10);
    await waitFor('the newest block', () => blocks.at(-1)?.seq === log.seq);
    await waitFor('the gap', () => gaps.length > 0);
    expect(blocks.length).toBeLessThan(40);
    expect(gaps).toMatchObject([
      { table: TABLES.memory.number, rows: 40 - blocks.length }
    ]);
  });

  it('tells again of a gap when the rows that told of it are lost themselves', async () => {
    // Room for one block of gaps alone.
    link = openLink(1);
    const kept = link;
    const log = new LogWriter(block => kept.push(block, 0));
    onGap = found => writeGaps(log, found);
    const comeAndGo = async (haveSeq: number): Promise<void> => {
      await closeDoor();
      blocks = [];
      await openDoor(haveSeq);
      await waitFor('the link', () => sources.length > 0);
    };
    let written = 0;
    const write = async (): Promise<void> => {
      writeMemory(log, 0);
      written++;
      // Sent before it leaves the ring; never acknowledged.
      await waitFor('the block', () => blocks.at(-1)?.seq === log.seq);
    };
    await comeAndGo(0);
    for (let i = 0; i < 50; i++) {
      await write();
    }
    for (let round = 0; round < 3; round++) {
      // The same observer, which took in ten blocks and lost the others with each link.
      await comeAndGo(10);
      await waitFor('the newest block', () => blocks.at(-1)?.seq === log.seq);
      expect(rowsAccountedFor(blocks)).toBe(written - 10);
      for (let i = 0; i < 50; i++) {
        await write();
      }
    }
  });

  it('tells of each missing row once, however many observers come', async () => {
    link = openLink();
    const kept = link;
    let at = 0;
    const log = new LogWriter(block => kept.push(block, at));
    onGap = found => writeGaps(log, found);
    let written = 0;
    for (let observers = 1; observers <= 4; observers++) {
      for (const end = at + 30; at < end; at++, written++) {
        writeMemory(log, at);
      }
      await openDoor(0);
      await waitFor('the newest block', () => blocks.at(-1)?.seq === log.seq);
      expect(rowsAccountedFor(blocks)).toBe(written);
      await breakLink();
      notes = [];
      blocks = [];
    }
  });
});
