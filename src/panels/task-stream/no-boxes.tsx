/** What stands over lanes in which nothing is in view. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import { formatTimeRange } from '../format';
import { Loading } from '../loading';
import type { LanesDrawing, Painted } from './lanes-drawing';
import type { TaskStreamModel } from './model';

/** In place of boxes: "Nothing ran in this range.", with the way out; or that they are on their way. */
export function NoBoxes(props: {
  readonly model: TaskStreamModel;
  readonly drawing: Pick<LanesDrawing, 'painted'>;
  readonly trans: TranslationBundle;
}): JSX.Element | null {
  const { model, drawing, trans } = props;
  const [painted, setPainted] = React.useState<Painted>('boxes');
  React.useEffect(() => {
    const onPainted = (_: unknown, what: Painted) => setPainted(what);
    drawing.painted.connect(onPainted);
    return () => {
      drawing.painted.disconnect(onPainted);
    };
  }, [drawing]);
  const result = model.result;
  if (painted === 'boxes' || result === null || result.tasks === 0) {
    return null;
  }
  if (painted === 'waiting') {
    return <Loading text={trans.__('Loading the boxes…')} />;
  }
  const { selected } = model;
  const inView = formatTimeRange(Math.max(0, model.view.from), model.view.to);
  const whole = formatTimeRange(result.from, result.to);
  return (
    <div className="sw-TaskStream-emptyRange" role="status">
      <div className="sw-state-title">
        {trans.__('Nothing ran in this range.')}
      </div>
      <div className="sw-state-sentence">
        {selected === null
          ? trans.__('%1 is in view; the run is %2.', inView, whole)
          : trans.__(
              '%1 is in view; the selection is %2.',
              inView,
              formatTimeRange(selected.from, selected.to)
            )}
      </div>
      <div className="sw-state-buttons">
        {selected !== null && (
          <button
            type="button"
            className="sw-button sw-button-primary"
            onClick={() => model.show(selected)}
          >
            {trans.__('Show the selection')}
          </button>
        )}
        <button
          type="button"
          className={`sw-button${selected === null ? ' sw-button-primary' : ''}`}
          onClick={() => model.fitWhole()}
        >
          {trans.__('Show the whole run')}
        </button>
        <button
          type="button"
          className="sw-button"
          onClick={() => model.setFollowing(true)}
        >
          {trans.__('Follow')}
        </button>
      </div>
    </div>
  );
}
