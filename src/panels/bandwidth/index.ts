import { bandwidthIcon } from '../icons';
import type { PanelDescription } from '../panel';
import type { PanelFace } from '../panel-context';
import { BandwidthPanel } from './panel';

const face: PanelFace = {
  name: 'bandwidth',
  title: trans => trans.__('Bandwidth'),
  question: trans => trans.__('Which worker fetches from which, and how fast?'),
  icon: bandwidthIcon
};

export const bandwidthPanel: PanelDescription = {
  ...face,
  create: options => new BandwidthPanel(face, options)
};
