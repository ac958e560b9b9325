/** What a panel takes for the answer to its question, whatever comes when. */
import * as fc from 'fast-check';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import { FakeSocket } from '../../feed/__tests__/fake-socket';
import { ClusterRef } from '../../feed/cluster-ref';
import { Feed } from '../../feed/feed';
import { SelectionModel } from '../../feed/selection';
import { english } from '../../testing/translators';
import type { Filter, TimeRange } from '../../wire/panel-link';
import type { PanelContext } from '../panel-context';
import { PanelWatch } from '../panel-watch';

const RANGES: readonly TimeRange[] = [
  'all',
  { from: 0, to: 1 },
  { from: 0, to: 2 },
  { last: 5 }
];
const SORTS = ['start', 'duration'];

type Numbered = 'time' | 'sort' | 'deliver' | 'refuse';
type Step =
  | { readonly do: Numbered; readonly n: number }
  | { readonly do: 'filter' | 'rows' | 'break' | 'hide' };

const numbered = (name: Numbered) =>
  fc.nat({ max: 5 }).map((n): Step => ({ do: name, n }));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: numbered('deliver') },
  { weight: 5, arbitrary: numbered('time') },
  { weight: 2, arbitrary: numbered('sort') },
  { weight: 1, arbitrary: numbered('refuse') },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Step>(
      { do: 'filter' },
      { do: 'rows' },
      { do: 'break' },
      { do: 'hide' }
    )
  }
);

/** What is asked under one id. */
type Asked = {
  readonly question: number;
  readonly filter: Filter;
  readonly time: TimeRange;
  readonly params: Readonly<Record<string, unknown>>;
};

/** A panel's watch over the page's own feed, and an observer whose answers take any time. */
class Bench {
  readonly selection = new SelectionModel();
  sort = SORTS[0]!;
  readonly watching: PanelWatch;
  private readonly _feed: Feed;
  private _socket!: FakeSocket;
  private readonly _asked = new Map<number, Asked>();
  /** Answers on their way, of whichever question. */
  private _underWay: ((isRefused: boolean) => void)[] = [];
  private _seq = 0;
  /** What was answered, by the number that its answer gives as its count of tasks. */
  private readonly _answers: Omit<Asked, 'question'>[] = [];

  constructor() {
    this._feed = new Feed({
      trans: english,
      open: () => (this._socket = new FakeSocket()),
      random: () => 0.5
    });
    const cluster = new ClusterRef({
      feed: this._feed,
      target: {},
      notebookOf: info => info.notebook?.path
    });
    this.watching = new PanelWatch({
      context: {
        feed: this._feed,
        cluster,
        selection: this.selection
      } as unknown as PanelContext,
      view: 'tasks',
      params: () => ({ sort: this.sort })
    });
    this.watching.start();
    this._opened();
  }

  /** Whatever is on its way: what is shown as answered is the answer to what is asked. */
  check(): void {
    this._read();
    const { watching, selection } = this;
    const shown = this._shown();
    if (shown !== null) {
      const { filter, time } = shown;
      expect(watching.answered).toEqual({ filter, time });
    }
    const isAnswered = watching.watch !== null && !watching.isAsking;
    if (isAnswered && watching.failure === null && this._isOpen) {
      expect(shown).toEqual({
        filter: selection.filter,
        time: selection.time,
        params: { sort: this.sort }
      });
    }
    if (shown !== null && watching.isAsking) {
      expect(watching.isOutdated).toBe(
        JSON.stringify([shown.filter, shown.time]) !==
          JSON.stringify([selection.filter, selection.time])
      );
    }
  }

  take(step: Step): void {
    this._read();
    const { watching, selection } = this;
    if (step.do === 'time') {
      selection.setTime(RANGES[step.n % RANGES.length]!);
    } else if (step.do === 'sort') {
      this.sort = SORTS[step.n % SORTS.length]!;
      watching.setParams({ sort: this.sort });
    } else if (step.do === 'filter') {
      selection.toggleFunction('inc');
    } else if (step.do === 'rows') {
      [...this._asked.keys()].forEach(id => this._answer(id));
    } else if (step.do === 'hide') {
      watching.stop();
      watching.start();
    } else if (step.do === 'deliver' || step.do === 'refuse') {
      const place = step.n % Math.max(1, this._underWay.length);
      this._underWay.splice(place, 1)[0]?.(step.do === 'refuse');
    } else {
      this._asked.clear();
      this._underWay = [];
      this._socket.drop();
      this._feed.reconnect();
      this._opened();
    }
  }

  /** Rows come, and everything arrives. */
  settle(): void {
    this.take({ do: 'rows' });
    while (this._underWay.length > 0) {
      this._underWay.shift()!(false);
      this._read();
    }
  }

  dispose(): void {
    this.watching.dispose();
    this._feed.dispose();
  }

  private get _isOpen(): boolean {
    return this._feed.status.kind === 'open';
  }

  private _opened(): void {
    this._socket.open();
    this._socket.answer('clusters', { clusters: [{ ...clusterInfo() }] });
  }

  private _shown(): Omit<Asked, 'question'> | null {
    const result = this.watching.snapshot?.result;
    return result?.view === 'tasks' ? this._answers[result.total]! : null;
  }

  /** What the page has sent. */
  private _read(): void {
    for (const { type, fields } of this._socket.taken()) {
      const id = Number(fields.id);
      if (type === 'unwatch') {
        this._asked.delete(id);
      } else if (type === 'watch' || type === 'change') {
        const { question, filter, time, params } = {
          ...this._asked.get(id),
          ...fields
        } as Asked;
        this._asked.set(id, { question, filter, time, params });
        this._answer(id);
      }
    }
  }

  private _answer(id: number): void {
    const { question, ...asked } = this._asked.get(id)!;
    const total = this._answers.push(asked) - 1;
    const seq = ++this._seq;
    this._underWay.push(isRefused => {
      if (isRefused) {
        const sentence = 'It cannot be answered.';
        this._socket.answer('failure', { id, question, sentence });
        return;
      }
      this._socket.answer('snapshot', {
        ...{ id, question, seq, logId: 'log', logSeq: seq },
        honoured: { how: 'exact' },
        result: { view: 'tasks', total, rows: [] }
      });
    });
  }
}

describe('PanelWatch', () => {
  it('takes for its answer that to its newest question alone, in whatever order answers come', () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 2, maxLength: 20, size: 'max' }),
        steps => {
          const bench = new Bench();
          try {
            for (const each of steps) {
              bench.take(each);
              bench.check();
            }
            bench.settle();
            expect(bench.watching.isAsking).toBe(false);
            expect(bench.watching.failure).toBeNull();
            bench.check();
          } finally {
            bench.dispose();
          }
        }
      ),
      { numRuns: 500 }
    );
  });
});
