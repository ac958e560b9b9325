import { CellPlane, TILE_CELLS } from './cell-plane';
import { FailedCells } from './failed-cells';

/** `failed`: which of the runs failed. Three layers: runs; parts that held the thread, drawn over them, and what tasks held that are drawn beside it; parts behind other work, drawn in the lane's strip. */
export type CellPage = {
  readonly lanes: number;
  runs: CellPlane | null;
  held: CellPlane | null;
  strip: CellPlane | null;
  failed: FailedCells | null;
};

export function emptyPage(lanes: number): CellPage {
  return { lanes, runs: null, held: null, strip: null, failed: null };
}

/** Bytes of a page without a plane: the object, its key and its place in a map. */
const PAGE_BYTES = 300;

export function pageBytes(page: CellPage): number {
  const planes = [page.runs, page.held, page.strip].filter(p => p !== null);
  const failed = page.failed?.nbytes ?? 0;
  return PAGE_BYTES + planes.length * page.lanes * TILE_CELLS * 16 + failed;
}

export const LAYERS = ['runs', 'held', 'strip'] as const;
type Layer = (typeof LAYERS)[number];

/** The layer of a page, made when its first row comes: most pages have no parts. */
export function layerOf(page: CellPage, layer: Layer): CellPlane {
  return (page[layer] ??= new CellPlane(page.lanes));
}

/** Its failed runs, with room for them from the first one on. */
export function failedOf(page: CellPage): FailedCells {
  return (page.failed ??= new FailedCells(page.lanes));
}
