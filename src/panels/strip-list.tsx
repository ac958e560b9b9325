/** The strips above a panel's figures. Counts the seconds while the link is down; otherwise it changes only with its inputs. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import type { ClusterRef } from '../feed/cluster-ref';
import type { IFeed } from '../feed/feed-types';
import { strips } from './panel-states';
import { StateStrip } from './state-view';

export function StripList(props: {
  readonly feed: IFeed;
  readonly cluster: ClusterRef;
  readonly hasFigures: boolean;
  readonly figuresTo: number | null;
  /** Why the newest question was not answered, while older figures are shown. */
  readonly failure: string | null;
  /** What the cluster is called where the panel shows another one, too. */
  readonly name?: string | undefined;
  /** What stands in place of the figures says what waits in vain. */
  readonly tellsWhatWaits: boolean;
  /** What the panel itself says of its figures; '': nothing. */
  readonly remark: string;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { feed, cluster, figuresTo, trans } = props;
  const [now, setNow] = React.useState(() => Date.now());
  const isCounting =
    feed.status.kind === 'reconnecting' || cluster.missingSince !== null;
  React.useEffect(() => {
    if (!isCounting) {
      return;
    }
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isCounting]);
  const list = strips(
    {
      status: feed.status,
      cluster: cluster.current,
      name: props.name,
      hasFigures: props.hasFigures,
      figuresTo,
      missingSince: cluster.missingSince,
      isAwaiting: cluster.isAwaiting,
      failure: props.failure,
      tellsWhatWaits: props.tellsWhatWaits,
      remark: props.remark,
      now,
      follows: cluster.follows,
      target: cluster.target
    },
    trans,
    {
      reconnect: () => feed.reconnect(),
      setFollows: follows => cluster.setFollows(follows)
    }
  );
  return (
    <>
      {list.map(strip => (
        <StateStrip key={strip.key} strip={strip} trans={trans} />
      ))}
    </>
  );
}
