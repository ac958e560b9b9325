import { profileIcon } from '../icons';
import type { PanelDescription } from '../panel';
import type { PanelFace } from '../panel-context';
import { ProfilePanel } from './panel';

const face: PanelFace = {
  name: 'profile',
  title: trans => trans.__('Profile'),
  question: trans => trans.__('Which lines of code are slow?'),
  icon: profileIcon
};

export const profilePanel: PanelDescription = {
  ...face,
  create: options => new ProfilePanel(face, options)
};
