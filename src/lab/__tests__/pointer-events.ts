/**
 * jsdom has no pointer or drag events; a drag reads no more of them than of mouse events. Import this before Lumino's drag, whose own
 * event extends `DragEvent` as it is loaded.
 */
globalThis.PointerEvent = class extends MouseEvent {} as never;
globalThis.DragEvent = class extends MouseEvent {} as never;

export {};
