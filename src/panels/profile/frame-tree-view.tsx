/** The table twin: the frames as a tree grid, opened and closed with arrows; the heaviest path is open at first. */
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { Trans } from '../../base/trans';
import {
  frameColumns,
  frameRows,
  type FrameTree,
  pathKey,
  shareOfNode
} from './rows';

export function FrameTreeView(props: {
  readonly tree: FrameTree;
  /** The accessible name. */
  readonly label: string;
  readonly treeLabel: string;
  readonly selected: number | null;
  readonly trans: Trans;
  onSelect(node: number): void;
}): JSX.Element {
  const { tree, label, selected, trans } = props;
  // By path, so that it stays as it is when new samples come in.
  const [toggled, setToggled] = React.useState<ReadonlyMap<string, boolean>>(
    new Map()
  );
  const isOpen = (node: number) =>
    toggled.get(pathKey(tree, node)) ?? shareOfNode(tree, node) >= 0.1;
  const rows = frameRows(tree, isOpen, trans).slice(0, 1000);
  const toggle = (node: number, open: boolean) =>
    setToggled(new Map(toggled).set(pathKey(tree, node), open));
  const onKeyDown = (event: React.KeyboardEvent<HTMLElement>) => {
    const items = [
      ...event.currentTarget.querySelectorAll<HTMLElement>('[role=treeitem]')
    ];
    const index = items.findIndex(item => item === document.activeElement);
    const row = rows[index];
    if (row === undefined) {
      return;
    }
    switch (event.key) {
      case 'ArrowDown':
        items[index + 1]?.focus();
        break;
      case 'ArrowUp':
        items[index - 1]?.focus();
        break;
      case 'ArrowRight':
        if (row.hasChildren && !isOpen(row.node)) {
          toggle(row.node, true);
        } else {
          items[index + 1]?.focus();
        }
        break;
      case 'ArrowLeft':
        if (row.hasChildren && isOpen(row.node)) {
          toggle(row.node, false);
        } else {
          items
            .slice(0, index)
            .filter((_, at) => (rows[at]?.depth ?? 0) < row.depth)
            .at(-1)
            ?.focus();
        }
        break;
      case 'Enter':
        props.onSelect(row.node);
        break;
      default:
        return;
    }
    event.preventDefault();
  };
  const columns = frameColumns(trans);
  const figures: number = columns.filter(column => 'numeric' in column).length;
  return (
    <div
      className="sw-FrameTree"
      role="group"
      aria-label={label}
      style={{ '--sw-figures': figures } as React.CSSProperties}
    >
      <div className="sw-FrameTree-row sw-FrameTree-head" aria-hidden="true">
        {columns.map(column => (
          <span key={column.name}>{column.name}</span>
        ))}
      </div>
      <div role="tree" aria-label={props.treeLabel} onKeyDown={onKeyDown}>
        {rows.map((row, index) => (
          <div
            key={row.node}
            className="sw-FrameTree-row"
            role="treeitem"
            tabIndex={index === 0 ? 0 : -1}
            style={{ '--sw-depth': row.depth } as React.CSSProperties}
            aria-level={row.depth + 1}
            aria-expanded={row.hasChildren ? isOpen(row.node) : undefined}
            aria-selected={row.node === selected}
            onClick={() => {
              props.onSelect(row.node);
              if (row.hasChildren) {
                toggle(row.node, !isOpen(row.node));
              }
            }}
          >
            {row.cells.map((cell, column) => (
              <span key={column} title={cell.text}>
                {column === 0 && (
                  <span className="sw-FrameTree-caret" aria-hidden="true">
                    {row.hasChildren ? (isOpen(row.node) ? '▾' : '▸') : ''}
                  </span>
                )}
                {cell.text}
              </span>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}
