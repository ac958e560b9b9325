/** As much of the end of each path as tells them apart: "a.ipynb", or "alice/a.ipynb" beside "bob/a.ipynb". */
export function pathEnds(
  paths: readonly string[]
): ReadonlyMap<string, string> {
  const ends = new Map<string, string>();
  let left = [...new Set(paths)].map(path => ({
    path,
    parts: path.split(/[\\/]/)
  }));
  for (let count = 1; left.length > 0; count++) {
    const byEnd = new Map<string, typeof left>();
    for (const each of left) {
      const end = each.parts.slice(-count).join('/');
      const alike = byEnd.get(end);
      if (alike === undefined) {
        byEnd.set(end, [each]);
      } else {
        alike.push(each);
      }
    }
    left = [];
    for (const [end, alike] of byEnd) {
      for (const each of alike) {
        if (alike.length === 1 || end.length >= each.path.length) {
          ends.set(each.path, end);
        } else {
          left.push(each);
        }
      }
    }
  }
  return new Map(paths.map(path => [path, ends.get(path)!]));
}
