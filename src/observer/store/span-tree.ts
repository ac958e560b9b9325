import { NumberSet } from '../../base/number-set';
import { SpanOrigin, type WordOf, wordsOf } from '../../records/enumerations';
import { DEFAULT_SPAN, type SpanId } from '../../records/ids';
import type { SpanPath } from '../../wire/panel-link';
import { type CellRun, NO_CELL, readCellRun } from './cell-run';

const ORIGINS = wordsOf(SpanOrigin);

export const DEFAULT_TAG = 'default';

/** Levels of spans. Each span has its whole path, so deeper ones would take memory by the square of their depth. */
const DEEPEST = 256;

export type Span = {
  readonly span: SpanId;
  /** In the log: `span` is its number in the store, its slot. */
  readonly number: number;
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
  /** How many other spans are counted in it: later ones that have joined it, and finished ones that were folded into it. */
  readonly joined: number;
  /** Of a cell: which one it is, and what Jupyter counted as it ran. */
  readonly cellRun: CellRun;
};

/** Characters of the callers' code that are kept, of one span and of all. */
export const MOST_CODE = 128 * 1024;
const MOST_CODE_OF_ALL = 4 * 1024 * 1024;

/** Uuids of spans that are counted in others are known of so many, the newest; so is what they have told. */
const MOST_JOINED = 65_536;
/** 20 MB: 67 million numbers, if they are given one after another. */
const MOST_FORGOTTEN_PAGES = 65_536;

/** Numbers of spans in the store are u16. */
const SLOTS = 65_536;

