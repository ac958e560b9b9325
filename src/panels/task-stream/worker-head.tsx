/**
 * What a worker is called and how busy it is: in a header over its lanes, or, where it has one lane, beside that one:
 *
 *     ▾ worker 0   2 threads · busy 89 % · 3.10 of 4.00 GiB        header
 *     ▾ worker 1   ████ ██████                                     a lane that has room for two lines
 *     busy 78 %    ████ ██████
 *     ▾ worker 2 82 %   ████ ██████                                a lower one
 */
import { createElement } from '../../charts/shown-element';
import { HEADER_HEIGHT, ROOMY_LANE } from './lane-layout';
import type { WorkerHeader } from './rows';

type HeadProps = {
  readonly worker: number;
  /** Left out: nothing is known of the worker yet. */
  readonly header: WorkerHeader | undefined;
  readonly isFolded: boolean;
  onToggle(): void;
};

export function WorkerHead(props: HeadProps): JSX.Element {
  const { worker, header, isFolded, onToggle } = props;
  return (
    <div
      className="sw-TaskStream-workerHeader"
      style={{ height: HEADER_HEIGHT }}
    >
      <button
        type="button"
        className="sw-TaskStream-workerName"
        tabIndex={-1}
        aria-expanded={!isFolded}
        title={header?.name}
        onClick={onToggle}
      >
        <span aria-hidden="true">{isFolded ? '▸' : '▾'}</span>{' '}
        {header?.name ?? worker}
      </button>
      {header?.standing !== undefined && (
        <span className="sw-TaskStream-workerStanding">
          {header.standing.text}
        </span>
      )}
      <span className="sw-TaskStream-workerText" title={header?.explanation}>
        {header?.text}
      </span>
    </div>
  );
}

/** All that a header says is in its title, and said to screen readers. */
export function LoneLaneHead(
  props: Omit<HeadProps, 'isFolded'> & {
    readonly height: number;
    /** Keys have come to it. */
    readonly isReached?: boolean;
  }
): JSX.Element {
  const { worker, header, height, isReached, onToggle } = props;
  const isRoomy = height >= ROOMY_LANE;
  const isWhole = isRoomy && header?.standing === undefined;
  const name = header?.name ?? String(worker);
  const whole = [header?.standing?.text, header?.text]
    .filter(Boolean)
    .join(' · ');
  return (
    <div
      className="sw-TaskStream-loneLane"
      data-lines={isRoomy ? 2 : 1}
      data-reached={isReached || undefined}
      style={{ height }}
      title={[name, whole, header?.explanation].filter(Boolean).join('\n')}
    >
      <div className="sw-TaskStream-loneLaneName">
        <button
          type="button"
          className="sw-TaskStream-workerName"
          tabIndex={-1}
          aria-expanded
          onClick={onToggle}
        >
          <span className="sw-TaskStream-workerArrow" aria-hidden="true">
            ▾
          </span>
          <span className="sw-TaskStream-laneWord">
            <bdi>{name}</bdi>
          </span>
        </button>
        {!isRoomy && <Standing header={header} />}
      </div>
      <div className="sw-TaskStream-loneLaneText" aria-hidden="true">
        {isRoomy && <Standing header={header} />}
        <span>{isWhole ? header?.brief?.line : header?.brief?.word}</span>
      </div>
      <span className="sw-TaskStream-loneLaneWhole">{whole}</span>
    </div>
  );
}

function Standing({ header }: Pick<HeadProps, 'header'>): JSX.Element | null {
  return header?.standing === undefined ? null : (
    <span className="sw-TaskStream-workerStanding" aria-hidden="true">
      {header.standing.word}
    </span>
  );
}
