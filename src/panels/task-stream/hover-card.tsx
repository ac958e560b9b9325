/** The card beside the pointer: what the box is, where, when, how long, and what can be done. Text is text: keys and errors are the user's. */
import * as React from 'react';
import type { Trans } from '../../base/trans';
import type { Hovered, LanePointer } from './pointer';
import { cardOf } from './rows';

const AWAY = 12;

export function HoverCard(props: {
  readonly pointer: LanePointer;
  /** Names of groups of workers, by their numbers. */
  readonly groups: ReadonlyMap<number, string>;
  readonly trans: Trans;
}): JSX.Element | null {
  const { pointer, groups, trans } = props;
  const [hovered, setHovered] = React.useState<Hovered | null>(null);
  const element = React.useRef<HTMLDivElement>(null);
  React.useEffect(() => {
    const onHovered = (_: LanePointer, next: Hovered | null) =>
      setHovered(next);
    pointer.hoveredChanged.connect(onHovered);
    return () => {
      pointer.hoveredChanged.disconnect(onHovered);
    };
  }, [pointer]);
  // Placed after its size is known: right below the pointer, or on the other side where there is no room.
  React.useLayoutEffect(() => {
    const card = element.current;
    const chart = card?.parentElement;
    if (hovered === null || !card || !chart) {
      return;
    }
    const { offsetWidth: width, offsetHeight: height } = card;
    const right = hovered.x + AWAY;
    const below = hovered.y + AWAY;
    const left =
      right + width <= chart.clientWidth ? right : hovered.x - AWAY - width;
    const top =
      below + height <= chart.clientHeight + 40
        ? below
        : hovered.y - AWAY - height;
    card.style.left = `${Math.max(4, left)}px`;
    card.style.top = `${Math.max(4, top)}px`;
  }, [hovered]);
  if (hovered === null) {
    return null;
  }
  const { box, detail } = hovered;
  const place = box.group === undefined ? undefined : groups.get(box.group);
  const card = cardOf(box, detail, trans, place);
  return (
    <div ref={element} className="sw-card sw-TaskStream-card" role="tooltip">
      <div className="sw-card-head">
        <strong>{card.title}</strong>
        <span className="sw-card-aside">{card.aside}</span>
      </div>
      {card.key !== '' && <code className="sw-card-key">{card.key}</code>}
      <dl className="sw-card-rows">
        {card.rows.map(row => (
          <React.Fragment key={row.label}>
            <dt>{row.label}</dt>
            <dd>{row.text}</dd>
          </React.Fragment>
        ))}
      </dl>
      {card.error !== '' && <pre className="sw-card-error">{card.error}</pre>}
      <div className="sw-card-hint">{card.hint}</div>
    </div>
  );
}
