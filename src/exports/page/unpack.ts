/** @returns what `packed` (gzipped JSON as base64) holds */
export async function unpacked(packed: string): Promise<unknown> {
  const bytes = Uint8Array.from(atob(packed.trim()), letter =>
    letter.charCodeAt(0)
  );
  const text = new Blob([bytes])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'));
  return new Response(text).json();
}
