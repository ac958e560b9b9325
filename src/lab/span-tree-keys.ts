/** What a key does in the span tree. Pure: the tree's view carries it out. */
import type { SpanMatch } from '../feed/selection';
import type { VisibleSpan } from './span-tree-rows';

type TreeAction =
  | { readonly do: 'focus'; readonly key: string }
  | {
      readonly do: 'collapse' | 'expand';
      readonly keys: readonly string[];
    }
  | { readonly do: 'match'; readonly match: SpanMatch };

export type TreeKey = Pick<KeyboardEvent, 'key' | 'shiftKey' | 'altKey'>;

/** @returns null for a key that means nothing here and goes on. */
export function treeAction(
  event: TreeKey,
  rows: readonly VisibleSpan[],
  focused: string
): TreeAction | null {
  const index = rows.findIndex(({ node }) => node.key === focused);
  const row = rows[index];
  if (row === undefined) {
    return null;
  }
  const focus = (to: VisibleSpan | undefined): TreeAction | null =>
    to === undefined ? null : { do: 'focus', key: to.node.key };
  switch (event.key) {
    case 'ArrowDown':
      return focus(rows[index + 1]);
    case 'ArrowUp':
      return focus(rows[index - 1]);
    case 'Home':
      return focus(rows[0]);
    case 'End':
      return focus(rows[rows.length - 1]);
    case 'ArrowRight':
      if (row.isExpanded === null) {
        return null;
      }
      return row.isExpanded
        ? focus(rows[index + 1])
        : { do: 'expand', keys: [focused] };
    case 'ArrowLeft':
      if (row.isExpanded === true) {
        return { do: 'collapse', keys: [focused] };
      }
      return focus(rows.find(({ node }) => node.key === row.parentKey));
    case '*':
      return {
        do: 'expand',
        keys: rows
          .filter(
            other =>
              other.parentKey === row.parentKey && other.isExpanded !== null
          )
          .map(({ node }) => node.key)
      };
    case 'Enter':
    case ' ':
      if (row.node.term === null) {
        return row.isExpanded === null
          ? null
          : { do: row.isExpanded ? 'collapse' : 'expand', keys: [focused] };
      }
      return {
        do: 'match',
        match: event.altKey ? 'not' : event.shiftKey ? 'all' : 'any'
      };
    default:
      return null;
  }
}
