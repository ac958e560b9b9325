/** A context in CSS pixels on a canvas of `width` × `height` of them, sharp at any pixel ratio. Sizing clears the canvas; a canvas of the right size is left as it is. */
export function contextOf(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  ratio: number
): CanvasRenderingContext2D | null {
  const deviceWidth = Math.max(1, Math.round(width * ratio));
  const deviceHeight = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== deviceWidth || canvas.height !== deviceHeight) {
    canvas.width = deviceWidth;
    canvas.height = deviceHeight;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d');
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
