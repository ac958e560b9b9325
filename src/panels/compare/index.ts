import { compareIcon } from '../icons';
import type { PanelDescription } from '../panel';
import type { PanelFace } from '../panel-context';
import { ComparePanel } from './panel';

const face: PanelFace = {
  name: 'compare',
  title: trans => trans.__('Compare'),
  question: trans => trans.__('What took longer than in the other run?'),
  icon: compareIcon
};

export const comparePanel: PanelDescription = {
  ...face,
  create: options => new ComparePanel(face, options)
};
