/** Figures over time as curves: the values at the pointer in words, and all points as a table. */
import { shownText } from '../../base/shown-text';
import { axisTicks } from '../../panels/task-stream/figure';
import { formatInstant } from '../../panels/format';
import type { CurvesSection } from '../content';
import { element } from './elements';
import { textOf } from './shown';
import { tableOf } from './table';

type Chart = CurvesSection['charts'][number];
type Line = Chart['lines'][number];

const SVG = 'http://www.w3.org/2000/svg';
/** The drawing's own coordinates, which are stretched to the element. */
const WIDTH = 1000;
const HEIGHT = 100;
/** Ticks are placed for a page this wide. */
const USUAL_PX = 900;
const COLOURS = 12;
/** Lines that are named beside the pointer. */
const MOST_SAID = 8;
/** Rows of the table beyond this would keep a browser busy for seconds. */
const MOST_TABLE_ROWS = 20_000;

const POINT = 'Point at a curve for its values.';

export function curvesElement(section: CurvesSection): HTMLElement {
  const { charts, columns, rows, title } = section;
  return element(
    'div',
    { class: 'curves' },
    legend(section),
    ...charts.map(chart => chartElement(section, chart)),
    tableOf(
      columns,
      rows.map(cells => ({ cells })),
      title
    ),
    pointsElement(section)
  );
}

/** The same line has the same colour in all charts. */
function colourOf({ lines }: CurvesSection, line: number): string {
  return lines.length > COLOURS
    ? 'var(--sw-fn-other)'
    : `var(--sw-fn-${line + 1})`;
}

function legend(section: CurvesSection): HTMLElement {
  const { lines } = section;
  return element(
    'p',
    { class: 'legend' },
    ...(lines.length > COLOURS
      ? [`${lines.length} lines; point at one for its name.`]
      : lines.map((name, line) =>
          element(
            'span',
            {},
            element('b', { style: `background: ${colourOf(section, line)}` }),
            element('bdi', {}, textOf(name))
          )
        ))
  );
}

function chartElement(section: CurvesSection, chart: Chart): HTMLElement {
  const { seconds } = section;
  const top = highestOf(chart);
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute(
    'aria-label',
    shownText(
      `${chart.title}, at most ${valueText(chart, top)}; a table of it is below`
    )
  );
  const ticks = axisTicks({ from: 0, to: seconds }, USUAL_PX);
  for (const { x } of ticks) {
    const place = (WIDTH * x) / USUAL_PX;
    svg.append(
      path(`M${place} 0V${HEIGHT}`, { class: 'tick', stroke: 'var(--line)' })
    );
  }
  chart.lines.forEach(line => {
    svg.append(
      path(pathOf(line, seconds, top), {
        class: 'curve',
        stroke: colourOf(section, line.line)
      })
    );
  });
  const said = element('output', { 'aria-live': 'polite' }, POINT);
  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect();
    const share = (event.clientX - box.left) / Math.max(1, box.width);
    said.textContent = shownText(wordsAt(section, chart, share * seconds));
  });
  svg.addEventListener('pointerleave', () => {
    said.textContent = shownText(POINT);
  });
  return element(
    'figure',
    {},
    element(
      'figcaption',
      {},
      element('b', {}, chart.title),
      ` up to ${valueText(chart, top)} · `,
      said
    ),
    svg,
    element(
      'div',
      { class: 'ticks', 'aria-hidden': 'true' },
      ...ticks.map(({ x, text }) =>
        element(
          'span',
          { style: `left: ${tickPlace(x / USUAL_PX, text)}` },
          text
        )
      )
    )
  );
}

/** Half of a letter, at the widest in the mean: a page is shown in whatever font there is. */
const HALF_LETTER_EM = 0.3;

/** Where the middle of a word stands: at its tick, or as near to it as leaves the word whole. */
function tickPlace(share: number, text: string): string {
  const half = `${(text.length * HALF_LETTER_EM).toFixed(1)}em`;
  return `clamp(${half}, ${100 * share}%, 100% - ${half})`;
}

