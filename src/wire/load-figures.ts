/** How much a worker has to do, as it tells the scheduler and the scheduler tells clients. */
import { f64Of } from '../base/typed-arrays';
import type { Bytes } from '../base/brand';

export const LOAD_FIGURES = {
  executing: 'u32',
  ready: 'u32',
  waiting: 'u32',
  results: 'u32',
  fetching: 'u32',
  spilled: f64Of<Bytes>(),
  incoming: 'u32',
  incomingBytes: f64Of<Bytes>(),
  incomingTotal: 'f64',
  outgoing: 'u32',
  outgoingBytes: f64Of<Bytes>(),
  outgoingTotal: 'f64'
} as const;
