/** What the lines of a chart say where the pointer is, as a card. It never covers a low chart; in a high one it stands beside the pointer. */
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import type { Box } from './card-place';
import { FloatingCard } from './floating-card';

/** In pixels. Below or above a higher chart the card would be far from the pointer. */
const HIGHEST = 300;
/** In pixels: what stays in sight on either side of the pointer. */
const LINE_AWAY = 10;

type Cursor = {
  /** Where it is on the chart's axis of time. */
  readonly t: number;
  /** In the window. */
  readonly x: number;
  readonly y: number;
  /** In pixels, from the chart's left edge. */
  readonly inChart: number;
};

export function useCursor(chart: React.RefObject<HTMLElement>): {
  readonly cursor: Cursor | null;
  /** For the chart's `onHover`. */
  readonly move: (t: number | null, event: MouseEvent | null) => void;
  readonly hide: () => void;
} {
  const [cursor, setCursor] = React.useState<Cursor | null>(null);
  return {
    cursor,
    move: (t, event) => {
      const left = chart.current?.getBoundingClientRect().left;
      setCursor(
        t === null || event === null || left === undefined
          ? null
          : {
              t,
              x: event.clientX,
              y: event.clientY,
              inChart: event.clientX - left
            }
      );
    },
    hide: () => setCursor(null)
  };
}

export function CursorCard(props: {
  readonly cursor: Cursor;
  readonly chart: React.RefObject<HTMLElement>;
  readonly title: string;
  readonly rows: readonly {
    readonly key: string;
    readonly mark: React.ReactNode;
    readonly label: string;
    readonly text: string;
  }[];
  /** A row below the others. */
  readonly children?: React.ReactNode;
  onGone(): void;
}): JSX.Element {
  const { cursor, chart, title, rows, children, onGone } = props;
  return (
    <FloatingCard
      pointer={cursor}
      boxOf={() =>
        columnAt(
          chart.current!.getBoundingClientRect(),
          cursor.inChart,
          window.innerHeight
        )
      }
      onGone={onGone}
    >
      <strong>{title}</strong>
      <table className="sw-card-table sw-card-lines">
        <tbody>
          {rows.map(({ key, mark, label, text }) => (
            <tr key={key}>
              <td>
                {mark} <bdi>{label}</bdi>
              </td>
              <td>{text}</td>
            </tr>
          ))}
          {children}
        </tbody>
      </table>
    </FloatingCard>
  );
}

/** What the card is about: the chart's column below the pointer. For a high chart the column is taken as taller than the window, so that the card can only stand beside it. */
function columnAt(chart: Box, inChart: number, windowHeight: number): Box {
  const x = chart.left + inChart;
  const further = chart.bottom - chart.top > HIGHEST ? windowHeight : 0;
  return {
    left: x - LINE_AWAY,
    right: x + LINE_AWAY,
    top: chart.top - further,
    bottom: chart.bottom + further
  };
}
