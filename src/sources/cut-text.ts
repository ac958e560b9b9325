/** Keeps the beginning, which says where it was called, and the end, which says what went wrong. */
export function cutInTheMiddle(text: string, most: number): string {
  const half = most / 2;
  return text.length <= most
    ? text
    : `${text.slice(0, half)} … ${text.slice(-half)}`;
}
