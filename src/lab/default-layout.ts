/**
 * The default layout, as the dock panel's own description of a layout:
 *
 *   ┌ 40 % ──────┬ 60 % ──────────────────────┐
 *   │ notebook and│ Task Stream           48 % │
 *   │ what else is├ 50 % ────────┬─────────────┤
 *   │ open   70 % │ Fine         │ Profile     │
 *   ├─────────────┤ Performance  │             │
 *   │ Memory 30 % │ Metrics      │             │
 *   └─────────────┴──────────────┴─────────────┘
 *
 * The Profile is as wide as the metrics, for its frames are named within their own widths.
 *
 * A panel that is missing leaves its place to its neighbour; others of its kind are in tabs behind it, and panels of other kinds behind one
 * of these. In the left sidebar the Spanwise tab is in front.
 */
import type { DockLayout, Widget } from '@lumino/widgets';
import type { PanelName } from '../panels/panel-context';

/** The id of the widget in the left sidebar. */
export const SIDEBAR_ID = 'spanwise-sidebar';

/** The panels that have a place in it. */
export const LAID_OUT: readonly PanelName[] = [
  'task-stream',
  'fine-metrics',
  'profile',
  'memory'
];

/** The panel behind which one is that has no place. Compare has the wider one; a click in it goes to the Task Stream, which stays in sight. */
export function behind(name: PanelName): PanelName | undefined {
  return LAID_OUT.includes(name)
    ? undefined
    : name === 'compare'
      ? 'fine-metrics'
      : 'profile';
}

type Area = DockLayout.AreaConfig;

export function defaultLayout(
  /** The widgets of each place; the first is shown. */
  panels: Readonly<Partial<Record<PanelName, readonly Widget[]>>>,
  /** The widgets that stay at the left, in tabs; `front` is shown. */
  others: readonly Widget[],
  front: Widget | null
): DockLayout.ILayoutConfig {
  const stack = (widgets: readonly Widget[] = []): Area | null =>
    widgets.length === 0
      ? null
      : { type: 'tab-area', widgets: [...widgets], currentIndex: 0 };
  const left: Area | null =
    others.length === 0
      ? null
      : {
          type: 'tab-area',
          widgets: [...others],
          currentIndex: Math.max(0, front === null ? 0 : others.indexOf(front))
        };
  return {
    main: split('horizontal', [
      [
        0.4,
        split('vertical', [
          [0.7, left],
          [0.3, stack(panels.memory)]
        ])
      ],
      [
        0.6,
        split('vertical', [
          [0.48, stack(panels['task-stream'])],
          [
            0.52,
            split('horizontal', [
              [0.5, stack(panels['fine-metrics'])],
              [0.5, stack(panels.profile)]
            ])
          ]
        ])
      ]
    ])
  };
}

function split(
  orientation: 'horizontal' | 'vertical',
  parts: readonly (readonly [number, Area | null])[]
): Area | null {
  const there = parts.filter(
    (part): part is readonly [number, Area] => part[1] !== null
  );
  return there.length < 2
    ? (there[0]?.[1] ?? null)
    : {
        type: 'split-area',
        orientation,
        sizes: there.map(([size]) => size),
        children: there.map(([, area]) => area)
      };
}
