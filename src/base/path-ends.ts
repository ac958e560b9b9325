/** As much of the end of each path as tells them apart: "a.ipynb", or "alice/a.ipynb" beside "bob/a.ipynb". */
export function pathEnds(
  paths: readonly string[]
): ReadonlyMap<string, string> {
  const end = (path: string, count: number) =>
    path.split(/[\\/]/).slice(-count).join('/');
  return new Map(
    paths.map(path => {
      const others = paths.filter(other => other !== path);
      let count = 1;
      while (
        end(path, count).length < path.length &&
        others.some(other => end(other, count) === end(path, count))
      ) {
        count++;
      }
      return [path, end(path, count)];
    })
  );
}
