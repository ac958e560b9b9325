/** What the legend below the frames says, on the page and in pictures. */
import type { Trans } from '../../base/trans';
import type { Kind } from '../../charts/palette';
import { KIND_WORDS, legendWord } from '../format';
import {
  type FrameTree,
  remarkOnImports,
  remarkOnState,
  statesOf,
  tellsStates
} from './rows';

/** As that activity has elsewhere. */
export const IMPORT_MARK = { kind: 'import' } as const;

export type LegendLine = {
  readonly id: string;
  /** Null: it is about frames as they are drawn. */
  readonly mark: { readonly kind: Kind } | null;
  readonly name: string;
  readonly explanation: string;
};

export function legendOf(tree: FrameTree, trans: Trans): LegendLine[] {
  const lines: LegendLine[] = statesOf(tree.result).map(({ state, label }) => ({
    id: state,
    mark: { kind: state },
    name: legendWord(label, trans),
    explanation: remarkOnState(state, trans)
  }));
  // In a low panel the first line is all there is, and frames are larger than their feet.
  if (tree.importing.includes(1)) {
    lines.unshift({
      id: 'import',
      mark: IMPORT_MARK,
      name: legendWord(KIND_WORDS.import, trans),
      explanation: remarkOnImports(trans)
    });
  }
  if (tellsStates(tree.result)) {
    lines.push({
      id: 'foot',
      mark: null,
      name: trans.__('foot of each frame: what was not on a core'),
      explanation: ''
    });
  }
  return lines;
}
