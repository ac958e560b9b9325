/** One watch of a panel: when it is answered, and with what. In the observer process. */
import { changesByTime } from '../../observer/view-tables';
import { paramsOf } from '../../wire/question';
import type { Filter, TimeRange, ViewName } from '../../wire/panel-link';
import {
  answerVersion,
  questionKey,
  type Answer,
  type Question
} from './answers';
import type { ClusterEntry } from './clusters';
import { foldFailedSentence, notArrivedSentence } from './sentences';

const DEFAULT_HZ = 4;
/** A watch may take a quarter of the process: an answer that took 100 ms is repeated after 400 ms at the earliest. */
const REST_PER_WORK = 4;
/** While tasks run, an answer that tells how long they do is made again after this time, though no row came. */
const GROWN_MILLISECONDS = 1000;
/** A timer takes 24 days at most, and runs at once if it is given more. */
const LONGEST_TIMER_MILLISECONDS = 3_600_000;
/** Answers that may be under way before the panel acknowledges that it drew one. */
const MOST_UNACKNOWLEDGED = 2;
/** How long a query waits for the block that it must not miss, or for the cluster itself. */
export const ARRIVAL_MILLISECONDS = 10_000;

type WatchRequest = {
  readonly id: number;
  /** The viewer's number for what is asked; see `PANEL_LINK`. */
  readonly question: number;
  readonly view: ViewName;
  readonly filter: Filter;
  readonly time: TimeRange;
  readonly params: Readonly<Record<string, unknown>>;
  readonly maxHz?: number | undefined;
  readonly afterSeq?: number | undefined;
};
/** Which question of which watch is answered. */
export type Answered = Pick<WatchRequest, 'id' | 'question'>;
type WatchOutput = {
  snapshot(to: Answered, seq: number, logId: string, answer: Answer): void;
  failure(to: Answered, sentence: string): void;
  /** A query has had its answer: nothing more will come. */
  done(id: number): void;
  /** The viewer does not read what was sent: `wake` is called when it reads again. */
  isFull(): boolean;
  /** The asker whose turn the folds take. */
  readonly owner: object;
};

/**
 * Answers at once, then whenever the rows that the view looks at have changed, at most maxHz times a second; and, while tasks run that
 * write no row, once a second if time alone changes the answer. While two answers are not acknowledged nothing is computed: the next answer
 * is the newest, which is all that merging would give.
 *
 * With maxHz 0 it is a query: one answer, after `afterSeq` if that is given.
 */
export class RunningWatch {
  private _question: Question;
  private _number: number;
  private _seq = 0;
  private _acknowledged = 0;
  private _sentVersion: string | undefined;
  private _nextAt = 0;
  /** When the answer that was sent is to be made again if tasks still run. Of one time for all that were given it: they share the next. */
  private _grownAt = Infinity;
  /** Up to when it counts, in seconds since the cluster's start. */
  private _countsTo = 0;
  private _timer: NodeJS.Timeout | undefined;
  private _timerAt = 0;
  private _computing = false;
  private _generation = 0;
  private _disposed = false;
  /** The page's newest question was refused, so nothing is answered until the next change; `_question` is the one before. */
  private _isRefused = false;
  private readonly _stopListening: () => void;
  private _arrival: NodeJS.Timeout | undefined;

  constructor(
    private readonly _request: WatchRequest,
    private readonly _entry: ClusterEntry,
    private readonly _output: WatchOutput
  ) {
    this._question = {
      view: _request.view,
      filter: _request.filter,
      time: _request.time,
      params: paramsOf(_request.view, _request.params)
    };
    this._number = _request.question;
    this._stopListening = _entry.cluster.onChange(() => this.wake());
    this._expectBlock();
    this.wake();
  }

  get entry(): ClusterEntry {
    return this._entry;
  }

  get filter(): Filter {
    return this._question.filter;
  }

  /** Changes the question. If it and its number stay the same there is no new answer, unless a change in between was refused. */
  change({
    question: number,
    time,
    params
  }: Pick<WatchRequest, 'question'> &
    Partial<Pick<Question, 'time' | 'params'>>): void {
    const { view, filter } = this._question;
    const question = {
      view,
      filter,
      time: time ?? this._question.time,
      params:
        params === undefined ? this._question.params : paramsOf(view, params)
    };
    if (
      !this._isRefused &&
      number === this._number &&
      questionKey(question) === questionKey(this._question)
    ) {
      return;
    }
    if (this._isRefused) {
      this._isRefused = false;
      this._expectBlock();
    }
    this._question = question;
    this._number = number;
    this._sentVersion = undefined;
    this._generation++;
    // The user waits for this answer: it is sent at once, whatever is on its way and however short the time since the last one.
    this._nextAt = 0;
    clearTimeout(this._timer);
    this._timer = undefined;
    this._acknowledged = this._seq;
    this._computing = false;
    this.wake();
  }

