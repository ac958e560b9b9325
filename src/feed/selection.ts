/**
 * The selection of one cluster (or of one notebook, over all its clusters): which tasks are looked at, in which time, and which one of
 * them is selected. One per notebook or cluster name in a page; every panel of it follows, and those of others that show the same cluster
 * (`src/lab/context-pool.ts`). Plain data inside, so that a layout restore, undo and tests get it for free.
 */
import type { FilteredStatus } from '../records/enumerations';
import type { IDisposable } from '@lumino/disposable';
import { type ISignal, Signal } from '@lumino/signaling';
import type { Filter, SpanPath, SpanTerm, TimeRange } from '../wire/panel-link';

/** What a click selects. It is no filter until the user says so (`useSelectedAsFilter`). */
type Selected =
  /** `function`: of the part of it that was clicked, where it has several. */
  | { readonly kind: 'run'; readonly run: number; readonly function?: string }
  | { readonly kind: 'function'; readonly name: string }
  | { readonly kind: 'span'; readonly path: SpanPath };

export type SelectionState = {
  readonly filter: Filter;
  readonly time: TimeRange;
  readonly selected: Selected | null;
};

export type SpanMatch = 'any' | 'all' | 'not';

/** One pass of a path: one entry of a `with` block, one run of a cell. */
type PassTerm = Extract<SpanTerm, { path: SpanPath }> & {
  readonly id: string;
};

/** One condition of the filter; the chip row shows each as a chip. */
export type Condition =
  | {
      /** Stable while the condition exists; what `remove` takes. */
      readonly id: string;
      readonly kind:
        | SpanMatch
        | 'function'
        | 'not function'
        | 'worker'
        | 'status';
      readonly value: string;
      /** For a span by path, the beginning of the value: "Alice › ". */
      readonly within?: string;
      /** True: every span of this tag, wherever it is. */
      readonly isTag?: true;
    }
  | {
      readonly id: 'time';
      readonly kind: 'time';
      readonly range: Exclude<TimeRange, 'all'>;
    };

const EMPTY: SelectionState = { filter: {}, time: 'all', selected: null };
/** Steps that Ctrl Z can go back; a step is a few hundred bytes. */
const UNDO_STEPS = 50;

export class SelectionModel implements IDisposable {
  private _state: SelectionState;
  private readonly _past: SelectionState[] = [];
  private readonly _changed = new Signal<this, SelectionState>(this);
  /** Filter and range when the selected item was selected; '': not known. */
  private _selectedUnder = '';
  private _isDisposed = false;

  constructor(state: SelectionState = EMPTY) {
    this._state = state;
  }

  /** Filter, time or the selected item changed. */
  get changed(): ISignal<this, SelectionState> {
    return this._changed;
  }

  get state(): SelectionState {
    return this._state;
  }

  get filter(): Filter {
    return this._state.filter;
  }

  get time(): TimeRange {
    return this._state.time;
  }

  get selected(): Selected | null {
    return this._state.selected;
  }

  get selectedRun(): number | null {
    const selected = this._state.selected;
    return selected?.kind === 'run' ? selected.run : null;
  }

  /** Filter and range are those under which the selected item was selected, so that they leave it. */
  get isAsSelected(): boolean {
    return this._selectedUnder === askedText(this._state);
  }

  get isFiltered(): boolean {
    return this.conditions.length > 0;
  }

