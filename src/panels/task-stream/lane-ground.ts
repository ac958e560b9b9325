/** What lies behind the boxes: the lines of the time axis, and one below each lane. */
import type { IInk } from '../../charts/ink';
import { axisTicks } from './figure';
import type { LaneScene } from './lane-scene';

export function drawGround(ink: IInk, scene: LaneScene): void {
  const { palette, layout, pixelRatio: ratio } = scene;
  ink.fillStyle = palette.gridLine;
  for (const tick of axisTicks(scene.view, scene.width)) {
    ink.fillRect(
      Math.round(tick.x * ratio),
      0,
      Math.max(1, Math.floor(ratio)),
      scene.height * ratio
    );
  }
  for (const worker of layout.workers) {
    for (const lane of worker.lanes) {
      const bottom = lane.top + layout.laneHeight - scene.scrollTop;
      if (bottom > 0 && bottom <= scene.height) {
        ink.fillRect(0, Math.round(bottom * ratio) - 1, scene.width * ratio, 1);
      }
    }
  }
}