  /**
   * The new question was refused, and the page has been told why. Answers to the old question must not follow: they would remove that
   * sentence and pass for answers to the new question. A query ends here.
   */
  refuseChange(): void {
    if (this._isQuery) {
      this._end();
      return;
    }
    this._isRefused = true;
    this._generation++;
    this._computing = false;
    clearTimeout(this._arrival);
  }

  ack(seq: number): void {
    if (seq <= this._seq) {
      // Other numbers mean answers of the log before this one, or no answer at all.
      this._acknowledged = Math.max(this._acknowledged, seq);
      this.wake();
    }
  }

  dispose(): void {
    this._disposed = true;
    this._stopListening();
    clearTimeout(this._timer);
    clearTimeout(this._arrival);
    this._timer = undefined;
  }

  private get _isQuery(): boolean {
    return this._request.maxHz === 0;
  }

  private get _answered(): Answered {
    return { id: this._request.id, question: this._number };
  }

  private get _hasArrived(): boolean {
    return this._entry.cluster.store.seq >= (this._request.afterSeq ?? 0);
  }

  private _expectBlock(): void {
    if (this._hasArrived) {
      return;
    }
    this._arrival = setTimeout(() => {
      const { afterSeq = 0 } = this._request;
      const have = this._entry.cluster.store.seq;
      this._output.failure(this._answered, notArrivedSentence(afterSeq, have));
      if (this._isQuery) {
        this._end();
      }
    }, ARRIVAL_MILLISECONDS);
  }

  private _end(): void {
    this.dispose();
    this._output.done(this._request.id);
  }

  /** Checks again whether there is something to answer. */
  wake(): void {
    if (this._hasArrived) {
      // The wait is over, whether or not the answer can be given now.
      clearTimeout(this._arrival);
    }
    if (
      this._disposed ||
      this._isRefused ||
      this._output.isFull() ||
      this._computing ||
      (this._timer !== undefined && this._timerAt <= this._nextAt) ||
      !this._hasArrived ||
      (this._isQuery && this._seq > 0) ||
      this._seq - this._acknowledged >= MOST_UNACKNOWLEDGED
    ) {
      return;
    }
    const dueAt = this._dueAt();
    if (this._timer !== undefined && this._timerAt <= dueAt) {
      return;
    }
    clearTimeout(this._timer);
    this._timer = undefined;
    if (dueAt === Infinity) {
      return;
    }
    const wait = dueAt - Date.now();
    if (wait <= 0) {
      void this._answer();
      return;
    }
    this._timerAt = dueAt;
    this._timer = setTimeout(
      () => {
        this._timer = undefined;
        this.wake();
      },
      Math.min(wait, LONGEST_TIMER_MILLISECONDS)
    );
  }

  /** When the next answer is due: Infinity if it would be the one that was sent. */
  private _dueAt(): number {
    const { cluster } = this._entry;
    const { view, time } = this._question;
    if (this._sentVersion !== answerVersion(cluster, view)) {
      return this._nextAt;
    }
    return cluster.isBusy && changesByTime(view, time, this._countsTo)
      ? Math.max(this._nextAt, this._grownAt)
      : Infinity;
  }

  private async _answer(): Promise<void> {
    this._computing = true;
    const generation = this._generation;
    const isFirst = this._sentVersion === undefined;
    try {
      const answer = await this._entry.answers.get(
        this._question,
        isFirst,
        this._request.afterSeq,
        {
          owner: this._output.owner,
          isWanted: () => !this._disposed && generation === this._generation
        }
      );
      if (this._disposed || generation !== this._generation) {
        return;
      }
      this._computing = false;
      if (this._output.isFull()) {
        // The viewer stopped reading while this was computed: it will get a newer answer when it reads again.
        return;
      }
      this._sentVersion = answer.version;
      const hz = this._request.maxHz || DEFAULT_HZ;
      this._nextAt =
        Date.now() + Math.max(1000 / hz, answer.milliseconds * REST_PER_WORK);
      const { cluster } = this._entry;
      this._grownAt = answer.at + GROWN_MILLISECONDS;
      this._countsTo = cluster.now() - (Date.now() - answer.at) / 1000;
      const { logId } = cluster.store;
      const seq = this._seq + 1;
      this._output.snapshot(this._answered, seq, logId, answer);
      // Counted only after sending: an answer that was too long to be sent is never acknowledged.
      this._seq = seq;
    } catch (error) {
      if (this._disposed || generation !== this._generation) {
        return;
      }
      this._computing = false;
      // It is not computed again before the rows change: the same rows would fail the same way.
      this._sentVersion = answerVersion(
        this._entry.cluster,
        this._question.view
      );
      this._grownAt = Infinity;
      this._nextAt = Date.now() + 1000;
      const sentence = foldFailedSentence(this._question.view, error);
      this._output.failure(this._answered, sentence);
    }
    if (this._isQuery) {
      this._end();
    } else {
      this.wake();
    }
  }
}
