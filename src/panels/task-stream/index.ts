import { taskStreamIcon } from '../icons';
import type { PanelDescription } from '../panel';
import { TaskStreamPanel } from './panel';

const face = {
  name: 'task-stream',
  title: 'Task Stream',
  question: 'What ran where, and when?',
  icon: taskStreamIcon
} as const;

export const taskStreamPanel: PanelDescription = {
  ...face,
  create: options => new TaskStreamPanel(face, options)
};
