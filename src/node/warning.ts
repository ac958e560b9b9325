/** Tells the user something, once, as Node tells warnings. */
export function warn(sentence: string): void {
  process.emitWarning(sentence, { type: 'SpanwiseWarning' });
}
