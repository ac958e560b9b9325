import { systemIcon } from '../icons';
import type { PanelDescription } from '../panel';
import type { PanelFace } from '../panel-context';
import { SystemPanel } from './panel';

const face: PanelFace = {
  name: 'system',
  title: trans => trans.__('System'),
  question: trans => trans.__('What do processes take of their machines?'),
  icon: systemIcon
};

export const systemPanel: PanelDescription = {
  ...face,
  create: options => new SystemPanel(face, options)
};
