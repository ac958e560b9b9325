import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Direction } from '../describe';
import { FrameDecoder } from '../frame';
import type { LinkName } from '../schema';

const folder = join(__dirname, '../../testing/gallery/frames');
const names = readdirSync(folder)
  .filter(file => file.endsWith('.bin'))
  .map(file => file.slice(0, -'.bin'.length));

type Described = {
  link: LinkName;
  direction: Direction;
  type: string;
  fields: Record<string, unknown>;
  tables: Record<string, Record<string, number[]>>;
  blobs: string[];
};

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, inner: unknown) =>
      inner instanceof Uint8Array ? hex(inner) : inner
    )
  );

describe('the gallery', () => {
  it('has samples', () => {
    expect(names.length).toBeGreaterThanOrEqual(9);
  });

  it.each(names)('%s is read as described', name => {
    const described = JSON.parse(
      readFileSync(join(folder, `${name}.json`), 'utf8')
    ) as Described;
    const body = new Uint8Array(readFileSync(join(folder, `${name}.bin`)));
    const message = new FrameDecoder(
      described.link,
      described.direction
    ).decode(body);
    expect(message.type).toBe(described.type);
    expect(plain(message.fields)).toMatchObject(described.fields);
    expect(message.blobs.map(hex)).toEqual(described.blobs);
    for (const [table, columns] of Object.entries(described.tables)) {
      const read = (message.tables as Described['tables'])[table];
      for (const [column, values] of Object.entries(columns)) {
        expect(Array.from(read?.[column] ?? [])).toEqual(values);
      }
    }
  });
});
