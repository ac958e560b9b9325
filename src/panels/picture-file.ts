/** A picture that is written as SVG, as a file of the user's. */
import { downloadBlob, downloadText } from './download-text';

export type Picture = {
  readonly width: number;
  readonly height: number;
  readonly svg: string;
};

/** Twice as fine as on most screens, for slides and print. */
const PNG_SCALE = 2;
/** Of a canvas, in browsers that allow least; beyond it a picture is made less fine. */
const MOST_PIXELS = 60_000_000;
const LONGEST_SIDE = 16_000;

const SVG_TYPE = 'image/svg+xml';

export function downloadSvg(name: string, { svg }: Picture): void {
  downloadText(`${name}.svg`, SVG_TYPE, svg);
}

/** Rejects if the browser cannot draw it. */
export async function downloadPng(
  name: string,
  picture: Picture
): Promise<void> {
  downloadBlob(`${name}.png`, await pngOf(picture));
}

async function pngOf({ width, height, svg }: Picture): Promise<Blob> {
  const scale = pngScale(width, height);
  const url = URL.createObjectURL(new Blob([svg], { type: SVG_TYPE }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext('2d');
    context?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob(blob =>
        blob === null ? reject(new Error('no picture')) : resolve(blob)
      )
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}

function pngScale(width: number, height: number): number {
  return Math.min(
    PNG_SCALE,
    LONGEST_SIDE / Math.max(1, width, height),
    Math.sqrt(MOST_PIXELS / Math.max(1, width * height))
  );
}
