/** The stacks that the sampler would have seen in the functions of a drawn run. */
import { NONE_U32 } from '../../records/enumerations';
import type { Row } from '../rows-to-block';

/** Innermost frames of a function, each with its callers from the task on, and its share of the function's samples. */
const paths: Readonly<
  Record<string, readonly (readonly [path: string, share: number])[]>
> = {
  fit_fold: [
    [
      'fit_fold model.py:41 > fit sklearn/linear_model/_logistic.py:1200 > matmul numpy/core.py:1',
      0.5
    ],
    [
      'fit_fold model.py:41 > fit sklearn/linear_model/_logistic.py:1200 > line_search scipy/optimize/_linesearch.py:50',
      0.3
    ],
    ['fit_fold model.py:41', 0.2]
  ],
  'read-parquet': [
    [
      'read_parquet pandas/io/parquet.py:500 > read_table pyarrow/parquet/core.py:1700 > ReadAt pyarrow/io.pxi:20',
      0.7
    ],
    [
      'read_parquet pandas/io/parquet.py:500 > read_table pyarrow/parquet/core.py:1700 > decompress pyarrow/io.pxi:80',
      0.3
    ]
  ],
  'groupby-chunk': [
    [
      'groupby_chunk dask/dataframe/groupby.py:300 > agg pandas/core/groupby.py:900',
      1
    ]
  ],
  'rechunk-merge': [
    ['rechunk_merge dask/array/rechunk.py:700 > concatenate numpy/core.py:9', 1]
  ],
  'map-features': [['map_features features.py:8 > sin numpy/core.py:20', 1]]
};

const root = 'execute_task spanwise/worker/run.py:210';

/**
 * Puts frames and stacks into the log.
 *
 * @returns the stacks of a function with their shares.
 */
export function drawnStacks(
  name: (text: string) => number,
  add: (table: 'frames' | 'stacks', row: Row) => void
): (fn: string) => readonly (readonly [stack: number, share: number])[] {
  const frames = new Map<string, number>();
  const stacks = new Map<string, number>();
  const frameOf = (text: string): number => {
    let frame = frames.get(text);
    if (frame === undefined) {
      frame = frames.size + 20;
      frames.set(text, frame);
      const [, fn, file, line] = /^(\S+) (\S+):(\d+)$/.exec(text)!;
      add('frames', {
        frame,
        function: name(fn!),
        file: name(file!),
        line: Number(line)
      });
    }
    return frame;
  };
  const stackOf = (path: readonly string[]): number => {
    if (path.length === 0) {
      return NONE_U32;
    }
    const key = path.join('>');
    let stack = stacks.get(key);
    if (stack === undefined) {
      const parent = stackOf(path.slice(0, -1));
      stack = stacks.size + 40;
      stacks.set(key, stack);
      add('stacks', { stack, parent, frame: frameOf(path.at(-1)!) });
    }
    return stack;
  };
  return fn =>
    (paths[fn] ?? [[`${fn} features.py:1`, 1] as const]).map(
      ([path, share]) => [stackOf([root, ...path.split(' > ')]), share]
    );
}
