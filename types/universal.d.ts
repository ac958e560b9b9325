/**
 * Globals that Node, browsers and jest all have although they are not part of
 * ECMAScript. The pure folders may use these and nothing else of a platform.
 */

declare class TextEncoder {
  encode(text?: string): Uint8Array<ArrayBuffer>;
  encodeInto(text: string, into: Uint8Array): { read: number; written: number };
}

declare class TextDecoder {
  constructor(
    label?: string,
    options?: { fatal?: boolean; ignoreBOM?: boolean }
  );
  decode(
    bytes?: ArrayBufferView | ArrayBufferLike,
    options?: { stream?: boolean }
  ): string;
}
