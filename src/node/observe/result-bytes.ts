import { sizeOf } from '../diagnostics/size-of';

/** Bytes of a result, about; NaN if it cannot be looked at: its getters, which are the user's code, may throw. */
export function resultBytes(value: unknown): number {
  try {
    return sizeOf(value);
  } catch {
    return NaN;
  }
}
