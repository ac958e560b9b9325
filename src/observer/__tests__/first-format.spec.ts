/** A log that was written when numbers of spans were u16: its spans and figures are there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeBlock } from '../../records/block';
import { blockRows } from '../store/block-rows';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { ask } from './ask';

it('a log of the first format opens with all that it says of spans', () => {
  const log = new LogStore('old');
  const folder = join(__dirname, '../../testing/gallery/first-format');
  const bytes = new Uint8Array(readFileSync(join(folder, 'log.bin')));
  for (let at = 0; at < bytes.length;) {
    const block = decodeBlock(bytes.subarray(at));
    ingestBlock(log, blockRows(block));
    at += block.byteLength;
  }
  const { rows } = ask(log, 'spans', { params: { all: true } });
  expect(rows).toMatchObject([
    { span: 1, id: 'one', parent: null, path: ['load'], ownReused: 2 },
    { span: 2, id: 'two', parent: 1, path: ['load', 'clean'], running: 1 },
    { span: 65_534, id: 'span-65534', parent: null, path: ['clean'] }
  ]);
  expect(rows.map(({ ownTasks }) => ownTasks)).toEqual([1, 1, 1]);
  const { entries = [] } = ask(log, 'fine-metrics', {
    filter: { spans: { any: [{ path: [], id: 'two' }] } },
    params: { entries: true }
  });
  expect(entries.length).toBeGreaterThan(0);
});