  get conditions(): readonly Condition[] {
    return conditionsOf(this._state);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  setFilter(filter: Filter): void {
    this._step({ ...this._state, filter: tidy(filter) });
  }

  setTime(time: TimeRange): void {
    this._step({ ...this._state, time });
  }

  /** Select an item or, with null, nothing. It is no undo step, since it loses nothing. */
  select(selected: Selected | null): void {
    this._set({ ...this._state, selected });
  }

  /** Matches a span as `match`; the same call again takes it back; another `match` moves it there. */
  toggleSpan(term: SpanTerm, match: SpanMatch): void {
    const had = this.matchOf(term) === match;
    const spans = this._state.filter.spans ?? {};
    const without = (list: readonly SpanTerm[] | undefined) =>
      (list ?? []).filter(other => !isSameTerm(other, term));
    const next = {
      any: without(spans.any),
      all: without(spans.all),
      not: without(spans.not)
    };
    if (!had) {
      next[match] = [...next[match], term];
    }
    this.setFilter({ ...this._state.filter, spans: next });
  }

  /** `any` for this span and no other, `all` and `not` of others stay: a plain click in the tree. A second click takes it back. */
  pickSpan(term: SpanTerm): void {
    const spans = this._state.filter.spans ?? {};
    const isOnly =
      spans.any?.length === 1 && isSameTerm(spans.any[0] as SpanTerm, term);
    const others = (list: readonly SpanTerm[] | undefined) =>
      (list ?? []).filter(other => !isSameTerm(other, term));
    this.setFilter({
      ...this._state.filter,
      spans: {
        any: isOnly ? [] : [term],
        all: others(spans.all),
        not: others(spans.not)
      }
    });
  }

  matchOf(term: SpanTerm): SpanMatch | null {
    const spans = this._state.filter.spans ?? {};
    for (const match of ['any', 'all', 'not'] as const) {
      if (spans[match]?.some(other => isSameTerm(other, term))) {
        return match;
      }
    }
    return null;
  }

  /** Add a function to the filter (or, with `exclude`, to what is left out); a second time takes it away. */
  toggleFunction(name: string, exclude = false): void {
    const { functions = [], notFunctions = [], ...rest } = this._state.filter;
    const list = exclude ? notFunctions : functions;
    const without = (names: readonly string[]) =>
      names.filter(other => other !== name);
    const toggled = list.includes(name) ? without(list) : [...list, name];
    this.setFilter({
      ...rest,
      functions: exclude ? without(functions) : toggled,
      notFunctions: exclude ? toggled : without(notFunctions)
    });
  }

  /** Of how runs ended. */
  toggleStatus(status: FilteredStatus): void {
    const { status: chosen = [] } = this._state.filter;
    this.setFilter({
      ...this._state.filter,
      status: chosen.includes(status)
        ? chosen.filter(other => other !== status)
        : [...chosen, status]
    });
  }

  toggleWorker(worker: number): void {
    const workers = this._state.filter.workers ?? [];
    this.setFilter({
      ...this._state.filter,
      workers: workers.includes(worker)
        ? workers.filter(other => other !== worker)
        : [...workers, worker]
    });
  }

  /** Turn the selected function or span into a filter; a selected run has no filter of its own. */
  useSelectedAsFilter(): void {
    const selected = this._state.selected;
    if (selected?.kind === 'function') {
      this.toggleFunction(selected.name);
    } else if (selected?.kind === 'span') {
      this.toggleSpan({ path: selected.path }, 'any');
    }
  }

  /** What a reload brings back; no step to undo. */
  restore(state: SelectionState): void {
    this._set(state, '');
  }

  /** Takes what another selection of the same cluster has become; Ctrl Z goes back from it here, too. */
  follow(state: SelectionState): void {
    if (askedText(this._state) !== askedText(state)) {
      this._step(state);
    } else {
      this._set(state);
    }
  }

  /**
   * The cluster became another one, or its log began anew; Ctrl Z brings nothing back that is of the log before either.
   *
   * @param next - the selection there, if there is one already.
   */
  enterLog(next = forNextLog(this._state)): void {
    const past = this._past.map(forNextLog);
    const texts = [...past, next].map(state => JSON.stringify(state));
    this._past.splice(
      0,
      Infinity,
      ...past.filter((_, step) => texts[step] !== texts[step + 1])
    );
    this._set(next, '');
  }

  /** Take away the condition with this id. */
  remove(id: string): void {
    this._step(withoutCondition(this._state, id));
  }

  /** No filter and the whole time; the selected item stays. */
  clear(): void {
    if (this.isFiltered) {
      this._step({ ...this._state, filter: {}, time: 'all' });
    }
  }

  get canUndo(): boolean {
    return this._past.length > 0;
  }

  undo(): void {
    const previous = this._past.pop();
    if (previous !== undefined) {
      this._set(previous);
    }
  }

  toJSON(): SelectionState {
    return this._state;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    Signal.clearData(this);
  }

  private _step(next: SelectionState): void {
    if (JSON.stringify(next) === JSON.stringify(this._state)) {
      return;
    }
    this._past.push(this._state);
    if (this._past.length > UNDO_STEPS) {
      this._past.shift();
    }
    this._set(next);
  }

  /** @param under - as `_selectedUnder`, if another item is selected. */
  private _set(next: SelectionState, under = askedText(next)): void {
    if (JSON.stringify(next) === JSON.stringify(this._state)) {
      return;
    }
    const { selected } = this._state;
    if (JSON.stringify(next.selected) !== JSON.stringify(selected)) {
      this._selectedUnder = under;
    }
    this._state = next;
    this._changed.emit(next);
  }
}

/**
 * A term by its names: one span by its path, one pass of it by what it was called, every span of a tag, or all that a notebook computes; the
 * notebook's name comes first.
 */
export function termWords(term: SpanTerm): {
  readonly value: string;
  readonly within?: string;
  readonly isTag?: true;
} {
  const client = term.client === undefined ? [] : [fileName(term.client)];
  if ('tag' in term && client.length === 0) {
    return { value: term.tag, isTag: true };
  }
  const pass = 'tag' in term ? undefined : (term.pass ?? term.id);
  const names = [
    ...client,
    ...('tag' in term ? [term.tag] : term.path),
    ...(pass === undefined ? [] : [pass])
  ];
  const within = names
    .slice(0, -1)
    .map(tag => `${tag} › `)
    .join('');
  return {
    value: `${within}${names.at(-1) ?? ''}`,
    ...(within !== '' && { within })
  };
}

/** The last part of a path; programs without one go by their name. */
export function fileName(path: string): string {
  return path.slice(
    1 + Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'))
  );
}

function askedText({ filter, time }: SelectionState): string {
  return JSON.stringify({ filter, time });
}

function isSameTerm(a: SpanTerm, b: SpanTerm): boolean {
  return termKey(a) === termKey(b);
}

/**
 * What `toJSON` wrote, read back from a state database that other versions, other extensions and the user can write to.
 * Anything that is not a selection gives an empty one; it is a convenience, not data.
 */
export function selectionFromJSON(value: unknown): SelectionState {
  if (!isRecord(value)) {
    return EMPTY;
  }
  return {
    filter: readFilter(value.filter),
    time: readTime(value.time),
    selected: null
  };
}

/** What means the same in any log: names do; passes, the number of a run or worker and the seconds of a range are of one log. */
export function forNextLog({
  filter,
  time,
  selected
}: SelectionState): SelectionState {
  const spans = Object.fromEntries(
    SPAN_MATCHES.map(match => [
      match,
      filter.spans?.[match]?.filter(term => !isPass(term))
    ])
  );
  return {
    filter: tidy({ ...filter, spans, workers: undefined }),
    time: time !== 'all' && 'from' in time ? 'all' : time,
    selected: selected?.kind === 'run' ? null : selected
  };
}

/** Whether it is one pass of its path: what it was called when it was chosen makes no difference. */
function isPass(term: SpanTerm): term is PassTerm {
  return 'path' in term && term.id !== undefined;
}

function termKey(term: SpanTerm): string {
  const key = 'tag' in term ? ['tag', term.tag] : term.path;
  return JSON.stringify([
    ...(term.client === undefined ? [] : [{ client: term.client }]),
    ...(isPass(term) ? [{ id: term.id }] : []),
    ...key
  ]);
}

const SPAN_MATCHES = ['any', 'all', 'not'] as const;

/** One of each part of a filter, and of a range that is not all. */
export function conditionsOf({
  filter,
  time
}: Pick<SelectionState, 'filter' | 'time'>): Condition[] {
  const conditions: Condition[] = [];
  for (const match of SPAN_MATCHES) {
    for (const term of filter.spans?.[match] ?? []) {
      conditions.push({
        id: `${match}:${termKey(term)}`,
        kind: match,
        ...termWords(term)
      });
    }
  }
  for (const name of filter.functions ?? []) {
    conditions.push({ id: `function:${name}`, kind: 'function', value: name });
  }
  for (const name of filter.notFunctions ?? []) {
    conditions.push({
      id: `notFunction:${name}`,
      kind: 'not function',
      value: name
    });
  }
  for (const worker of filter.workers ?? []) {
    conditions.push({
      id: `worker:${worker}`,
      kind: 'worker',
      value: String(worker)
    });
  }
  for (const status of filter.status ?? []) {
    conditions.push({ id: `status:${status}`, kind: 'status', value: status });
  }
  if (time !== 'all') {
    conditions.push({ id: 'time', kind: 'time', range: time });
  }
  return conditions;
}

function withoutCondition(state: SelectionState, id: string): SelectionState {
  if (id === 'time') {
    return { ...state, time: 'all' };
  }
  const { filter } = state;
  const spans = Object.fromEntries(
    SPAN_MATCHES.map(match => [
      match,
      filter.spans?.[match]?.filter(term => `${match}:${termKey(term)}` !== id)
    ])
  );
  return {
    ...state,
    filter: tidy({
      spans,
      functions: filter.functions?.filter(name => `function:${name}` !== id),
      notFunctions: filter.notFunctions?.filter(
        name => `notFunction:${name}` !== id
      ),
      workers: filter.workers?.filter(worker => `worker:${worker}` !== id),
      status: filter.status?.filter(status => `status:${status}` !== id)
    })
  };
}

/** Without empty lists, so that equal filters are equal as text (cache keys, undo). */
function tidy(filter: Filter): Filter {
  const filled = <T>(list: readonly T[] | undefined) =>
    list !== undefined && list.length > 0 ? list : undefined;
  const spans = {
    any: filled(filter.spans?.any),
    all: filled(filter.spans?.all),
    not: filled(filter.spans?.not)
  };
  const whole = {
    spans:
      spans.any || spans.all || spans.not ? dropUndefined(spans) : undefined,
    functions: filled(filter.functions),
    notFunctions: filled(filter.notFunctions),
    workers: filled(filter.workers),
    status: filled(filter.status)
  };
  return dropUndefined(whole);
}

function dropUndefined<T extends object>(value: T): T {
  return Object.fromEntries(
    Object.entries(value).filter(([, part]) => part !== undefined)
  ) as T;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf<T>(
  value: unknown,
  isOne: (item: unknown) => item is T
): T[] | undefined {
  return Array.isArray(value) ? value.filter(isOne) : undefined;
}

const isText = (item: unknown): item is string => typeof item === 'string';
const isNumber = (item: unknown): item is number =>
  typeof item === 'number' && Number.isFinite(item);
const isStatus = (item: unknown): item is FilteredStatus =>
  item === 'ok' || item === 'failed' || item === 'lost' || item === 'cancelled';
const isTerm = (item: unknown): item is SpanTerm =>
  isRecord(item) &&
  [item.client, item.id, item.pass].every(
    each => each === undefined || isText(each)
  ) &&
  (isText(item.tag) || (Array.isArray(item.path) && item.path.every(isText)));

function readFilter(value: unknown): Filter {
  if (!isRecord(value)) {
    return {};
  }
  const spans = isRecord(value.spans) ? value.spans : {};
  return tidy({
    spans: {
      any: listOf(spans.any, isTerm),
      all: listOf(spans.all, isTerm),
      not: listOf(spans.not, isTerm)
    },
    functions: listOf(value.functions, isText),
    notFunctions: listOf(value.notFunctions, isText),
    workers: listOf(value.workers, isNumber),
    status: listOf(value.status, isStatus)
  });
}

function readTime(value: unknown): TimeRange {
  if (isRecord(value)) {
    if (isNumber(value.from) && isNumber(value.to)) {
      return { from: value.from, to: value.to };
    }
    if (isNumber(value.last)) {
      return { last: value.last };
    }
  }
  return 'all';
}
