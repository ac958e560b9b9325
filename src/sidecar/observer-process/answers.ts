/** Answers of views, computed once for all watches that ask the same. In the observer process. */
import { BoundedMap } from '../../base/bounded-map';
import { asOfNow, type Slices } from '../../observer/folds/context';
import {
  divided,
  foldView,
  type ViewAnswer
} from '../../observer/folds/fold-view';
import { restartedByFolding } from '../../observer/folds/restarted';
import { viewVersion } from '../../observer/view-tables';
import type { Filter, TimeRange, ViewName } from '../../wire/panel-link';
import { filterKey } from '../../observer/filter';
import type { ObservedCluster } from './observed-cluster';
import { Job, type Asker, type WorkQueue } from './work-queue';

export type Question = {
  readonly view: ViewName;
  readonly filter: Filter;
  readonly time: TimeRange;
  /** As {@link paramsOf} gives them. */
  readonly params: Readonly<Record<string, unknown>>;
};
export type Answer = ViewAnswer & {
  readonly logSeq: number;
  /** The {@link answerVersion} from which it was computed. */
  readonly version: string;
  /** How long it took to compute: the next computation for the same question waits four times as long. */
  readonly milliseconds: number;
  /** When it was computed, by the process's clock. */
  readonly at: number;
};

const ANSWERS_KEPT = 16;
const always: Asker = { owner: {}, isWanted: () => true };
/** Running tasks grow without any new row: while tasks run, a kept answer is given again only up to this age. */
const FRESH_MILLISECONDS = 250;

/** A fold under way, the newest block that was in when it began, and the askers that wait for it. */
type Computing = {
  readonly logSeq: number;
  readonly job: Job<ViewAnswer>;
  readonly askers: Asker[];
  readonly answer: Promise<Answer>;
};

/** Changes whenever the answer to a question may have changed. */
export function answerVersion(
  cluster: ObservedCluster,
  view: ViewName
): string {
  return `${viewVersion(cluster.store, view)}/${cluster.state}`;
}

/** One cluster's recent answers, and the answers that are being computed. */
export class Answers {
  private readonly _kept = new BoundedMap<string, Answer>(ANSWERS_KEPT);
  private readonly _running = new Map<string, Computing>();

  constructor(
    private readonly _cluster: ObservedCluster,
    private readonly _queue: WorkQueue
  ) {}

  /**
   * The answer as of now: kept, under way or computed. A fold under way is shared: it may miss the newest few rows. It is dropped
   * (NotWanted) when no asker wants it any more.
   *
   * @param afterSeq - the block that the answer must not miss.
   */
  get(
    question: Question,
    urgent: boolean,
    afterSeq = 0,
    asker: Asker = always
  ): Promise<Answer> {
    const key = questionKey(question);
    const version = answerVersion(this._cluster, question.view);
    const kept = this._kept.get(key);
    if (kept?.version === version && this._isFresh(kept)) {
      return Promise.resolve(kept);
    }
    const running = this._running.get(key);
    if (running !== undefined && running.logSeq >= afterSeq) {
      running.askers.push(asker);
      this._queue.join(running.job, urgent, asker.owner);
      return running.answer;
    }
    const askers = [asker];
    const job = new Job(this._fold(question), () =>
      askers.some(each => each.isWanted())
    );
    const computing: Computing = {
      logSeq: this._cluster.store.seq,
      job,
      askers,
      answer: this._compute(job, key, version).finally(() => {
        if (this._running.get(key) === computing) {
          this._running.delete(key);
        }
      })
    };
    this._running.set(key, computing);
    this._queue.join(job, urgent, asker.owner);
    return computing.answer;
  }

  private _isFresh(answer: Answer): boolean {
    const { ended, store } = this._cluster;
    return (
      ended ||
      store.shape.running.size === 0 ||
      Date.now() - answer.at < FRESH_MILLISECONDS
    );
  }

  private _fold(question: Question): Slices<ViewAnswer> {
    const cluster = this._cluster;
    const begin = (): Slices<ViewAnswer> => {
      const context = asOfNow({
        log: cluster.store,
        filter: cluster.compiled(question.filter),
        time: question.time,
        now: cluster.now(),
        ended: cluster.ended
      });
      return foldView(question.view, context, question.params);
    };
    return restartedByFolding(cluster.store, begin, divided);
  }

  private async _compute(
    job: Job<ViewAnswer>,
    key: string,
    version: string
  ): Promise<Answer> {
    const logSeq = this._cluster.store.seq;
    const at = Date.now();
    const { value, milliseconds } = await job.result;
    const answer = { ...value, logSeq, version, milliseconds, at };
    this._kept.set(key, answer);
    return answer;
  }
}

/** Equal for questions with equal answers. */
export function questionKey(question: Question): string {
  return JSON.stringify([
    question.view,
    filterKey(question.filter),
    question.time,
    question.params
  ]);
}
