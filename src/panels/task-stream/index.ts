import { taskStreamIcon } from '../icons';
import type { PanelDescription } from '../panel';
import type { PanelFace } from '../panel-context';
import { TaskStreamPanel } from './panel';

const face: PanelFace = {
  name: 'task-stream',
  title: trans => trans.__('Task Stream'),
  question: trans => trans.__('What ran where, and when?'),
  icon: taskStreamIcon
};

export const taskStreamPanel: PanelDescription = {
  ...face,
  create: options => new TaskStreamPanel(face, options)
};
