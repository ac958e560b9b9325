/** Where a drop will land, in words: from the dock panel's overlay and the widget under the pointer. */
import type { Trans } from '../base/trans';

type Box = Pick<DOMRect, 'left' | 'right' | 'top' | 'bottom'>;

/** How much of the widget's side an overlay may leave free and still cover it; the dock draws splits at a half, edges at a few pixels. */
const SLACK_PX = 40;

/**
 * @param overlay - where the dock panel says the drop will be
 * @param widget - the widget under the pointer
 */
export function dropText(
  overlay: Box,
  widget: Box,
  name: string,
  trans: Trans
): string {
  const covers = {
    left: overlay.left <= widget.left + SLACK_PX,
    right: overlay.right >= widget.right - SLACK_PX,
    top: overlay.top <= widget.top + SLACK_PX,
    bottom: overlay.bottom >= widget.bottom - SLACK_PX
  };
  if (covers.left && covers.right && covers.top && covers.bottom) {
    return trans.__('drop: as a tab beside %1', name);
  }
  if (covers.top && covers.bottom) {
    return covers.right
      ? trans.__('drop: to the right of %1', name)
      : trans.__('drop: to the left of %1', name);
  }
  return covers.bottom
    ? trans.__('drop: below %1', name)
    : trans.__('drop: above %1', name);
}
