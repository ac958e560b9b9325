/** The panels there are, in the order of the gallery. */
import { bandwidthPanel } from '../panels/bandwidth';
import { comparePanel } from '../panels/compare';
import { fineMetricsPanel } from '../panels/fine-metrics';
import { memoryPanel } from '../panels/memory';
import type { PanelDescription } from '../panels/panel';
import { profilePanel } from '../panels/profile';
import { progressPanel } from '../panels/progress';
import { systemPanel } from '../panels/system';
import { taskStreamPanel } from '../panels/task-stream';

export const PANELS: readonly PanelDescription[] = [
  taskStreamPanel,
  fineMetricsPanel,
  profilePanel,
  memoryPanel,
  progressPanel,
  bandwidthPanel,
  systemPanel,
  comparePanel
];
