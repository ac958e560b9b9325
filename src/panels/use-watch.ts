/** A second watch beside a panel's own, for as long as the component is there and its panel shown: the Task Stream's table twin uses view `tasks`. */
import * as React from 'react';
import type { Snapshot, ViewName } from '../wire/panel-link';
import { shownContext } from './shown-context';
import type { PanelContext } from './panel-context';
import { PanelWatch } from './panel-watch';

type WatchAnswer = {
  readonly snapshot: Snapshot | null;
  readonly failure: string | null;
};

export function useWatch(
  context: PanelContext,
  view: ViewName,
  params: Readonly<Record<string, unknown>>,
  maxHz = 2
): WatchAnswer {
  const [answer, setAnswer] = React.useState<WatchAnswer>({
    snapshot: null,
    failure: null
  });
  const latest = React.useRef(params);
  latest.current = params;
  const watching = React.useRef<PanelWatch | null>(null);
  React.useEffect(() => {
    const own = new PanelWatch({
      context,
      view,
      params: () => latest.current,
      maxHz
    });
    watching.current = own;
    own.changed.connect(sender =>
      setAnswer({ snapshot: sender.snapshot, failure: sender.failure })
    );
    return () => own.dispose();
  }, [context, view, maxHz]);
  const isShown = React.useContext(shownContext);
  React.useEffect(() => {
    if (isShown) {
      watching.current?.start();
    } else {
      watching.current?.stop();
    }
  }, [isShown, context, view, maxHz]);
  const key = JSON.stringify(params);
  React.useEffect(() => {
    watching.current?.setParams(latest.current);
  }, [key]);
  return answer;
}
