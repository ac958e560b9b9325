/** The messages of a link as text: what `jlpm build:schema` writes into docs/contracts.md. What each means stands there, beside it. */
import { ENUMERATIONS } from '../records/enumerations';
import type { Direction } from './describe';
import type { LinkName } from './schema';
import { schemaForPython, type Kind } from './schema-json';

/** A line fits a terminal of 100 columns. */
const WIDTH = 98;

/** A block of code that names every message, its fields and its tables. */
export function messagesForContracts(
  link: LinkName,
  direction: Direction
): string {
  const lines = Object.entries(
    schemaForPython().links[link]![direction]!
  ).flatMap(([type, { fields, tables }]) => [
    ...wrapped(
      Object.keys(fields).length === 0 ? type : `${type}:`,
      fieldTexts(fields, `${type}.`)
    ),
    ...tables.flatMap(([table, columns]) =>
      wrapped(
        `  ${table}:`,
        columns.map(([column, number]) =>
          columnText(`${type}.${table}.${column}`, column, number)
        )
      )
    )
  ]);
  return ['```text', ...lines, '```', ''].join('\n');
}

function fieldTexts(
  fields: Readonly<Record<string, Kind>>,
  within: string
): string[] {
  return Object.entries(fields).map(([name, kind]) =>
    fieldText(name, kind, `${within}${name}`)
  );
}

/** Marks a field that may be left out: with `?`, or with its default. */
function fieldText(name: string, kind: Kind, path: string): string {
  if (typeof kind === 'string' || kind.optional === undefined) {
    return `${name} ${kindText(kind, path)}`;
  }
  const left = kindText(kind.optional as Kind, path);
  return kind.default === undefined
    ? `${name}? ${left}`
    : `${name} ${left} = ${JSON.stringify(kind.default)}`;
}

function kindText(kind: Kind, path: string): string {
  if (typeof kind === 'string') {
    return kind;
  }
  const [[word, inner]] = Object.entries(kind) as [[string, unknown]];
  switch (word) {
    case 'integer':
    case 'number':
      return word;
    case 'nullable':
      return `${kindText(inner as Kind, path)}|null`;
    case 'list':
      return `[${kindText(inner as Kind, `${path}[]`)}]`;
    case 'texts':
      return `{text: ${kindText(inner as Kind, path)}}`;
    case 'map':
      return `{${fieldTexts(inner as Readonly<Record<string, Kind>>, `${path}.`).join(', ')}}`;
    case 'oneOf':
      return enumerationOf(path) ?? (inner as unknown[]).join('|');
    case 'either':
      return (inner as Kind[]).map(each => kindText(each, path)).join('|');
    default:
      throw new TypeError(`docs/contracts.md has no word for "${word}".`);
  }
}

function columnText(path: string, column: string, number: string): string {
  const named = enumerationOf(path);
  return `${column} ${number}${named === undefined ? '' : ` (${named})`}`;
}

/**
 * The enumeration of a column or field, which lists the places of its numbers: `finished.runs.status`, or `spans[].origin` of any message.
 */
function enumerationOf(path: string): string | undefined {
  return Object.entries(ENUMERATIONS).find(([, { columns }]) =>
    (columns as readonly string[]).some(column =>
      `.${path}\``.endsWith(column.replace('`', '.'))
    )
  )?.[0];
}

/** The items after what they belong to, separated by commas, in lines that fit; those that follow are indented. */
function wrapped(head: string, items: readonly string[]): string[] {
  const indent = `${/^ */.exec(head)![0]}    `;
  const lines: string[] = [];
  let line = head;
  items.forEach((item, i) => {
    const comma = i < items.length - 1 ? ',' : '';
    const words = `${item}${comma}`.split(' ');
    const whole = `${line} ${item}${comma}`;
    if (whole.length <= WIDTH) {
      line = whole;
      return;
    }
    if (line !== head) {
      lines.push(line);
      line = indent.slice(1);
    }
    // One that is longer than a line is cut between its words.
    for (const word of words) {
      if (`${line} ${word}`.length > WIDTH) {
        lines.push(line);
        line = indent.slice(1);
      }
      line = `${line} ${word}`;
    }
  });
  return [...lines, line];
}
