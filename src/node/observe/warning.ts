/** What a user is told when nothing is observed. */
export function unobserved(sentence: string): string {
  return `Computations run as ever, but nothing is observed: ${sentence}`;
}

/** Tells the user something, once, as Node tells warnings. */
export function warn(sentence: string): void {
  process.emitWarning(sentence, { type: 'SpanwiseWarning' });
}
