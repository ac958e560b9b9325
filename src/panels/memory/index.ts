import { memoryIcon } from '../icons';
import type { PanelDescription } from '../panel';
import type { PanelFace } from '../panel-context';
import { MemoryPanel } from './panel';

const face: PanelFace = {
  name: 'memory',
  title: trans => trans.__('Memory Sampler'),
  question: trans => trans.__('How much memory, and which run needed more?'),
  icon: memoryIcon
};

export const memoryPanel: PanelDescription = {
  ...face,
  create: options => new MemoryPanel(face, options)
};