function path(
  d: string,
  attributes: Readonly<Record<string, string>>
): SVGPathElement {
  const made = document.createElementNS(SVG, 'path');
  made.setAttribute('d', d);
  made.setAttribute('fill', 'none');
  made.setAttribute('vector-effect', 'non-scaling-stroke');
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  return made;
}

/** A point that stands for seconds is a step over them; a gap is where nothing is known. */
function pathOf(
  { t, value, span }: Line,
  seconds: number,
  top: number
): string {
  const place = (at: number): string =>
    ((WIDTH * Math.min(seconds, Math.max(0, at))) / (seconds || 1)).toFixed(2);
  const parts: string[] = [];
  let isDrawn = false;
  t.forEach((at, i) => {
    const here = value[i];
    if (here === null || here === undefined) {
      isDrawn = false;
      return;
    }
    const y = (HEIGHT * (1 - here / (top || 1))).toFixed(2);
    const begin = at - (span?.[i] ?? 0);
    parts.push(`${isDrawn ? 'L' : 'M'}${place(begin)} ${y}H${place(at)}`);
    isDrawn = true;
  });
  return parts.join('');
}

function highestOf({ lines }: Chart): number {
  let highest = 0;
  for (const { value } of lines) {
    for (const each of value) {
      highest = Math.max(highest, each ?? 0);
    }
  }
  return highest;
}

function wordsAt(section: CurvesSection, chart: Chart, at: number): string {
  const found = chart.lines
    .map(line => ({
      name: lineText(section, line.line),
      value: valueAt(line, at)
    }))
    .filter(each => each.value !== null)
    .sort((one, other) => other.value! - one.value!);
  const words = found
    .slice(0, MOST_SAID)
    .map(({ name, value }) => `${name} ${valueText(chart, value)}`);
  const more = found.length - words.length;
  return [
    formatInstant(at),
    ...words,
    ...(more > 0 ? [`${more} lower ones`] : [])
  ].join(' · ');
}

/** Of the first point that ends there or later; of a line without spans the last one before. */
function valueAt({ t, value, span }: Line, at: number): number | null {
  const next = t.findIndex(each => each >= at);
  if (span === undefined) {
    const place = next < 0 ? t.length - 1 : t[next] === at ? next : next - 1;
    return value[place] ?? null;
  }
  return next >= 0 && t[next]! - span[next]! <= at
    ? (value[next] ?? null)
    : null;
}

function valueText({ as }: Chart, value: number | null): string {
  return textOf({ value, as });
}

function lineText({ lines }: CurvesSection, line: number): string {
  const name = lines[line];
  return name === undefined ? '' : textOf(name);
}

/** Made when it is opened first. */
function pointsElement(section: CurvesSection): HTMLElement {
  const { charts, title } = section;
  const details = element(
    'details',
    {},
    element('summary', {}, 'All points as a table')
  );
  details.addEventListener(
    'toggle',
    () => {
      const rows = charts.flatMap(chart =>
        chart.lines.flatMap(({ line, t, value }) =>
          t.map((at, i) => ({ chart, line, at, value: value[i] ?? null }))
        )
      );
      details.append(
        tableOf(
          POINT_COLUMNS,
          rows.slice(0, MOST_TABLE_ROWS).map(({ chart, line, at, value }) => ({
            cells: [
              { value: chart.title },
              { value: lineText(section, line) },
              { text: formatInstant(at), value: at },
              { value, as: chart.as }
            ]
          })),
          `${title}: all points`
        )
      );
      if (rows.length > MOST_TABLE_ROWS) {
        details.append(
          element(
            'p',
            { class: 'note' },
            `The first ${MOST_TABLE_ROWS} of ${rows.length} points.`
          )
        );
      }
    },
    { once: true }
  );
  return details;
}

const POINT_COLUMNS = [
  { name: 'Figure' },
  { name: 'Of' },
  { name: 'At', numeric: true },
  { name: 'Value', numeric: true }
];
