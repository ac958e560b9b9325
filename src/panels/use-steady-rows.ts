import * as React from 'react';
import { keepOrder } from './keep-order';

/**
 * The rows of a list as it shows them: new answers move none from under the pointer.
 *
 * @param by - what they are ordered by: if that is another than before, the user has asked for it, and they may move.
 */
export function useSteadyRows<T>(
  rows: readonly T[],
  by: string,
  isOver: boolean,
  keyOf: (row: T) => string
): readonly T[] {
  const shown = React.useRef<{
    readonly by: string;
    readonly keys: readonly string[];
  }>({ by, keys: [] });
  const steady =
    isOver && shown.current.by === by
      ? keepOrder(rows, shown.current.keys, keyOf)
      : rows;
  shown.current = { by, keys: steady.map(keyOf) };
  return steady;
}
