import { memoryIcon } from '../icons';
import type { PanelDescription } from '../panel';
import { MemoryPanel } from './panel';

const face = {
  name: 'memory',
  title: 'Memory Sampler',
  question: 'How much memory, and which run needed more?',
  icon: memoryIcon
} as const;

export const memoryPanel: PanelDescription = {
  ...face,
  create: options => new MemoryPanel(face, options)
};
