/** What the system counts, as the observer's fold answers it: charts, their lines, and the table. */
import { ask } from '../../../observer/__tests__/ask';
import { ingestBlock } from '../../../observer/store/ingest';
import { LogStore } from '../../../observer/store/log-store';
import { NONE_U16, NONE_U32 } from '../../../records/enumerations';
import { english } from '../../../testing/translators';
import { type Row, rowsToBlock } from '../../../testing/rows-to-block';
import { systemFigure } from '../figure';
import {
  descriptionOf,
  drawnOf,
  type Figure,
  formatFigure,
  namedNote,
  stepsOf,
  tableOf,
  titleOf,
  valueAt
} from '../rows';

const MiB = 2 ** 20;
const plain = (text: string) => text.replaceAll('\u00a0', ' ');

/** What a row says if a test says nothing else: no two figures are equal. */
const ROW = {
  seconds: 0.5,
  cpu: 10,
  memory: 20 * MiB,
  fds: 30,
  netRead: 4 * MiB,
  netWrite: 5 * MiB,
  diskRead: 6 * MiB,
  diskWrite: 7 * MiB,
  hostDiskRead: 8 * MiB,
  hostDiskWrite: 9 * MiB,
  loopInterval: NaN
};

function logOf(hosts: readonly string[], rows: readonly Row[]): LogStore {
  const log = new LogStore('system');
  ingestBlock(
    log,
    rowsToBlock(
      1,
      'workers',
      hosts.map((host, worker) => ({
        worker,
        name: worker === 1 ? '<b>one' : `worker-${worker}`,
        address: `tcp://${worker}`,
        host,
        threads: 1,
        left: NaN
      }))
    )
  );
  ingestBlock(
    log,
    rowsToBlock(
      2,
      'system',
      rows.map(row => ({ ...ROW, ...row }))
    )
  );
  return log;
}

const log = logOf(
  ['here', 'there'],
  [
    { worker: NONE_U16, t: 0.5, cpu: 2 },
    { worker: 0, t: 0.5, cpu: 40, diskWrite: NaN, fds: NONE_U32 },
    { worker: 0, t: 2.5, seconds: 2, cpu: 80, diskWrite: NaN, fds: NONE_U32 },
    // (no row is of the second from 0.5 s on)
    { worker: 1, t: 0.5, cpu: 100, netRead: 3 * MiB },
    { worker: 1, t: 2, cpu: 212, netRead: MiB, memory: 10 * MiB }
  ]
);
const result = ask(log, 'system');

describe('lines', () => {
  it('are of each process, and of each host what one of its processes says', () => {
    const processes = drawnOf(result, 'processes', english);
    expect(
      processes.named.map(({ key, label, place }) => [key, label, place])
    ).toEqual([
      ['scheduler', 'scheduler', null],
      ['worker 0', 'worker 0', 0],
      ['worker 1', '<b>one', 1]
    ]);
    const hosts = drawnOf(result, 'hosts', english);
    expect(
      hosts.named.map(({ label, points }) => [label, points.worker])
    ).toEqual([
      // The scheduler is beside its first worker.
      ['here', null],
      ['there', 1]
    ]);
    expect([processes, hosts].map(({ figures }) => figures)).toEqual([
      ['cpu', 'memory', 'diskRead', 'diskWrite', 'fds'],
      ['netRead', 'netWrite', 'hostDiskRead', 'hostDiskWrite']
    ]);
    expect(titleOf(result, 'processes', english)).toBe('What 3 processes take');
    expect(titleOf(result, 'hosts', english)).toBe('What all on 2 hosts take');
  });

  it('are of event loops where the source tells of them', () => {
    const of = (loopInterval: number) =>
      ask(
        logOf(
          ['here'],
          [
            { worker: 0, t: 0.5, loopInterval },
            { worker: NONE_U16, t: 0.5 }
          ]
        ),
        'system'
      );
    expect(drawnOf(of(NaN), 'processes', english).figures).not.toContain(
      'loopInterval'
    );
    const told = of(0.25);
    const { figures, named } = drawnOf(told, 'processes', english);
    expect(figures).toContain('loopInterval');
    expect(drawnOf(told, 'hosts', english).figures).not.toContain(
      'loopInterval'
    );
    expect(told.lines.map(({ loopInterval }) => loopInterval)).toEqual([
      undefined,
      [0.25]
    ]);
    expect(plain(descriptionOf(named, 'loopInterval', english))).toBe(
      'Between turns of the event loop: at most 250 ms, worker 0'
    );
  });

  it('are of a host what the worker says that was there for the longest', () => {
    const hosts = ['here', 'there', 'there', 'there'];
    const rows = [
      { worker: NONE_U16, t: 0.5, seconds: 0.5 },
      { worker: 0, t: 1, seconds: 1 },
      { worker: 1, t: 0.5, seconds: 0.5 },
      { worker: 2, t: 1, seconds: 0.5 },
      { worker: 2, t: 1.5, seconds: 0.5 },
      { worker: 3, t: 2, seconds: 1 }
    ];
    const answer = ask(logOf(hosts, rows), 'system');
    const { named } = drawnOf(answer, 'hosts', english);
    expect(named.map(({ label, points }) => [label, points.worker])).toEqual([
      ['here', null],
      ['there', 2]
    ]);
  });

  it('are steps over the seconds of each row, with gaps where nothing is known', () => {
    const [, first, second] = result.lines;
    expect(stepsOf(first!, 'cpu')).toEqual({
      x: [0, 0.5, 0.5, 2.5],
      y: [40, 40, 80, 80]
    });
    expect(stepsOf(second!, 'cpu')).toEqual({
      x: [0, 0.5, 1.5, 1.5, 2],
      y: [100, 100, null, 212, 212]
    });
    expect(
      [0.2, 0.5, 1, 1.5, 2, 2.1].map(t => valueAt(second!, 'cpu', t))
    ).toEqual([100, 100, null, 212, 212, null]);
    expect(valueAt(first!, 'fds', 1)).toBeNull();
  });

  it('have their unit, and a chart says in words how high it goes', () => {
    const said: [Figure, string][] = [
      ['cpu', '212 %'],
      ['memory', '212 B'],
      ['fds', '212'],
      ['diskRead', '212 B/s'],
      ['netWrite', '212 B/s']
    ];
    for (const [figure, text] of said) {
      expect(plain(formatFigure(212, figure, english))).toBe(text);
      expect(formatFigure(null, figure, english)).toBe('–');
    }
    const { named } = drawnOf(result, 'processes', english);
    expect(plain(descriptionOf(named, 'cpu', english))).toBe(
      'CPU: at most 212 %, <b>one'
    );
    expect(descriptionOf(named.slice(1, 2), 'diskWrite', english)).toBe(
      'Written to disk: the system does not say'
    );
    const idle = ask(
      logOf(['here'], [{ worker: 0, t: 1, diskRead: 0 }]),
      'system'
    );
    expect(
      descriptionOf(
        drawnOf(idle, 'processes', english).named,
        'diskRead',
        english
      )
    ).toBe('Read from disk: nothing');
  });
});

