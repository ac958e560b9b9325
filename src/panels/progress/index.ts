import { progressIcon } from '../icons';
import type { PanelDescription } from '../panel';
import type { PanelFace } from '../panel-context';
import { ProgressPanel } from './panel';

const face: PanelFace = {
  name: 'progress',
  title: trans => trans.__('Progress'),
  question: trans => trans.__('How far is each function?'),
  icon: progressIcon
};

export const progressPanel: PanelDescription = {
  ...face,
  create: options => new ProgressPanel(face, options)
};