/** What stands for the uuid of a span that has none. */
const NUMBERED = /^span-(\d{1,10})$/;

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
  /** By the uuid of a span that is counted in another: that one. */
  private readonly _joined = new Map<string, SpanId>();
  /** Results that spans folded into this one were asked for. */
  private readonly _reusedOfFolded = new Map<SpanId, number>();
  /** By the log's number of a folded span: what it has last told of them. */
  private readonly _toldReused = new Map<number, number>();
  /** Numbers that were dropped there. */
  private readonly _forgotten = new NumberSet(MOST_FORGOTTEN_PAGES);
  /** Where the spans have gone that were folded last: a question that has begun may still know them. */
  private _gone = new Map<SpanId, SpanId>();
  private readonly _code = new Map<SpanId, Set<string>>();
  private _codeLength = 0;
  private _version = 0;

  /** @param _slotOf - by a span's number in the log that in the store; 0: it has none. */
  constructor(
    private readonly _slotOf: (number: number) => SpanId = number =>
      number as SpanId
  ) {}

  /** Grows whenever a span is added or replaced: compiled filters hold for one version. */
  get version(): number {
    return this._version;
  }

  get size(): number {
    return this._spans.size;
  }

  get(span: SpanId): Span | undefined {
    return this._spans.get(span) ?? this._spans.get(this.now(span));
  }

  /** The span in which a span is counted now that was there a while ago. */
  now(span: SpanId): SpanId {
    return this._gone.get(span) ?? span;
  }

  /** The log's number of any span. */
  numberOf(span: SpanId): number {
    return this.get(span)?.number ?? span;
  }

  /** Results that were asked for in the span, and were there. */
  reusedOf(span: SpanId): number {
    const ofFolded = this._reusedOfFolded.get(this.now(span)) ?? 0;
    return (this.get(span)?.reused ?? 0) + ofFolded;
  }

  /** Text that names the span within its cluster: its uuid, if it has one. */
  idOf(span: SpanId): string {
    return this.get(span)?.uuid || `span-${this.numberOf(span)}`;
  }

  /** The spans that {@link idOf} gives this text, or the one in which the span of this id is counted. */
  byId(id: string): readonly SpanId[] {
    const number = Number(NUMBERED.exec(id)?.[1]);
    const slot = this._slotOf(number);
    const joined = this._joined.get(id);
    return [
      ...(this._byUuid.get(id) ?? []),
      ...(joined === undefined ? [] : [joined]),
      ...(slot > DEFAULT_SPAN || number === DEFAULT_SPAN ? [slot] : [])
    ];
  }

  /** Whether others are counted in one row with the span of this id. */
  sharesRow(id: string): boolean {
    return this.byId(id).some(span => (this.get(span)?.joined ?? 0) > 0);
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
    /** In the log; left out: the same. */
    number?: number;
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
      this._addChild(parent, row.span);
    }
    const above = parent === null ? undefined : this._spans.get(parent);
    const isJoined = this._isJoined(before, row.uuid ?? '');
    const hasOthers = isJoined || (before?.joined ?? 0) > 0;
    const uuid = this._uuidOf(row.span, row.uuid ?? '', before);
    const origin = ORIGINS[row.origin] ?? 'user';
    this._spans.set(row.span, {
      span: row.span,
      number: row.number ?? row.span,
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
      joined: (before?.joined ?? 0) + (isJoined ? 1 : 0),
      cellRun:
        origin === 'cell' && row.code
          ? readCellRun(row.code)
          : (before?.cellRun ?? NO_CELL)
    });
    this._keepCode(row.span, row.code ?? '');
    this._version++;
    this._renewPaths(row.span);
  }

  /**
   * A row that tells of a span which is counted in another one.
   *
   * @param isNew - of which nothing was told before, and for which there is no room.
   */
  addCounted(
    into: SpanId,
    row: {
      readonly id: number;
      readonly closed: number;
      readonly uuid: string;
      readonly reused: number;
      readonly code: string;
    },
    isNew: boolean
  ): void {
    const span = this._spans.get(into);
    if (span === undefined) {
      return;
    }
    const closed = row.closed > span.closed ? row.closed : span.closed;
    const joined = span.joined + (isNew ? 1 : 0);
    this._spans.set(into, { ...span, closed, joined });
    if (isNew && row.uuid !== '') {
      this._keepJoined(row.uuid, into);
    }
    // Of one that was forgotten what it had told is counted already, and only that: the rest is left out once.
    const told =
      this._toldReused.get(row.id) ??
      (isNew || !this._forgotten.has(row.id) ? 0 : row.reused);
    this._addReused(into, row.reused - told);
    this._noteReused(row.id, row.reused);
    this._keepCode(into, row.code);
    this._version++;
  }

  /**
   * Folds finished spans, the oldest first, each with what is below it into the first finished one beside it that is called the same, until
   * so many are left. Those that are open, or busy, or contain such, stay as they are.
   *
   *     step 1 · step 2 · step 3 (open)      step 1 and 2 · step 3
   *     └ read   ├ read                 ►    ├ read
   *              └ fit                       └ fit
   *
   * @param isBusy - whether a span has tasks that run.
   * @returns by span where it is counted now; null: none was folded.
   */
  fold(most: number, isBusy: (span: SpanId) => boolean): Uint16Array | null {
    const isFinished = new Map<SpanId, boolean>();
    const finished = (span: SpanId): boolean => {
      let known = isFinished.get(span);
      if (known === undefined) {
        const isOpen = Number.isNaN(this._spans.get(span)?.closed ?? NaN);
        known =
          !isOpen && !isBusy(span) && this.childrenOf(span).every(finished);
        isFinished.set(span, known);
      }
      return known;
    };
    const firstOf = new Map<string, SpanId>();
    const gone = new Map<SpanId, SpanId>();
    for (const { span } of [...this._spans.values()]) {
      if (this._spans.size <= most) {
        break;
      }
      const found = this._spans.get(span);
      if (found === undefined || span === DEFAULT_SPAN || !finished(span)) {
        continue;
      }
      const key = calledTheSame(found);
      const first = this._spans.get(firstOf.get(key) ?? DEFAULT_SPAN);
      if (first === undefined || calledTheSame(first) !== key) {
        firstOf.set(key, span);
      } else if (first.span !== span) {
        this._merge(first.span, span, gone);
      }
    }
    if (gone.size === 0) {
      return null;
    }
    const into = new Uint16Array(SLOTS);
    for (let span = 0; span < SLOTS; span++) {
      into[span] = span;
    }
    for (const span of gone.keys()) {
      let at = span;
      for (let next = gone.get(at); next !== undefined; next = gone.get(at)) {
        at = next;
      }
      into[span] = at;
    }
    for (const [uuid, span] of this._joined) {
      // (most are counted in one that stays)
      if (into[span] !== span) {
        this._joined.set(uuid, into[span] as SpanId);
      }
    }
    this._gone = new Map(
      [...gone.keys()].map(span => [span, into[span] as SpanId])
    );
    this._version++;
    return into;
  }

  private _merge(into: SpanId, span: SpanId, gone: Map<SpanId, SpanId>): void {
    const below = new Map<string, SpanId>();
    for (const child of this.childrenOf(into)) {
      const key = calledTheSame(this._spans.get(child)!);
      if (!below.has(key)) {
        below.set(key, child);
      }
    }
    for (const child of [...this.childrenOf(span)]) {
      const moved = { ...this._spans.get(child)!, parent: into };
      const twin = below.get(calledTheSame(moved));
      if (twin === undefined) {
        this._detach(this._spans.get(child)!);
        this._spans.set(child, moved);
        this._addChild(into, child);
        below.set(calledTheSame(moved), child);
      } else {
        this._merge(twin, child, gone);
      }
    }
    const [kept, folded] = [this._spans.get(into)!, this._spans.get(span)!];
    this._spans.set(into, {
      ...kept,
      opened: Math.min(kept.opened, folded.opened),
      closed: Math.max(kept.closed, folded.closed),
      joined: kept.joined + folded.joined + 1
    });
    this._noteReused(folded.number, folded.reused);
    this._addReused(into, this.reusedOf(span));
    this._reusedOfFolded.delete(span);
    this._forgetUuid(folded);
    if (folded.uuid !== '') {
      this._keepJoined(folded.uuid, into);
    }
    for (const code of this._code.get(span) ?? []) {
      this._codeLength -= code.length;
    }
    for (const code of this._code.get(span) ?? []) {
      this._keepCode(into, code);
    }
    this._code.delete(span);
    this._detach(folded);
    this._children.delete(span);
    this._spans.delete(span);
    gone.set(span, into);
  }

  private _addReused(span: SpanId, more: number): void {
    if (more > 0) {
      const before = this._reusedOfFolded.get(span) ?? 0;
      this._reusedOfFolded.set(span, before + more);
    }
  }

  private _noteReused(number: number, told: number): void {
    if (told > 0) {
      this._toldReused.delete(number);
      this._toldReused.set(number, told);
      const dropped = dropOldest(this._toldReused, MOST_JOINED);
      if (dropped !== undefined) {
        this._forgotten.add(dropped);
      }
    }
  }

  childrenOf(span: SpanId): readonly SpanId[] {
    return this._children.get(span) ?? [];
  }

  /** The path of any span id; ids that the log does not describe are the default. */
  pathOf(span: SpanId): SpanPath {
    return this.get(span)?.path ?? [DEFAULT_TAG];
  }

  /** Its path as the program gave it; what is of a cell alone is the default too. */
  nameOf(span: SpanId): SpanPath {
    const name = this.get(span)?.name ?? [];
    return name.length === 0 ? [DEFAULT_TAG] : name;
  }

  /** The cell that a span is, or is in. */
  cellOf(span: SpanId): Span | undefined {
    let at = this.get(span);
    while (at !== undefined && at.origin !== 'cell') {
      at = at.parent === null ? undefined : this._spans.get(at.parent);
    }
    return at;
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
    this._forgetUuid(before);
    this._keepJoined(before.uuid, before.span);
    return true;
  }

  private _forgetUuid({ uuid, span }: Span): void {
    const others = this._byUuid.get(uuid) ?? [];
    if (others.length > 1) {
      this._byUuid.set(
        uuid,
        others.filter(each => each !== span)
      );
    } else {
      this._byUuid.delete(uuid);
    }
  }

  private _keepJoined(uuid: string, into: SpanId): void {
    this._joined.set(uuid, into);
    dropOldest(this._joined, MOST_JOINED);
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
    if (parent === DEFAULT_SPAN) {
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

  private _addChild(parent: SpanId, span: SpanId): void {
    const siblings = this._children.get(parent);
    if (siblings === undefined) {
      this._children.set(parent, [span]);
    } else {
      siblings.push(span);
    }
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

/** Equal for spans beside each other that a program called the same. */
export function calledTheSame({ parent, client, origin, tag }: Span): string {
  return `${parent} ${client} ${origin} ${tag}`;
}

/** Returns what it has dropped. */
function dropOldest<K>(map: Map<K, unknown>, most: number): K | undefined {
  const [oldest] = map.size > most ? map.keys() : [];
  if (oldest !== undefined) {
    map.delete(oldest);
  }
  return oldest;
}
