/** Saves what the page has made as a file of the user's, through the browser's own download. */
export function downloadText(
  name: string,
  mediaType: string,
  text: string
): void {
  downloadBlob(name, new Blob([text], { type: mediaType }));
}

export function downloadBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replace(/[/\\:*?"<>|]/g, '_');
  link.click();
  // The browser has taken the blob by the next turn; Firefox needs the turn.
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
