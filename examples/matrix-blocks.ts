/**
 * Calculations on blocks of a matrix that is tall and skinny: what the tasks of tall-skinny-svd.ts do. Worker threads import this module
 * themselves, so its functions may use everything that it imports.
 */
import { Matrix, QrDecomposition, SingularValueDecomposition } from 'ml-matrix';

/** Row after row; typed arrays travel between threads as they are, `Matrix` objects would lose their methods. */
export type Block = {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
};

export type Qr = { readonly q: Block; readonly r: Block };

export type Svd = {
  readonly u: Block;
  readonly singularValues: readonly number[];
  readonly v: Block;
};

/** Numbers from -1 to 1; equal seeds give equal blocks (a linear congruential generator). */
export function randomBlock(
  rows: number,
  columns: number,
  seed: number
): Block {
  let state = seed >>> 0;
  const values = Float64Array.from({ length: rows * columns }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
  return { rows, columns, values };
}

/** `block` = q · r, the columns of q orthonormal, r upper triangular. */
export function qr(block: Block): Qr {
  const { orthogonalMatrix, upperTriangularMatrix } = new QrDecomposition(
    toMatrix(block)
  );
  return {
    q: toBlock(orthogonalMatrix),
    r: toBlock(upperTriangularMatrix)
  };
}

export function takeQ({ q }: Qr): Block {
  return q;
}

export function takeR({ r }: Qr): Block {
  return r;
}

/** One below the other. */
export function stack(blocks: readonly Block[]): Block {
  const values = new Float64Array(
    blocks.reduce((sum, block) => sum + block.values.length, 0)
  );
  let at = 0;
  for (const block of blocks) {
    values.set(block.values, at);
    at += block.values.length;
  }
  const { columns } = blocks[0]!;
  return { rows: values.length / columns, columns, values };
}

export function rowsOf(block: Block, from: number, to: number): Block {
  const { columns, values } = block;
  return {
    rows: to - from,
    columns,
    values: values.slice(from * columns, to * columns)
  };
}

/** `block` = u · diagonal of singularValues · transpose of v. */
export function svd(block: Block): Svd {
  const parts = new SingularValueDecomposition(toMatrix(block));
  return {
    u: toBlock(parts.leftSingularVectors),
    singularValues: parts.diagonal,
    v: toBlock(parts.rightSingularVectors)
  };
}

export function takeU({ u }: Svd): Block {
  return u;
}

export function dot(a: Block, b: Block): Block {
  return toBlock(toMatrix(a).mmul(toMatrix(b)));
}

/** The largest difference of an element of `block` from that of u · s · transpose of v. */
export function reconstructionError(
  block: Block,
  u: Block,
  { singularValues, v }: Svd
): number {
  const again = toMatrix(u)
    .mulRowVector([...singularValues])
    .mmul(toMatrix(v).transpose());
  return again.sub(toMatrix(block)).abs().max();
}

function toMatrix({ rows, columns, values }: Block): Matrix {
  return Matrix.from1DArray(rows, columns, values);
}

function toBlock(matrix: Matrix): Block {
  return {
    rows: matrix.rows,
    columns: matrix.columns,
    values: Float64Array.from(matrix.to1DArray())
  };
}
