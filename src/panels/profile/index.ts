import { profileIcon } from '../icons';
import type { PanelDescription } from '../panel';
import { ProfilePanel } from './panel';

const face = {
  name: 'profile',
  title: 'Profile',
  question: 'Which lines of code are slow?',
  icon: profileIcon
} as const;

export const profilePanel: PanelDescription = {
  ...face,
  create: options => new ProfilePanel(face, options)
};
