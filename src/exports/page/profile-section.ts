/** A profile: the panel's icicle as elements, the frame that the pointer or the arrow keys are at in words, and all frames as a table. */
import { shownText } from '../../base/shown-text';
import type { ProfileSection } from '../content';
import { english } from '../english';
import {
  type FrameShape,
  icicle,
  rowHeight
} from '../../panels/profile/figure';
import {
  factsOf,
  frameColumns,
  frameRows,
  type FrameTree,
  frameTree,
  labelOf,
  nameOf,
  pathOf,
  placeOf,
  remarkOnImports,
  remarkOnState,
  samplingText,
  search,
  THREAD_STATES
} from '../../panels/profile/rows';
import { element } from './elements';
import { tableOf } from './table';

/** Function colours of the palette. */
const SLOTS = 12;
/** A frame this narrow has no room for a letter. */
const LABEL_FROM_PX = 24;
/** Rows of the table beyond this would keep a browser busy for seconds. */
const MOST_TABLE_ROWS = 20_000;
/** The icicle's height if it has many levels. */
const TALL_PX = 560;
const REDRAW_DELAY_MS = 80;
/** Width to draw for while the element has none. */
const UNSEEN_WIDTH_PX = 1000;

export function profileElement(section: ProfileSection): HTMLElement {
  return new ProfileView(frameTree(section.result), section.title).root;
}

class ProfileView {
  readonly root: HTMLElement;
  private readonly _chart: HTMLElement;
  private readonly _facts: HTMLElement;
  private readonly _found = element('output');
  private readonly _search = element('input', {
    type: 'search',
    placeholder: 'Search frames',
    'aria-label': 'Search frames'
  });
  private _focus: number | null = null;
  private _at: number | null = null;
  private _timer: number | undefined;

  constructor(
    private readonly _tree: FrameTree,
    title: string
  ) {
    this._chart = element('div', {
      class: 'icicle',
      role: 'application',
      tabindex: 0,
      'aria-label': `${title}: icicle of frames, walked through with the arrow keys; a table of them is below`
    });
    this._facts = element('dl', { class: 'facts', 'aria-live': 'polite' });
    const all = element('button', { type: 'button' }, 'Show all');
    all.addEventListener('click', () => this._zoom(null));
    this._search.addEventListener('input', () => this._draw());
    this._chart.addEventListener('click', event => {
      const node = nodeOf(event);
      if (node !== null) {
        this._at = node;
        this._zoom(depthOf(this._tree, node) === 0 ? null : node);
      }
    });
    this._chart.addEventListener('pointerover', event =>
      this._describe(nodeOf(event) ?? this._at)
    );
    this._chart.addEventListener('pointerleave', () =>
      this._describe(this._at)
    );
    this._chart.addEventListener('keydown', event => this._key(event));
    this.root = element(
      'div',
      { class: 'profile' },
      element('p', { class: 'note' }, samplingText(this._tree.result, english)),
      element('div', { class: 'tools' }, this._search, this._found, all),
      this._chart,
      legend(),
      this._facts,
      this._table(title)
    );
    new ResizeObserver(() => {
      clearTimeout(this._timer);
      this._timer = window.setTimeout(() => this._draw(), REDRAW_DELAY_MS);
    }).observe(this._chart);
    this._draw();
    this._describe(null);
  }

  private _zoom(node: number | null): void {
    this._focus = node;
    this._draw();
    this._describe(this._at);
  }

  private _draw(): void {
    const width = this._chart.clientWidth || UNSEEN_WIDTH_PX;
    const { shapes, rows } = icicle(this._tree, this._focus, width);
    const height = rowHeight(rows, TALL_PX);
    const found = search(this._tree, this._search.value, english);
    this._found.textContent = shownText(found?.text ?? '');
    this._chart.style.height = `${rows * height}px`;
    this._chart.replaceChildren(
      ...shapes.map(shape => {
        const frame = this._frame(shape, width, height);
        frame.classList.toggle('found', found?.nodes.has(shape.node) === true);
        frame.classList.toggle('at', shape.node === this._at);
        return frame;
      })
    );
    this._chart.dataset['drawn'] = String(shapes.length);
  }

  private _frame(
    shape: FrameShape,
    width: number,
    height: number
  ): HTMLElement {
    const tree = this._tree;
    const { node, isCaller } = shape;
    const slot = tree.result.nodes.slot[node] ?? -1;
    const hasFile = (tree.result.nodes.file[node] ?? '') !== '';
    const name = nameOf(tree, node, english);
    const frame = element('div', {
      class: `frame${isCaller ? ' caller' : ''}`,
      'data-node': node,
      'data-samples': tree.result.nodes.n[node]
    });
    const { style } = frame;
    style.left = `${(shape.x / width) * 100}%`;
    style.width = `${(shape.width / width) * 100}%`;
    style.top = `${shape.row * height}px`;
    style.height = `${height}px`;
    style.setProperty(
      '--fill',
      !hasFile
        ? 'var(--sw-track)'
        : tree.importing[node] === 1
          ? 'var(--sw-kind-import)'
          : slot >= 0 && slot < SLOTS
            ? `var(--sw-fn-${slot + 1})`
            : 'var(--sw-fn-other)'
    );
    if (shape.width >= LABEL_FROM_PX) {
      frame.append(
        element(
          'span',
          {},
          // A name that turns the direction of writing turns nothing else.
          element('bdi', {}, name),
          labelOf(tree, node, english).slice(name.length),
          element('small', {}, ` ${placeOf(tree, node, english)}`)
        )
      );
    }
    frame.append(foot(shape));
    return frame;
  }

