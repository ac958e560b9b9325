/**
 * In which functions the scheduler's own process is: samples of V8's profiler, from the first question on that wants it begun. In the scheduler process.
 *
 * V8 gives samples only when it is stopped. So it is stopped and begun anew now and then, and whenever somebody asks: nothing that has been
 * seen is left out. Each sample has its moment, and they are kept by the second. Until somebody asks it costs nothing: not even its module
 * is loaded.
 */
import type { Profiler, Session } from 'node:inspector';
import { fileURLToPath } from 'node:url';
import type { ProfileSettings } from '../../wire/cluster-settings';

/** Each stop and begin takes some 20 ms, since V8 then goes through all code that there is. */
const CYCLE_SECONDS = 20;
/** Seconds with samples. As many as `distributed` keeps. */
const MOST_BUCKETS = 1_000;
/** Places in the tree of calls. Beyond them, samples count where their stack leaves the tree. */
const MOST_PLACES = 20_000;
const ROOT = 0;
/** What V8 calls the time in which there is nothing to do. */
const IDLE = '(idle)';

type Frame = readonly [name: string, file: string, line: number];

/** Samples of a second: place in the tree → how many ended there. */
type Bucket = {
  readonly second: number;
  readonly counts: Map<number, number>;
};

/** The JSON of an answer; `spanwise/observed/scheduler_profile.py` reads it. */
export type OwnProfileAnswer = {
  /** Seconds that a sample stands for; 0: there are none, by the settings. */
  readonly interval: number;
  /** From when on there are samples; null: from never on. */
  readonly since: number | null;
  /** Why there are none; empty if nothing went wrong. */
  readonly why: string;
  readonly frames: readonly Frame[];
  /** Of each place: the one that called it, and its frame. Place 0 is the root. */
  readonly parents: readonly number[];
  readonly frameOf: readonly number[];
  /** By second: place and count in turns. */
  readonly buckets: readonly (readonly [
    second: number,
    counts: readonly number[]
  ])[];
};

/** Stacks as a tree, which grows to a bound. */
class Places {
  readonly frames: Frame[] = [];
  readonly parents = [-1];
  readonly frameOf = [-1];
  private readonly _frames = new Map<string, number>();
  private readonly _places = new Map<string, number>();

  constructor(private readonly _most: number) {}

  /** The place of a function that is called from another place; there itself if there is no room. */
  below(parent: number, frame: Frame): number {
    const number = this._frame(frame);
    const key = `${parent} ${number}`;
    const known = this._places.get(key);
    if (known !== undefined) {
      return known;
    }
    if (this.parents.length >= this._most) {
      return parent;
    }
    const place = this.parents.push(parent) - 1;
    this.frameOf.push(number);
    this._places.set(key, place);
    return place;
  }

  private _frame(frame: Frame): number {
    const key = frame.join('\n');
    let number = this._frames.get(key);
    if (number === undefined) {
      if (this.parents.length >= this._most) {
        return -1; // no place has it
      }
      number = this.frames.push(frame) - 1;
      this._frames.set(key, number);
    }
    return number;
  }
}

export class OwnProfile {
  private readonly _places: Places;
  private readonly _buckets: Bucket[] = [];
  private _session: Session | null = null;
  /** Why it ended. */
  private _why = '';
  private _timer: NodeJS.Timeout | undefined;
  /** From when on the samples are that are kept. */
  private _since = NaN;

  constructor(
    private readonly _clock: () => number,
    private readonly _settings: ProfileSettings,
    mostPlaces = MOST_PLACES,
    private readonly _mostBuckets = MOST_BUCKETS
  ) {
    this._places = new Places(mostPlaces);
  }

  /** All that has been seen up to now. The first question that `begins` begins it. */
  answer(begins = true): OwnProfileAnswer {
    const { enabled, interval } = this._settings;
    if (begins) {
      this.begin();
    }
    this._cut();
    const { frames, parents, frameOf } = this._places;
    return {
      interval: enabled ? interval : 0,
      since: Number.isNaN(this._since) ? null : this._since,
      why: this._why,
      ...{ frames, parents, frameOf },
      buckets: this._buckets.map(({ second, counts }) => [
        second,
        [...counts].flat()
      ])
    };
  }

