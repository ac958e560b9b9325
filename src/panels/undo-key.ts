/** Ctrl Z in a panel and in the sidebar: the filter's last step back. What one types in has an undo of its own. */
export function undoOnKey(
  event: Pick<
    KeyboardEvent,
    | 'key'
    | 'target'
    | 'ctrlKey'
    | 'metaKey'
    | 'shiftKey'
    | 'altKey'
    | 'preventDefault'
    | 'stopPropagation'
  >,
  undo: () => void
): void {
  const { target } = event;
  const isTyping =
    target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
  const isUndo =
    event.key.toLowerCase() === 'z' &&
    (event.ctrlKey || event.metaKey) &&
    !event.shiftKey &&
    !event.altKey;
  if (isUndo && !isTyping) {
    event.preventDefault();
    event.stopPropagation();
    undo();
  }
}
