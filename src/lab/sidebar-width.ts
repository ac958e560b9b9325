/** JupyterLab opens its sidebar 250 px wide; the span tree is made for 288. It is widened once, and never again after the user chose. */
import { SplitPanel, type Widget } from '@lumino/widgets';

const WIDTH_PX = 288;

/** @returns whether it was widened; false when it is wide enough already or not in a split area. */
export function widenOnce(sidebar: Widget): boolean {
  let child: Widget = sidebar;
  while (child.parent !== null && !(child.parent instanceof SplitPanel)) {
    child = child.parent;
  }
  const split = child.parent;
  if (!(split instanceof SplitPanel) || !child.isVisible) {
    return false;
  }
  const index = split.widgets.indexOf(child);
  const sizes = split.relativeSizes();
  const whole = split.node.clientWidth;
  const missing = WIDTH_PX / whole - (sizes[index] ?? 0);
  if (whole === 0 || missing <= 0) {
    return false;
  }
  // The main area is the widest and gives what is missing.
  const widest = sizes.indexOf(Math.max(...sizes));
  split.setRelativeSizes(
    sizes.map((size, i) =>
      i === index ? size + missing : i === widest ? size - missing : size
    )
  );
  return true;
}
