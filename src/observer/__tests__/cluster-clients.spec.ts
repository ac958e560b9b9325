import * as fc from 'fast-check';
import { ClusterClients, type ClientRow } from '../store/cluster-clients';

const row = (over: Partial<ClientRow>): ClientRow => ({
  client: 1,
  joined: 0,
  left: NaN,
  name: 'a',
  kernel: 'k',
  path: '/a.ipynb',
  ...over
});

function listed(...rows: readonly ClientRow[]): string[] {
  const clients = new ClusterClients();
  rows.forEach(each => clients.set(each));
  return clients
    .listed()
    .map(({ client, left }) => `${client}${Number.isNaN(left) ? '' : ' left'}`);
}

describe('the clients of a cluster', () => {
  it('are listed once for each kernel: the one that is connected, else the newest', () => {
    const first = row({});
    const again = row({ client: 2, joined: 5 });
    expect(listed(first, again)).toEqual(['2']);
    expect(listed(again, first)).toEqual(['2']);
    expect(listed(first, again, row({ left: 9 }))).toEqual(['2']);
    expect(listed(first, row({ left: 4 }), again)).toEqual(['2']);
    // It made two, and closed the second.
    expect(listed(first, again, row({ ...again, left: 7 }))).toEqual(['1']);
    expect(listed(row({ left: 9 }), row({ ...again, left: 7 }))).toEqual([
      '2 left'
    ]);
    expect(listed(row({ left: 4 }), row({ client: 3, kernel: 'l' }))).toEqual([
      '1 left',
      '3'
    ]);
  });

  it('are listed both if two kernels know no notebook, and programs of one name once', () => {
    const console = row({ path: '', name: 'python' });
    const other = { ...console, client: 2, kernel: 'l' };
    const scripts = [3, 4].map(client => ({ ...console, client, kernel: '' }));
    expect(listed(console, other, ...scripts)).toEqual(['1', '2', '4']);
  });

  it('are listed all while they are connected, and the last 64 of those that have left', () => {
    const rows = Array.from({ length: 200 }, (_, client) =>
      row({ client, kernel: `${client}`, left: client < 100 ? NaN : client })
    );
    expect(listed(...rows)).toEqual(
      rows
        .filter(({ client }) => client < 100 || client >= 136)
        .map(({ client }) => (client < 100 ? `${client}` : `${client} left`))
    );
  });

  it('are called by the path of their notebook, other programs by their name', () => {
    const clients = new ClusterClients();
    clients.set(row({}));
    clients.set(row({ client: 2, kernel: '', path: '', name: 'job' }));
    expect([1, 2, 3].map(each => clients.labelOf(each))).toEqual([
      '/a.ipynb',
      'job',
      ''
    ]);
  });

  it('have another version when one is called otherwise, and the same when one leaves', () => {
    const clients = new ClusterClients();
    const versions = [
      row({}),
      row({ path: '/b.ipynb' }),
      row({ path: '/b.ipynb', left: 9 }),
      row({ client: 2, path: '/b.ipynb' })
    ].map(each => {
      clients.set(each);
      return clients.version;
    });
    expect(versions.map(each => versions.indexOf(each))).toEqual([0, 1, 1, 3]);
  });

  it('are listed as the rows say, in whatever order they come', () => {
    const anyRow = fc.record({
      client: fc.integer({ min: 1, max: 6 }),
      hasLeft: fc.boolean()
    });
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 20 }), told => {
        // Clients 1, 3, 5 are of one kernel, the others of another; who has left does not come again.
        const rows = new Map<number, ClientRow>();
        const clients = new ClusterClients();
        for (const { client, hasLeft } of told) {
          const isGone = Number.isFinite(rows.get(client)?.left);
          const said = row({
            client,
            joined: client,
            left: hasLeft || isGone ? 10 : NaN,
            kernel: client % 2 === 1 ? 'k' : 'l'
          });
          rows.set(client, said);
          clients.set(said);
        }
        for (const kernel of ['k', 'l']) {
          const own = [...rows.values()].filter(each => each.kernel === kernel);
          const isHere = own.some(({ left }) => Number.isNaN(left));
          const found = clients.listed().filter(each => each.kernel === kernel);
          expect(found).toHaveLength(own.length > 0 ? 1 : 0);
          if (isHere) {
            expect(found[0]!.left).toBeNaN();
          }
        }
      }),
      { numRuns: 300 }
    );
  });
});
