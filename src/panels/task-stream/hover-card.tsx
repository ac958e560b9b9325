/** The card beside the pointer, never over the lane: what the box is, where, when, how long, and what can be done. Text is text: keys and errors are the user's. */
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { Trans } from '../../base/trans';
import { FloatingCard } from '../floating-card';
import { errorHead } from './error-head';
import { ErrorHeadText } from './error-head-text';
import type { Hovered, LanePointer } from './pointer';
import { cardHint, cardOf, functionsRow } from './rows';

/** Pixels: a card is seldom higher. */
const TALLEST = 320;

export function HoverCard(props: {
  readonly pointer: LanePointer;
  /** Names of groups of workers, by their numbers. */
  readonly groups: ReadonlyMap<number, string>;
  readonly trans: Trans;
}): JSX.Element | null {
  const { pointer, groups, trans } = props;
  const [hovered, setHovered] = React.useState<Hovered | null>(null);
  React.useEffect(() => {
    const onHovered = (_: LanePointer, next: Hovered | null) =>
      setHovered(next);
    pointer.hoveredChanged.connect(onHovered);
    return () => {
      pointer.hoveredChanged.disconnect(onHovered);
    };
  }, [pointer]);
  if (hovered === null) {
    return null;
  }
  const { box, detail } = hovered;
  const place = box.group === undefined ? undefined : groups.get(box.group);
  const card = cardOf(box, detail, trans, place);
  // There is no room for a traceback: the drawer has it.
  const error = card.error === '' ? null : errorHead(card.error, trans);
  return (
    <FloatingCard
      pointer={hovered}
      boxOf={() => {
        const lane = pointer.laneOf(hovered);
        const title = pointer.drawerTitle?.getBoundingClientRect();
        // A title that the card would reach from below the lane stays in sight, too.
        return title !== undefined && title.top < lane.bottom + TALLEST
          ? { ...lane, bottom: Math.max(lane.bottom, title.bottom) }
          : lane;
      }}
      onGone={() => pointer.leave()}
    >
      <div className="sw-card-head">
        <strong>{card.title}</strong>
        <span className="sw-card-aside">{card.aside}</span>
      </div>
      {card.key !== '' && <code className="sw-card-key">{card.key}</code>}
      <dl className="sw-card-rows">
        {[...functionsRow(box, trans), ...card.rows].map(row => (
          <React.Fragment key={row.label}>
            <dt>{row.label}</dt>
            <dd>{row.text}</dd>
          </React.Fragment>
        ))}
      </dl>
      {error !== null && (
        <ErrorHeadText head={error} className="sw-card-error" />
      )}
      {card.note !== '' && <div className="sw-card-note">{card.note}</div>}
      <div className="sw-card-hint">{cardHint(box, detail, trans)}</div>
    </FloatingCard>
  );
}