describe('of many processes', () => {
  const many = ask(
    logOf(
      Array.from({ length: 40 }, () => 'here'),
      Array.from({ length: 40 }, (_, worker) => ({
        worker,
        t: 1,
        cpu: worker,
        memory: (40 - worker) * MiB,
        fds: worker === 20 ? 999 : 30
      }))
    ),
    'system'
  );
  const drawn = drawnOf(many, 'processes', english);

  it('the highest of each chart have a name and a colour, all others are one grey trace', () => {
    expect(drawn.named).toHaveLength(12);
    expect(drawn.others).toHaveLength(28);
    const keys = drawn.named.map(({ key }) => key);
    // Of CPU, of memory, of descriptors.
    expect(keys).toEqual(
      expect.arrayContaining(['worker 39', 'worker 0', 'worker 20'])
    );
    expect(new Set(drawn.named.map(({ place }) => place)).size).toBe(12);
    const { data } = systemFigure(drawn, 'cpu', new Set(), {
      width: 600,
      trans: english
    });
    expect(data).toHaveLength(13);
    const [grey] = data as [{ x: (number | null)[]; line: { color: string } }];
    expect(grey.line.color).toBe('--sw-fn-other');
    expect(grey.x.filter(x => x === null)).toHaveLength(28);
    expect(namedNote(drawn, 3, english)).toBe(
      'Coloured are the 12 that are highest in one of the charts; 28 others are grey. The table has all. 3 processes more are left out.'
    );
    expect(tableOf({ ...many, dropped: 1 }, english).note).toBe(
      '1 process more is left out.'
    );
    expect(tableOf(many, english).rows).toHaveLength(41);
  });
});

describe('the figure', () => {
  const drawn = drawnOf(result, 'processes', english);
  const figure = (of: Figure, hidden: string[] = []) =>
    systemFigure(drawn, of, new Set(hidden), {
      width: 600,
      trans: english
    }) as {
      data: { name: string; line: { color: string } }[];
      layout: Record<string, { range: number[]; ticktext: string[] }>;
    };

  it('has the same times in each chart, whole steps, and no name as markup', () => {
    const { data, layout } = figure('cpu');
    expect(data.map(({ name, line }) => [name, line.color])).toEqual([
      ['scheduler', '--jp-ui-font-color2'],
      ['worker 0', '--sw-fn-1'],
      ['&lt;b&gt;one', '--sw-fn-2']
    ]);
    expect(layout.yaxis!.ticktext.map(plain)).toEqual(['0', '100 %', '200 %']);
    for (const of of drawn.figures) {
      expect(figure(of).layout.xaxis!.range).toEqual([0, 2.75]);
    }
    expect(figure('fds').layout.yaxis!.ticktext).toEqual([
      '0',
      '10',
      '20',
      '30'
    ]);
  });

  it('is as high as what is shown', () => {
    const { data, layout } = figure('cpu', ['worker 1']);
    expect(data.map(({ name }) => name)).toEqual(['scheduler', 'worker 0']);
    expect(layout.yaxis!.range[1]).toBeCloseTo(80 * 1.08);
  });
});

describe('the table', () => {
  it('has mean, highest and sum of each process, then what all on a host read and sent', () => {
    const { columns, rows } = tableOf(result, english);
    expect(columns).toHaveLength(9);
    expect(rows.map(row => row.map(({ value }) => value))).toEqual([
      ['scheduler', 2, 2, 20 * MiB, 3 * MiB, 3.5 * MiB, 30, null, null],
      // 0.5 s at 40 % and 2 s at 80 %: a mean of rows would be 60 %.
      ['worker 0', 72, 80, 20 * MiB, 15 * MiB, null, null, null, null],
      ['<b>one', 156, 212, 20 * MiB, 6 * MiB, 7 * MiB, 30, null, null],
      [
        'all on here',
        ...[null, null, null],
        ...[4 * MiB, 4.5 * MiB, null, 2 * MiB, 2.5 * MiB]
      ],
      [
        'all on there',
        ...[null, null, null],
        ...[8 * MiB, 9 * MiB, null, 2 * MiB, 5 * MiB]
      ]
    ]);
    expect(plain(rows[1]![1]!.text)).toBe('72.0 %');
    expect(rows[1]![5]!.text).toBe('–');
  });
});
