import {
  NONE_U16,
  SpanOrigin,
  type WordOf,
  wordsOf
} from '../../records/enumerations';
import { DEFAULT_SPAN, type SpanId } from '../../records/ids';
import type { SpanPath } from '../../wire/panel-link';

const ORIGINS = wordsOf(SpanOrigin);

export const DEFAULT_TAG = 'default';

/** Levels of spans. Each span has its whole path, so deeper ones would take memory by the square of their depth. */
const DEEPEST = 256;

type Span = {
  readonly span: SpanId;
  readonly parent: SpanId | null;
  readonly tag: string;
  readonly path: SpanPath;
  readonly origin: WordOf<typeof SpanOrigin>;
  /** Whose it is. What a task opens is its client's, though the worker says it. */
  readonly client: number;
  readonly opened: number;
  /** NaN while open. */
  readonly closed: number;
};

/**
 * The spans of a log as a tree.
 *
 *     id parent tag            path
 *     1  –      notebook.ipynb ["notebook.ipynb"]
 *     2  1      data load      ["notebook.ipynb", "data load"]
 *     3  2      read           ["notebook.ipynb", "data load", "read"]
 *
 * A row is a root if its parent is itself or 0, or if its parents would form a ring or be too many: a broken log must not hang a walk.
 */
export class SpanTree {
  private readonly _spans = new Map<SpanId, Span>();
  private readonly _children = new Map<SpanId, SpanId[]>();
  private _version = 0;

  /** Grows whenever a span is added or replaced: compiled filters hold for one version. */
  get version(): number {
    return this._version;
  }

  get size(): number {
    return this._spans.size;
  }

  get(span: SpanId): Span | undefined {
    return this._spans.get(span);
  }

  /** Order of first appearance. */
  all(): IterableIterator<Span> {
    return this._spans.values();
  }

  set(row: {
    span: SpanId;
    parent: SpanId;
    tag: string;
    origin: number;
    client: number;
    opened: number;
    closed: number;
  }): void {
    const parent = this._acceptedParent(row.span, row.parent);
    const before = this._spans.get(row.span);
    if (before !== undefined && before.parent !== parent) {
      this._detach(before);
    }
    if (parent !== null && (before === undefined || before.parent !== parent)) {
      const siblings = this._children.get(parent);
      if (siblings === undefined) {
        this._children.set(parent, [row.span]);
      } else {
        siblings.push(row.span);
      }
    }
    const above = parent === null ? undefined : this._spans.get(parent);
    this._spans.set(row.span, {
      span: row.span,
      parent,
      tag: row.tag,
      path: [...(above?.path ?? []), row.tag],
      origin: ORIGINS[row.origin] ?? 'user',
      client: above?.client ?? row.client,
      opened: row.opened,
      closed: row.closed
    });
    this._version++;
    this._renewPaths(row.span);
  }

  childrenOf(span: SpanId): readonly SpanId[] {
    return this._children.get(span) ?? [];
  }

  /** The path of any span id; ids that the log does not describe are the default. */
  pathOf(span: SpanId): SpanPath {
    return this._spans.get(span)?.path ?? [DEFAULT_TAG];
  }

  /** Calls `visit` for the span and everything below it, parents first. */
  walk(span: SpanId, visit: (span: SpanId) => void): void {
    visit(span);
    for (const child of this.childrenOf(span)) {
      this.walk(child, visit);
    }
  }

  private _acceptedParent(span: SpanId, parent: SpanId): SpanId | null {
    if (parent === DEFAULT_SPAN || parent === NONE_U16) {
      return null;
    }
    if (this._spans.get(span)?.parent === parent) {
      return parent;
    }
    let depth = 1;
    for (
      let above: SpanId | null | undefined = parent;
      above !== null && above !== undefined;
      above = this._spans.get(above)?.parent
    ) {
      if (above === span) {
        return null;
      }
      depth++;
    }
    return depth + this._height(span) > DEEPEST ? null : parent;
  }

  /** How many levels there are below this span. */
  private _height(span: SpanId): number {
    let height = 0;
    for (const child of this.childrenOf(span)) {
      height = Math.max(height, 1 + this._height(child));
    }
    return height;
  }

  private _detach(span: Span): void {
    const siblings =
      span.parent === null ? undefined : this._children.get(span.parent);
    const index = siblings?.indexOf(span.span) ?? -1;
    if (index >= 0) {
      siblings!.splice(index, 1);
    }
  }

  /** A parent that comes late, or is renamed, changes the paths below it. */
  private _renewPaths(span: SpanId): void {
    const path = this.pathOf(span);
    const client = this._spans.get(span)?.client;
    for (const child of this.childrenOf(span)) {
      const below = this._spans.get(child);
      if (below !== undefined) {
        this._spans.set(child, {
          ...below,
          path: [...path, below.tag],
          client: client ?? below.client
        });
        this._renewPaths(child);
      }
    }
  }
}
