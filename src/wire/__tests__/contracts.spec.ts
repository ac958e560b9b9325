/**
 * docs/contracts.md against the messages: a side that is built from the page reads what the other side sends. The lists of §§4-5 are
 * written (`written-files.spec.ts`); what they mean, and all that stands in other sections, is written by hand.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { schemaForPython } from '../schema-json';

/** In which section a link's messages stand. Panels have theirs in `panel-link.ts` alone. */
const SECTIONS = {
  handshake: 2,
  client: 4,
  worker: 5,
  peer: 5,
  source: 6,
  doorbell: 8
};

const page = readFileSync(
  join(__dirname, '../../../docs/contracts.md'),
  'utf8'
);

function sectionOf(number: number): string {
  const begin = page.indexOf(`\n## ${number}. `);
  const end = page.indexOf('\n## ', begin + 1);
  expect(begin).toBeGreaterThan(-1);
  return page.slice(begin, end === -1 ? undefined : end);
}

/** Without remarks in brackets: `priority f64 (smaller first)`. */
function withoutRemarks(text: string): string {
  let before: string;
  do {
    before = text;
    text = text.replace(/ ?\([^()]*\)/g, '');
  } while (text !== before);
  return text;
}

/** Names of fields, and of those within them. */
function namesIn(fields: Readonly<Record<string, unknown>>): string[] {
  const within = (rule: unknown): string[] => {
    if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) {
      return [];
    }
    return Object.entries(rule).flatMap(([kind, inner]) =>
      kind === 'map'
        ? namesIn(inner as Readonly<Record<string, unknown>>)
        : kind === 'default'
          ? []
          : within(inner)
    );
  };
  return Object.entries(fields).flatMap(([name, rule]) => [
    name,
    ...within(rule)
  ]);
}

const { handshake, links } = schemaForPython();
const messages = Object.entries(SECTIONS).flatMap(([link, section]) =>
  Object.values({ ...links, handshake }[link]!).flatMap(types =>
    Object.entries(types).map(
      ([type, shape]) => [link, type, section, shape] as const
    )
  )
);

it.each(messages)('%s: `%s` stands in section %i', (_, type, number, shape) => {
  const section = sectionOf(number);
  const words = new Set(section.match(/\w+/g));
  expect(words).toContain(type);
  expect(namesIn(shape.fields).filter(name => !words.has(name))).toEqual([]);
  const plain = withoutRemarks(section).replace(/\s+/g, ' ');
  const listed = shape.tables
    // Those of `measured` are the log's, as the page says.
    .filter(() => type !== 'measured')
    .map(([, columns]) => columns.map(pair => pair.join(' ')).join(', '));
  expect(listed.filter(columns => !plain.includes(columns))).toEqual([]);
  const tables = shape.tables.map(([name]) => name);
  expect(tables.filter(name => !words.has(name))).toEqual([]);
});

/** What people wrote: without the lists. */
function byHand(section: string): string {
  return section.replace(/<!-- written: [^]*?<!-- \/written -->/g, '');
}

it.each(messages.filter(([, , number]) => [4, 5].includes(number)))(
  '%s: people say what `%s` means',
  (_, type, number) => {
    const text = byHand(sectionOf(number));
    expect(text).toContain(`\`${type}\``);
  }
);

it.each([4, 5])('section %i lists columns in one place only', number => {
  const lists = /\w+ (?:[ui](?:8|16|32)|f32|f64)\b/g;
  expect(byHand(sectionOf(number)).match(lists) ?? []).toEqual([]);
  expect(sectionOf(number)).toMatch(lists);
});
