/** The custom property of a function's slot: `--sw-fn-1` … `--sw-fn-12`, `--sw-fn-other` for all others. */
export function functionProperty(slot: number): string {
  return Number.isInteger(slot) && slot >= 0 && slot < 12
    ? `--sw-fn-${slot + 1}`
    : '--sw-fn-other';
}
