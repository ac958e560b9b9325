/** The enumerations as text: the Python module and the tables of docs/contracts.md that `jlpm build:schema` writes. */
import {
  ENUMERATIONS,
  LARGEST_U16,
  LARGEST_U32,
  MEMORY_MEASURES,
  OTHER_TASKS,
  membersOf
} from './enumerations';

const hexadecimal = (value: number): string =>
  `0x${value.toString(16).toUpperCase()}`;

/** `spanwise/records/enumerations.py`. */
export function enumerationsForPython(): string {
  const lines = [
    '"""What the numbers of columns stand for. Written by `jlpm build:schema`: do not edit.',
    '',
    'Described in `src/records/enumerations.ts`; what each means: docs/contracts.md §11.',
    '"""',
    '',
    'from typing import Final',
    '',
    `LARGEST_U16: Final = ${hexadecimal(LARGEST_U16)}`,
    `LARGEST_U32: Final = ${hexadecimal(LARGEST_U32)}`,
    '#: No id, no row, not there: the largest number that the column holds.',
    'NONE_U16: Final = LARGEST_U16',
    'NONE_U32: Final = LARGEST_U32'
  ];
  for (const [name, { members, columns, python, pythonWords }] of described()) {
    if (python === undefined) {
      continue;
    }
    const constant = (word: string): string =>
      `${python}_${word.toUpperCase().replaceAll('-', '_')}`;
    lines.push(
      '',
      `# ${name}: ${columns.join(', ')}`,
      ...members.map(([word, value]) => `${constant(word)}: Final = ${value}`)
    );
    if (pythonWords === true) {
      lines.push(
        `${python}_WORDS: Final = {`,
        ...members.map(([word]) => `    "${word}": ${constant(word)},`),
        '}'
      );
    }
  }
  lines.push(
    '',
    '#: The label of seconds for which a run has waited for other tasks.',
    `OTHER_TASKS: Final = "${OTHER_TASKS}"`,
    '',
    'MEMORY_MEASURES: Final = (',
    ...MEMORY_MEASURES.map(word => `    "${word}",`),
    ')',
    ''
  );
  return lines.join('\n');
}

/** The tables of docs/contracts.md §11. */
export function enumerationsForContracts(): string {
  return described()
    .map(([name, { members, columns, means }]) =>
      [
        `**${name}** · ${columns.join(' · ')}`,
        '',
        '| number | word | meaning |',
        '| --- | --- | --- |',
        ...members.map(
          ([word, value]) => `| ${value} | ${word} | ${means[word]} |`
        ),
        ''
      ].join('\n')
    )
    .join('\n');
}

type Listed = {
  readonly members: readonly (readonly [word: string, value: number])[];
  readonly columns: readonly string[];
  readonly python?: string;
  readonly pythonWords?: boolean;
  readonly means: Readonly<Record<string, string>>;
};

function described(): [name: string, Listed][] {
  return Object.entries(ENUMERATIONS).map(([name, each]) => [
    name,
    {
      ...each,
      members: membersOf<Record<string, string | number>>(each.members)
    }
  ]);
}