  private _describe(node: number | null): void {
    const tree = this._tree;
    if (node === null || node >= tree.length) {
      this._facts.replaceChildren(
        element('dt', {}, 'Frame'),
        element('dd', {}, 'point at one; a click zooms, “Show all” goes back')
      );
      return;
    }
    const facts = factsOf(tree, node, english);
    const rows: [string, string][] = [
      ['Frame', facts.name],
      ['Where', facts.place],
      ['Total', `${facts.totalText}, ${facts.totalShare}`],
      ['Self', `${facts.selfText}, ${facts.selfShare}`],
      ['Samples', facts.samples],
      ...facts.states
        .filter(({ share }) => share > 0)
        .map(({ label, text }): [string, string] => [label, text]),
      ['Import', tree.importing[node] === 1 ? remarkOnImports(english) : '']
    ];
    this._facts.replaceChildren(
      ...rows
        .filter(([, text]) => text !== '')
        .flatMap(([name, text]) => [
          element('dt', {}, name),
          element('dd', {}, text)
        ])
    );
  }

  /** Arrows go to caller, called and neighbours; Enter zooms, Escape shows all. */
  private _key(event: KeyboardEvent): void {
    const tree = this._tree;
    const at = this._at ?? this._focus ?? tree.roots[0] ?? 0;
    const above = tree.parent[at] ?? -1;
    const beside = above < 0 ? tree.roots : (tree.children[above] ?? []);
    const to: Readonly<Record<string, number | undefined>> = {
      ArrowUp: above < 0 ? at : above,
      ArrowDown: this._at === null ? at : tree.children[at]?.[0],
      ArrowLeft: beside[beside.indexOf(at) - 1],
      ArrowRight: beside[beside.indexOf(at) + 1]
    };
    if (event.key in to) {
      const next = to[event.key];
      if (next !== undefined) {
        this._at = next;
        // What lies outside of the zoom is not drawn.
        if (this._focus !== null && !pathOf(tree, next).includes(this._focus)) {
          this._focus = null;
        }
        this._draw();
        this._describe(next);
      }
    } else if (event.key === 'Enter') {
      this._zoom(depthOf(tree, at) === 0 ? null : at);
    } else if (event.key === 'Escape') {
      this._zoom(null);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Made when it is opened first. */
  private _table(title: string): HTMLDetailsElement {
    const tree = this._tree;
    const details = element(
      'details',
      {},
      element('summary', {}, 'All frames as a table')
    );
    details.addEventListener(
      'toggle',
      () => {
        const rows = frameRows(tree, () => true, english);
        details.append(
          tableOf(
            frameColumns(english),
            rows.slice(0, MOST_TABLE_ROWS),
            `${title}: all frames`
          )
        );
        if (rows.length > MOST_TABLE_ROWS) {
          details.append(
            element(
              'p',
              { class: 'note' },
              `The first ${MOST_TABLE_ROWS} of ${rows.length} frames.`
            )
          );
        }
      },
      { once: true }
    );
    return details;
  }
}

function depthOf(tree: FrameTree, node: number): number {
  return tree.depth[node] ?? 0;
}

function nodeOf(event: Event): number | null {
  const frame = (event.target as Element).closest<HTMLElement>('.frame');
  return frame === null ? null : Number(frame.dataset['node']);
}

/** The part of a frame that was not on a core, from the right: blocked, waiting for the GIL, for a core. */
function foot({ blocked, gil, waiting }: FrameShape): HTMLElement {
  const line = element('i');
  const ends = [blocked, blocked + gil, blocked + gil + waiting].map(
    share => `${(share * 100).toFixed(2)}%`
  );
  line.style.backgroundImage = `linear-gradient(to left, ${[
    `var(--sw-kind-blocked) 0 ${ends[0]}`,
    `var(--sw-kind-gil) ${ends[0]} ${ends[1]}`,
    `var(--sw-kind-core) ${ends[1]} ${ends[2]}`,
    `transparent ${ends[2]}`
  ].join(', ')})`;
  return line;
}

/** What the colours of a frame's foot mean. */
function legend(): HTMLElement {
  return element(
    'p',
    { class: 'legend' },
    'The line at a frame’s foot: ',
    ...THREAD_STATES.filter(({ state }) => state !== 'cpu').map(
      ({ state, label }) =>
        element(
          'span',
          { title: remarkOnState(state, english) || undefined },
          element('b', { style: `background: var(--sw-kind-${state})` }),
          label
        )
    )
  );
}
