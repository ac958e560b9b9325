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
  /** The part of the path that its program gave: without the notebook and the cell around it. */
  readonly name: SpanPath;
  readonly origin: WordOf<typeof SpanOrigin>;
  /** Whose it is. What a task opens is its client's, though the worker says it. */
  readonly client: number;
  readonly opened: number;
  /** NaN while open. */
  readonly closed: number;
  /** Empty: nobody opened it by name, or an older program did. */
  readonly uuid: string;
  readonly reused: number;
  /** How many later spans have joined it. */
  readonly joined: number;
};

/** Characters of the callers' code that are kept, of one span and of all. */
export const MOST_CODE = 128 * 1024;
const MOST_CODE_OF_ALL = 4 * 1024 * 1024;

/** Uuids of spans that joined others are known of so many, the newest. */
const MOST_JOINED = 65_536;

/** What stands for the uuid of a span that has none. */
const NUMBERED = /^span-(\d{1,5})$/;

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
  /** More than one: two clients computed in the same block. */
  private readonly _byUuid = new Map<string, readonly SpanId[]>();
  /** By the uuid of a span that has joined another: that one. */
  private readonly _joined = new Map<string, SpanId>();
  private readonly _code = new Map<SpanId, Set<string>>();
  private _codeLength = 0;
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

  /** Text that names the span within its cluster: its uuid, if it has one. */
  idOf(span: SpanId): string {
    return this._spans.get(span)?.uuid || `span-${span}`;
  }

  /** The spans that {@link idOf} gives this text, or the one that the span of this uuid has joined. */
  byId(id: string): readonly SpanId[] {
    const number = NUMBERED.exec(id)?.[1];
    const joined = this._joined.get(id);
    return [
      ...(this._byUuid.get(id) ?? []),
      ...(joined === undefined ? [] : [joined]),
      ...(number === undefined ? [] : [Number(number) as SpanId])
    ];
  }

  get hasCode(): boolean {
    return this._codeLength > 0;
  }

  /** The stacks of callers that have submitted in the span, each once, as JSON. */
  codeOf(span: SpanId): readonly string[] {
    return [...(this._code.get(span) ?? [])];
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
    uuid?: string;
    reused?: number;
    code?: string;
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
    const isJoined = this._isJoined(before, row.uuid ?? '');
    const hasOthers = isJoined || (before?.joined ?? 0) > 0;
    const uuid = this._uuidOf(row.span, row.uuid ?? '', before);
    const origin = ORIGINS[row.origin] ?? 'user';
    this._spans.set(row.span, {
      span: row.span,
      parent,
      tag: row.tag,
      path: [...(above?.path ?? []), row.tag],
      name: nameBelow(above, row.tag, origin),
      origin,
      client: above?.client ?? row.client,
      opened: hasOthers ? Math.min(before!.opened, row.opened) : row.opened,
      closed: row.closed,
      uuid,
      reused: Math.max(row.reused ?? 0, before?.reused ?? 0),
      joined: (before?.joined ?? 0) + (isJoined ? 1 : 0)
    });
    this._keepCode(row.span, row.code ?? '');
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

  /** Its path as the program gave it; what is of a cell alone is the default too. */
  nameOf(span: SpanId): SpanPath {
    const name = this._spans.get(span)?.name ?? [];
    return name.length === 0 ? [DEFAULT_TAG] : name;
  }

  /** Calls `visit` for the span and everything below it, parents first. */
  walk(span: SpanId, visit: (span: SpanId) => void): void {
    visit(span);
    for (const child of this.childrenOf(span)) {
      this.walk(child, visit);
    }
  }

  /** Whether a row tells of another span that joins the one before. The newest gives its uuid; the others are found by theirs. */
  private _isJoined(before: Span | undefined, uuid: string): boolean {
    if (
      before === undefined ||
      before.uuid === '' ||
      uuid === '' ||
      uuid === before.uuid ||
      this._joined.get(uuid) === before.span
    ) {
      return false;
    }
    const others = this._byUuid.get(before.uuid) ?? [];
    this._byUuid.set(
      before.uuid,
      others.filter(each => each !== before.span)
    );
    if (others.length <= 1) {
      this._byUuid.delete(before.uuid);
    }
    this._joined.set(before.uuid, before.span);
    dropOldest(this._joined, MOST_JOINED);
    return true;
  }

  private _keepCode(span: SpanId, code: string): void {
    const kept = this._code.get(span) ?? new Set();
    const length = [...kept].reduce((sum, each) => sum + each.length, 0);
    if (
      code !== '' &&
      !kept.has(code) &&
      length + code.length <= MOST_CODE &&
      this._codeLength + code.length <= MOST_CODE_OF_ALL
    ) {
      this._codeLength += code.length;
      this._code.set(span, kept.add(code));
    }
  }

  private _uuidOf(
    span: SpanId,
    said: string,
    before: Span | undefined
  ): string {
    if (said === '' || this._joined.get(said) === span) {
      return before?.uuid ?? '';
    }
    const known = this._byUuid.get(said) ?? [];
    if (!known.includes(span)) {
      this._byUuid.set(said, [...known, span]);
    }
    return said;
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
    const above = this._spans.get(span);
    const client = above?.client;
    for (const child of this.childrenOf(span)) {
      const below = this._spans.get(child);
      if (below !== undefined) {
        this._spans.set(child, {
          ...below,
          path: [...path, below.tag],
          name: nameBelow(above, below.tag, below.origin),
          client: client ?? below.client
        });
        this._renewPaths(child);
      }
    }
  }
}

/** Nobody gave roots their names. */
export function isRoot(origin: Span['origin']): boolean {
  return origin === 'notebook' || origin === 'cell';
}

function nameBelow(
  above: Span | undefined,
  tag: string,
  origin: Span['origin']
): SpanPath {
  return isRoot(origin) ? [] : [...(above?.name ?? []), tag];
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.size > most ? map.keys() : [];
  if (oldest !== undefined) {
    map.delete(oldest);
  }
}
