import { DEFAULT_SPAN } from '../../records/ids';
import { decodeBlock } from '../../records/block';
import { LAST_SPAN, LocalLog } from '../local-log';

/** What a log has written: names by id, keys by node, spans' tags by id. */
function written(mostNames?: number) {
  const names: string[] = [];
  const keys: string[] = [];
  const tags = new Map<number, string>();
  let spanRows = 0;
  const log = new LocalLog(
    0,
    ({ bytes }) => {
      const block = decodeBlock(bytes);
      for (let row = 0; row < block.rows; row++) {
        if (block.table === 'names') {
          names[block.columns.id[row]!] = block.columns.text.at(row);
        } else if (block.table === 'nodes') {
          const { group, suffix } = block.columns;
          keys.push(names[group[row]!]! + suffix.at(row));
        } else if (block.table === 'spans') {
          spanRows++;
          tags.set(block.columns.id[row]!, names[block.columns.tag[row]!]!);
        }
      }
    },
    mostNames
  );
  return { log, names, keys, tags, spanRows: () => spanRows };
}

describe('a local log', () => {
  it('keeps its size and its keys when names never end', () => {
    const { log, names, keys } = written(10);
    const wanted = Array.from({ length: 1000 }, (_, at) => `token${at}-1`);
    for (const key of wanted) {
      const [group, rest] = [key.slice(0, -2), '-1'];
      log.node({ group, rest, functionName: group, span: DEFAULT_SPAN }, 0);
    }
    log.seal();
    expect(keys).toEqual(wanted);
    expect(names.length).toBeLessThanOrEqual(13);
    expect(names).toContain('(others)');
  });

  it('writes one row for all spans beyond what ids can tell', () => {
    const { log, tags, spanRows } = written();
    for (let at = 1; at <= LAST_SPAN + 1000; at++) {
      const id = log.span(DEFAULT_SPAN, `span ${at % 7}`, 1);
      expect(id).toBe(Math.min(at, LAST_SPAN));
    }
    log.seal();
    // The default one, and one for each id.
    expect(spanRows()).toBe(1 + LAST_SPAN);
    expect(tags.get(LAST_SPAN)).toBe('(others)');
    expect(tags.get(LAST_SPAN - 1)).toBe(`span ${(LAST_SPAN - 1) % 7}`);
  });
});
