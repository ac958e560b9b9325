import { NONE_U32 } from '../../records/enumerations';
import { CHUNK_MASK } from './column-table';
import type { LogStore } from './log-store';

/** Frames deeper than this are cut: a stack table with a ring in it must not hang who walks it. */
const DEEPEST = 512;

/** The frames of a stack, the innermost first; what is not known ends it. */
export function framesOf(log: LogStore, stack: number): number[] {
  const frames: number[] = [];
  let at = stack;
  while (at !== NONE_U32 && frames.length < DEEPEST) {
    const row = log.stackRows.get(at);
    const columns = log.stacks.chunkOf(row)?.columns;
    if (row < 0 || columns === undefined) {
      break;
    }
    frames.push(columns.frame[row & CHUNK_MASK]!);
    at = columns.parent[row & CHUNK_MASK]!;
  }
  return frames;
}

/** '': not known. */
export function fileOf(log: LogStore, frame: number): string {
  const row = log.frameRows.get(frame);
  const columns = log.frames.chunkOf(row)?.columns;
  return row < 0 || columns === undefined
    ? ''
    : log.name(columns.file[row & CHUNK_MASK]!);
}
