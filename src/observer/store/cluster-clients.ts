export type ClientRow = {
  readonly client: number;
  readonly joined: number;
  /** NaN while it is connected. */
  readonly left: number;
  readonly name: string;
  /** Id of the notebook's kernel; '' of other programs. */
  readonly kernel: string;
  readonly path: string;
};

/** Programs that have left and are still listed: a notebook's page finds its cluster by them. */
const MOST_LEFT = 64;

/** The programs that compute on the cluster, and those that have left it. */
export class ClusterClients {
  private readonly _rows = new Map<number, ClientRow>();
  private _version = 0;

  set(row: ClientRow): void {
    const before = this._rows.get(row.client);
    this._rows.set(row.client, row);
    if (before === undefined || labelOf(before) !== labelOf(row)) {
      this._version++;
    }
  }

  /** What a client is called in filters: the notebook's path, else the program's name; '' of one that is not described. */
  labelOf(client: number): string {
    const row = this._rows.get(client);
    return row === undefined ? '' : labelOf(row);
  }

  /** Changes whenever a label has, or a client has come. */
  get version(): number {
    return this._version;
  }

  /**
   * One for each kernel, and for each name of other programs: those that are connected, and the last ones that have left. A kernel's newest
   * client stands for those before it. Two kernels may have one label: a page tells their notebooks apart by the kernels' ids.
   */
  listed(): readonly ClientRow[] {
    const newest = new Map<string, ClientRow>();
    for (const row of this._rows.values()) {
      const whose = row.kernel || labelOf(row);
      const known = newest.get(whose);
      if (known === undefined || isNewer(row, known)) {
        newest.set(whose, row);
      }
    }
    const rows = [...newest.values()];
    const left = rows
      .filter(row => !isHere(row))
      .sort((a, b) => b.left - a.left)
      .slice(0, MOST_LEFT);
    const shown = new Set(left);
    return rows.filter(row => isHere(row) || shown.has(row));
  }
}

function isHere({ left }: ClientRow): boolean {
  return Number.isNaN(left);
}

/** One that is connected is newer than any that has left: a notebook may have had several at a time. */
function isNewer(row: ClientRow, than: ClientRow): boolean {
  return isHere(row) === isHere(than) ? row.joined >= than.joined : isHere(row);
}

function labelOf({ path, name }: ClientRow): string {
  return path || name;
}
