import fc from 'fast-check';
import { decodeBlock } from '../block';
import {
  BUSY_SEAL_SECONDS,
  LogWriter,
  SEAL_SECONDS,
  UNSEEN_SEAL_SECONDS
} from '../log-writer';
import { TABLES, type TableName } from '../tables';

const SEAL_BYTES = 512 * 1024;

// Drawn in any order, sealed in that of their numbers.
const tables = ['edges', 'memorySamples', 'stored', 'names'] as const;
type Drawn = (typeof tables)[number];

const rowBytes = (table: Drawn): number =>
  Object.values<string>(TABLES[table].columns).reduce(
    (sum, type) =>
      sum +
      ({ u8: 1, u16: 2, u32: 4, i32: 4, f32: 4, f64: 8, text: 4 }[type] ?? NaN),
    0
  );

const anyCommit = fc.record({
  // In 1/64 s, which add up exactly; 50 ms are a little more than three.
  wait: fc.oneof(fc.nat(5), fc.nat(40)),
  hasViewers: fc.boolean(),
  rows: fc.array(
    fc.record({
      table: fc.constantFrom(...tables),
      rows: fc.oneof(
        { arbitrary: fc.nat(5), weight: 5 },
        // Some of them fill a table.
        fc.integer({ min: 16_000, max: 48_000 })
      ),
      text: fc.constantFrom('', 'é', 'inc')
    }),
    { maxLength: 3 }
  )
});

describe('a log', () => {
  it('seals what is open when a table is full or a row has waited long enough', () => {
    fc.assert(
      fc.property(fc.array(anyCommit, { maxLength: 12 }), commits => {
        const sealed: { seq: number; table: TableName; rows: number }[] = [];
        const writer = new LogWriter(({ seq, bytes }) => {
          const block = decodeBlock(bytes);
          expect(block.seq).toBe(seq);
          sealed.push({ seq, table: block.table, rows: block.rows });
        });
        const expected: typeof sealed = [];
        const open = new Map<Drawn, { rows: number; bytes: number }>();
        let since: number | null = null;
        let sealedAt = -Infinity;
        let now = 100;
        for (const { wait, rows: added, hasViewers } of commits) {
          now += wait / 64;
          writer.hasViewers = hasViewers;
          for (const { table, rows, text } of added) {
            const builder = writer.table(table);
            const of = open.get(table) ?? { rows: 0, bytes: 0 };
            builder.grow(rows);
            of.rows += rows;
            of.bytes += rows * rowBytes(table);
            for (const [column, type] of Object.entries<string>(
              TABLES[table].columns
            )) {
              for (let row = 0; type === 'text' && row < rows; row++) {
                builder.addText(column, text);
                of.bytes += Buffer.byteLength(text);
              }
            }
            open.set(table, of);
            expect(builder.rows).toBe(of.rows);
            expect(builder.byteLength).toBe(of.bytes);
          }
          const isOpen = [...open.values()].some(({ rows }) => rows > 0);
          since = isOpen ? (since ?? now) : null;
          const due =
            since === null
              ? null
              : hasViewers
                ? Math.max(since + SEAL_SECONDS, sealedAt + BUSY_SEAL_SECONDS)
                : since + UNSEEN_SEAL_SECONDS;
          const isFull = [...open.values()].some(
            ({ bytes }) => bytes >= SEAL_BYTES
          );
          if (due !== null && (isFull || now >= due)) {
            const full = [...open]
              .filter(([, { rows }]) => rows > 0)
              .sort(([a], [b]) => TABLES[a].number - TABLES[b].number);
            for (const [table, { rows }] of full) {
              expected.push({ seq: expected.length + 1, table, rows });
            }
            open.clear();
            since = null;
            sealedAt = now;
          }
          expect(writer.commit(now)).toBe(since === null ? null : due);
          expect(sealed).toEqual(expected);
          expect(writer.seq).toBe(expected.length);
        }
      }),
      { numRuns: 60 }
    );
  });

  it('is full with 512 KiB, and not with a row less', () => {
    const seqs: number[] = [];
    const writer = new LogWriter(({ seq }) => seqs.push(seq));
    // Of 4 bytes each.
    writer.table('edges').grow(SEAL_BYTES / 4 - 1);
    expect(writer.commit(7)).toBe(7 + SEAL_SECONDS);
    writer.table('edges').grow();
    expect(writer.commit(7)).toBeNull();
    expect(seqs).toEqual([1]);
  });

  it('seals at once what it is told to, and says the number of the newest block', () => {
    const seqs: number[] = [];
    const writer = new LogWriter(({ seq }) => seqs.push(seq));
    expect(writer.seal()).toBe(0);
    writer.table('edges').append({ node: 1 });
    writer.table('names').append({ id: 0, text: 'a' });
    expect(writer.commit(1)).toBe(1 + SEAL_SECONDS);
    expect(writer.seal()).toBe(2);
    expect(seqs).toEqual([1, 2]);
    // Rows that come later wait from then on.
    writer.table('edges').append({ node: 2 });
    expect(writer.commit(9)).toBe(9 + SEAL_SECONDS);
  });

  it('is sealed five times a second while rows come, and soon after a rest', () => {
    const times: number[] = [];
    let now = 0;
    const writer = new LogWriter(() => times.push(now));
    let due: number | null = null;
    const until = (end: number, isBusy: boolean): void => {
      for (; now < end; now += 1 / 1024) {
        if (isBusy) {
          writer.table('edges').append({ node: 1 });
          due = writer.commit(now);
        } else if (due !== null && now >= due) {
          due = writer.commit(now);
        }
      }
    };
    until(2, true);
    const busy = times.length;
    expect(busy).toBeGreaterThanOrEqual(9);
    expect(busy).toBeLessThanOrEqual(11);
    until(4, false);
    // The last rows.
    expect(times).toHaveLength(busy + 1);
    writer.table('edges').append({ node: 1 });
    expect(writer.commit(now)).toBe(now + SEAL_SECONDS);
  });

  it('is sealed once after a short computation that nobody looks at, and no row waits longer than one may be lost', () => {
    const times: number[] = [];
    const writer = new LogWriter(() => times.push(now));
    writer.hasViewers = false;
    let now = 100;
    let due: number | null = null;
    // Its tasks, what their release says 60 ms later, what its workers measure.
    for (const at of [100, 100.02, 100.08, 100.2]) {
      now = at;
      if (due !== null && now >= due) {
        writer.commit(now);
      }
      writer.table('edges').append({ node: 1 });
      due = writer.commit(now);
      expect(due).toBe(100 + UNSEEN_SEAL_SECONDS);
    }
    now = 100 + UNSEEN_SEAL_SECONDS;
    expect(writer.commit(now)).toBeNull();
    expect(times).toEqual([now]);
    // Somebody comes: what is open is shown soon.
    now += 1;
    writer.table('edges').append({ node: 2 });
    expect(writer.commit(now)).toBe(now + UNSEEN_SEAL_SECONDS);
    writer.hasViewers = true;
    expect(writer.commit(now)).toBe(now + SEAL_SECONDS);
  });

  it('has no other tables', () => {
    const writer = new LogWriter(() => undefined);
    expect(() => writer.table('none' as TableName)).toThrow(TypeError);
  });
});
