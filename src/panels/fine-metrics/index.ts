import { fineMetricsIcon } from '../icons';
import type { PanelDescription } from '../panel';
import type { PanelFace } from '../panel-context';
import { FineMetricsPanel } from './panel';

const face: PanelFace = {
  name: 'fine-metrics',
  title: trans => trans.__('Fine Performance Metrics'),
  question: trans => trans.__('Where did the time go?'),
  icon: fineMetricsIcon
};

export const fineMetricsPanel: PanelDescription = {
  ...face,
  create: options => new FineMetricsPanel(face, options)
};
