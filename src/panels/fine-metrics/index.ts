import { fineMetricsIcon } from '../icons';
import type { PanelDescription } from '../panel';
import { FineMetricsPanel } from './panel';

const face = {
  name: 'fine-metrics',
  title: 'Fine Performance Metrics',
  question: 'Where did the time go?',
  icon: fineMetricsIcon
} as const;

export const fineMetricsPanel: PanelDescription = {
  ...face,
  create: options => new FineMetricsPanel(face, options)
};
