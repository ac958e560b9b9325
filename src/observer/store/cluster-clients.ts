import { LARGEST_U16 } from '../../records/enumerations';

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
  /** By label. The newest client of a notebook stands for those before it: kernels are restarted. */
  private readonly _newest = new Map<string, ClientRow>();

  set(row: ClientRow): void {
    if (row.client > LARGEST_U16) {
      return;
    }
    this._rows.set(row.client, row);
    const label = labelOf(row);
    const known = this._newest.get(label);
    if (known === undefined || !isBefore(row, known)) {
      this._newest.set(label, row);
    }
  }

  /** What a client is called in filters: the notebook's path, else the program's name; '' of one that is not described. */
  labelOf(client: number): string {
    const row = this._rows.get(client);
    return row === undefined ? '' : labelOf(row);
  }

  /** Changes whenever a label may have. */
  get version(): number {
    return this._rows.size;
  }

  /** One for each label: those that are connected, and the last ones that have left. */
  listed(): readonly ClientRow[] {
    const rows = [...this._newest.values()];
    const left = rows
      .filter(row => !Number.isNaN(row.left))
      .sort((a, b) => b.left - a.left)
      .slice(0, MOST_LEFT);
    const gone = new Set(left);
    return rows.filter(row => Number.isNaN(row.left) || gone.has(row));
  }
}

function labelOf({ path, name }: ClientRow): string {
  return path || name;
}

/** A client that has left, or came earlier, does not hide one that is connected. */
function isBefore(row: ClientRow, known: ClientRow): boolean {
  if (row.client === known.client) {
    return false;
  }
  const [isHere, wasHere] = [Number.isNaN(row.left), Number.isNaN(known.left)];
  return isHere === wasHere ? row.joined < known.joined : wasHere;
}
