/** What colours, lines and patterns of a picture's boxes stand for. */
import { type Kind, KIND_PATTERNS } from '../../charts/palette';
import { topLines } from '../../charts/theme';
import { KIND_WORDS, legendWord } from '../../panels/format';
import {
  BOX_KINDS,
  endedItems,
  PARTS_IN_LEGEND
} from '../../panels/task-stream/rows';
import type { TaskStreamSection } from '../content';
import { english } from '../english';
import type { DrawnBox } from './drawn-boxes';
import { element } from './elements';

const OTHER = { slot: -1, round: 0 };

export function legendElement(
  { functions, left, records }: TaskStreamSection,
  boxes: readonly DrawnBox[]
): HTMLElement {
  const kinds = new Set(boxes.map(({ kind }) => BOX_KINDS[kind] ?? 'compute'));
  const drawn = new Set(
    boxes.flatMap(({ record, tasks }) => (tasks === 0 ? [] : [record]))
  );
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
      ? [entry('other functions', 'fn-other', `lines-${topLines(OTHER)}`)]
      : []),
    ...PARTS_IN_LEGEND.filter(kind => kinds.has(kind)).map(kind =>
      ofKind(legendWord(KIND_WORDS[kind], english), kind)
    ),
    ...endedItems(
      {
        failed: ended('failed'),
        failedTasks: new Set(
          records.key.filter((_, at) => records.status[at] === 'failed')
        ).size,
        lost: ended('lost'),
        cancelled: ended('cancelled'),
        // (of those that held no thread before they were given back nothing is drawn)
        missing: [...drawn].filter(at => records.status[at] === 'missing')
          .length
      },
      english
    ).map(({ kind, name, text, title }) => {
      // (of those that are left out nobody knows how they ended)
      const [shown, more] =
        left === undefined ? [`${name} ${text}`, { title }] : [name, {}];
      if (kind === 'cancelled') {
        return entry(shown, 'fn-other', 'struck', more);
      }
      return kind === 'failed'
        ? entry(shown, 'kind-failed', 'failed', more)
        : element('span', more, element('bdi', {}, shown));
    }),
    'Full height: it held the thread. Lower strip: behind other work.'
  );
}

function ofKind(name: string, kind: Kind): HTMLElement {
  return entry(name, `kind-${kind}`, KIND_PATTERNS[kind]);
}

/** @param look - a class of the style sheet. */
function entry(
  name: string,
  colour: string,
  look: string,
  more: { readonly title?: string } = {}
): HTMLElement {
  return element(
    'span',
    more,
    element('b', {
      class: `swatch ${look}`,
      style: `background-color: var(--sw-${colour})`
    }),
    element('bdi', {}, name)
  );
}
