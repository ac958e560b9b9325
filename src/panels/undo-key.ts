/** Ctrl Z in a panel and in the sidebar undoes the filter's last step. Text fields have an undo of their own. */
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