  /** Looks from now on, unless it does already. */
  begin(): void {
    if (!this._settings.enabled || this._session !== null || this._why !== '') {
      return;
    }
    this._try(() => {
      // (a plain import would load it in every scheduler)
      const { Session } = process.getBuiltinModule('node:inspector');
      const session = new Session();
      session.connect();
      this._session = session;
      post(session, 'Profiler.enable');
      post(session, 'Profiler.setSamplingInterval', {
        interval: Math.round(this._settings.interval * 1e6)
      });
      post(session, 'Profiler.start');
      this._since = this._clock();
      this._timer = setInterval(
        () => this._cut(),
        CYCLE_SECONDS * 1000
      ).unref();
    });
  }

  close(): void {
    clearInterval(this._timer);
    this._session?.disconnect();
    this._session = null;
  }

  /** Takes the samples up to now. */
  private _cut(): void {
    const session = this._session;
    if (session === null) {
      return;
    }
    this._try(() => {
      const { profile } = post(session, 'Profiler.stop') as unknown as {
        profile: Profiler.Profile;
      };
      const end = this._clock();
      post(session, 'Profiler.start');
      this._take(profile, end);
    });
  }

  /** Whoever asks is told of a failure: the scheduler itself goes on. */
  private _try(act: () => void): void {
    try {
      act();
    } catch (error) {
      this._why = error instanceof Error ? error.message : String(error);
      this.close();
    }
  }

  /** @param end - when the profile ended, in seconds since the scheduler's start. */
  private _take(profile: Profiler.Profile, end: number): void {
    const places = this._placesOf(profile);
    let t = profile.startTime;
    for (const [at, id] of (profile.samples ?? []).entries()) {
      t += profile.timeDeltas?.[at] ?? 0;
      const place = places.get(id);
      if (place !== undefined) {
        const second = Math.floor(end - (profile.endTime - t) * 1e-6);
        const { counts } = this._bucket(second);
        counts.set(place, (counts.get(place) ?? 0) + 1);
      }
    }
  }

  private _bucket(second: number): Bucket {
    const last = this._buckets.at(-1);
    if (last !== undefined && last.second >= second) {
      return last;
    }
    const bucket = { second, counts: new Map<number, number>() };
    this._buckets.push(bucket);
    if (this._buckets.length > this._mostBuckets) {
      this._buckets.shift();
      this._since = this._buckets[0]!.second;
    }
    return bucket;
  }

  /** The place of each node; none of what is done while there is nothing to do. */
  private _placesOf({ nodes }: Profiler.Profile): Map<number, number> {
    const byId = new Map(nodes.map(node => [node.id, node]));
    const places = new Map<number, number>();
    const left = (nodes[0]?.children ?? []).map((id): [number, number] => [
      id,
      ROOT
    ]);
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [id, parent] = next;
      const node = byId.get(id);
      if (node === undefined || node.callFrame.functionName === IDLE) {
        continue;
      }
      const place = this._places.below(parent, frameOf(node.callFrame));
      places.set(id, place);
      for (const child of node.children ?? []) {
        left.push([child, place]);
      }
    }
    return places;
  }
}

function frameOf({
  functionName,
  url,
  lineNumber
}: Profiler.ProfileNode['callFrame']): Frame {
  const file = url.startsWith('file:') ? fileURLToPath(url) : url;
  return [functionName || '(anonymous)', file, lineNumber + 1];
}

/** A session with the own thread answers before `post` is back. */
function post(
  session: Session,
  method: string,
  params: Readonly<Record<string, unknown>> = {}
): object {
  let answer: object | undefined;
  let failure: Error | null = null;
  session.post(method, params, (error: Error | null, result?: object) => {
    failure = error;
    answer = result;
  });
  if (failure !== null || answer === undefined) {
    const why = (failure as { message?: string } | null)?.message;
    throw new Error(`V8 has no profile: ${why ?? `${method} is not answered`}`);
  }
  return answer;
}
