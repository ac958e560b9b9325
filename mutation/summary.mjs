/**
 * Writes what the tests did not see into survivors.md: a table of scores by file, then a line for each defect.
 *
 *     node mutation/summary.mjs REPORT SURVIVORS
 *
 * The score is what was seen, of what tests can see: defects that end in an error of the compiler or at once are left out.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const [report, survivors] = process.argv.slice(2);
const SEEN = ['Killed', 'Timeout'];
const UNSEEN = ['Survived', 'NoCoverage'];
const MOST_CHARACTERS = 60;

const { files } = JSON.parse(readFileSync(report, 'utf8'));
const rows = [];
const lines = [];
let allSeen = 0;
let all = 0;
for (const [file, { source, mutants }] of Object.entries(files).sort()) {
  const seen = mutants.filter(({ status }) => SEEN.includes(status)).length;
  const unseen = mutants.filter(({ status }) => UNSEEN.includes(status));
  if (seen + unseen.length === 0) {
    continue;
  }
  allSeen += seen;
  all += seen + unseen.length;
  rows.push(`| \`${file}\` | ${share(seen, seen + unseen.length)} |`);
  const text = source.split('\n');
  for (const { location, replacement, status } of unseen) {
    const { line } = location.start;
    lines.push(
      `* \`${file}:${line}\` ${status === 'NoCoverage' ? '(no test runs it) ' : ''}` +
        `${code(text[line - 1])} → ${code(replacement ?? '')}`
    );
  }
}
writeFileSync(
  survivors,
  [
    '# Planted defects that no test saw',
    '',
    `Of ${all} defects ${share(allSeen, all)} were seen. Made by \`bash scripts/mutate\`.`,
    '',
    '| file | seen |',
    '| --- | ---: |',
    ...rows,
    '',
    ...lines,
    ''
  ].join('\n')
);
process.stdout.write(
  `${share(allSeen, all)} of ${all} defects were seen; the others: ${survivors}\n`
);

function share(part, whole) {
  return `${Math.round((100 * part) / Math.max(whole, 1))} %`;
}

function code(text) {
  const short = text.replace(/\s+/g, ' ').trim().replaceAll('`', "'");
  return `\`${short.length > MOST_CHARACTERS ? `${short.slice(0, MOST_CHARACTERS)}…` : short}\``;
}
