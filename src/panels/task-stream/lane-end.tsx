/** The status line of the lanes: that the keys from task to task have come to the end of one. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { LaneIndex } from '../../records/ids';
import type { LanePointer, Said } from './pointer';

export function LaneEnd(props: {
  readonly pointer: Pick<LanePointer, 'saidChanged'>;
  nameOf(laneIndex: LaneIndex): string;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { pointer, trans } = props;
  const [said, setSaid] = React.useState<Said | null>(null);
  React.useEffect(() => {
    const onSaid = (_: unknown, next: Said | null) => setSaid(next);
    pointer.saidChanged.connect(onSaid);
    return () => {
      pointer.saidChanged.disconnect(onSaid);
    };
  }, [pointer]);
  // (it is there from the beginning: a screen reader tells of what changes in it)
  return (
    <div className="sw-TaskStream-laneEnd" role="status">
      {said === null ? '' : endText(said, props.nameOf(said.laneIndex), trans)}
    </div>
  );
}

function endText(
  { direction }: Said,
  lane: string,
  trans: TranslationBundle
): string {
  switch (direction) {
    case 1:
      return trans.__('No later task has ended on %1.', lane);
    case -1:
      return trans.__('No earlier task has ended on %1.', lane);
    case null:
      return trans.__('No task has ended on %1.', lane);
  }
}
