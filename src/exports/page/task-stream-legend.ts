/** What colours, lines and patterns of a picture's boxes stand for. */
import { type Kind, KIND_PATTERNS } from '../../charts/palette';
import { topLines } from '../../charts/theme';
import { formatCount, KIND_WORDS, legendWord } from '../../panels/format';
import { BOX_KINDS } from '../../panels/task-stream/rows';
import type { TaskStreamSection } from '../content';
import { english } from '../english';
import type { DrawnBox } from './drawn-boxes';
import { element } from './elements';

export function legendElement(
  { functions, left, records }: TaskStreamSection,
  boxes: readonly DrawnBox[]
): HTMLElement {
  const kinds = new Set(boxes.map(({ kind }) => BOX_KINDS[kind] ?? 'compute'));
  const ended = (end: string) =>
    records.status.filter(each => each === end).length;
  return element(
    'p',
    { class: 'legend' },
    ...functions
      .filter(({ slot }) => slot >= 0)
      .map(({ name, ...slot }) =>
        entry(name, `fn-${slot.slot + 1}`, `lines-${topLines(slot)}`)
      ),
    ...(functions.some(({ slot }) => slot < 0)
      ? [entry('other functions', 'fn-other', 'plain')]
      : []),
    ...(['transfer', 'disk', 'import', 'serialize'] as const)
      .filter(kind => kinds.has(kind))
      .map(kind => ofKind(legendWord(KIND_WORDS[kind], english), kind)),
    ...(['failed', 'lost'] as const)
      .filter(end => ended(end) > 0)
      .map(end => {
        const word = legendWord(end, english);
        // (of those that are left out nobody knows how they ended)
        return ofKind(
          left === undefined ? `${word} ${formatCount(ended(end))}` : word,
          'failed'
        );
      }),
    'Full height: it held the thread. Lower strip: behind other work.'
  );
}

function ofKind(name: string, kind: Kind): HTMLElement {
  return entry(name, `kind-${kind}`, KIND_PATTERNS[kind]);
}

/** @param look - a class of the style sheet. */
function entry(name: string, colour: string, look: string): HTMLElement {
  return element(
    'span',
    {},
    element('b', {
      class: `swatch ${look}`,
      style: `background-color: var(--sw-${colour})`
    }),
    element('bdi', {}, name)
  );
}
