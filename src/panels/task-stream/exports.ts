/** What *Export* of the Task Stream offers beside the legend: pictures of what is shown, a trace and a table of the selection's runs. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { RunDetail } from '../../wire/panel-link';
import { conditionsOf } from '../../feed/selection';
import { conditionText } from '../chip-row';
import { downloadText } from '../download-text';
import { exportItem, GivenUp } from '../export-item';
import {
  cellOf,
  formatCount,
  formatDuration,
  formatExactCount,
  formatTimeRange,
  legendWord,
  type TableData
} from '../format';
import { notices } from '../notices';
import type { PanelContext } from '../panel-context';
import type { MenuItem } from '../panel-menu';
import type { Asked } from '../panel-watch';
import { downloadPng, downloadSvg, type Picture } from '../picture-file';
import { NARROWEST_PICTURE, shownOf, textWidthOf } from '../picture-parts';
import { tableAsCsv } from '../table-twin';
import { processBytes } from '../worker-memory';
import { standings } from '../worker-standing';
import { type AllTasks, allTasks, MOST_TASKS, TooManyTasks } from './all-tasks';
import { groupHeaders } from './lane-groups';
import { layOutLanes } from './lane-layout';
import type { LaneScene } from './lane-scene';
import type { TaskStreamModel } from './model';
import { pictureOf } from './picture';
import { boxesIn } from './picture-lanes';
import {
  cellText,
  endedFirst,
  foldedItems,
  foldedText,
  functionCount,
  laneText,
  legendItems,
  spansText,
  stripBars,
  taskColumns,
  taskRow,
  workerHeaders
} from './rows';
import { tileUntil } from './tile-until';
import { standingTexts } from './standing-texts';
import { askRecordsPage, askTasksPage } from './task-query';
import { traceOf } from './trace';

/** What they are taken from. It may be another one while tiles are on their way. */
interface IExportSource {
  readonly model: TaskStreamModel;
  readonly context: PanelContext;
  readonly trans: TranslationBundle;
  /** What the panel's answer is to. */
  readonly answered: Asked;
  /** "Task Stream, first-look" */
  readonly title: string;
  readonly fileName: string;
  /** Of the panel, in pixels. */
  readonly width: number;
}

/** Device pixels a pixel: boxes have the edges that they have on a sharp screen. */
const PIXEL_RATIO = 2;
const GUTTER = 112;
const LANE_HEIGHT = 24;
/** From so many lanes on they have half of the height. */
const MANY_LANES = 64;
/** Beyond it a picture takes programs minutes to open. */
const MOST_BOXES = 100_000;
const TILES_LIMIT_MS = 10_000;

export function exportItems(
  trans: TranslationBundle,
  sourceNow: () => IExportSource,
  disabledBecause?: string
): readonly MenuItem[] {
  const item = (label: string, act: () => Promise<void>): MenuItem =>
    exportItem(label, act, trans, disabledBecause);
  return [
    item(trans.__('Export picture as PNG'), async () =>
      downloadPng(...(await pictureFrom(sourceNow)))
    ),
    item(trans.__('Export picture as SVG'), async () =>
      downloadSvg(...(await pictureFrom(sourceNow)))
    ),
    item(trans.__('Export trace for Perfetto or Chrome'), () =>
      exportTrace(sourceNow())
    ),
    item(trans.__('Export task runs as CSV'), () => exportTasks(sourceNow()))
  ];
}

// ------------------------------------------------------------------- pictures

async function pictureFrom(
  sourceNow: () => IExportSource
): Promise<readonly [fileName: string, picture: Picture]> {
  const before = sourceNow();
  const { model } = before;
  const width = Math.max(
    NARROWEST_PICTURE,
    Math.floor(before.width) - GUTTER - 24
  );
  const found = await withNotice(
    before.trans.__('Waiting for the tasks in view…'),
    before.trans,
    onShare => model.wholeTiles(width * PIXEL_RATIO, TILES_LIMIT_MS, onShare)
  );
  // What the tiles are of: meanwhile the selection may have changed.
  const source = sourceNow();
  const { context, trans, answered } = source;
  if (found === null) {
    throw new Error(trans.__('the observer did not send what is shown.'));
  }
  const { view, result } = found;
  const { showsGroups, whole } = model;
  const running = showsGroups ? [] : result.running;
  // All of a picture is of one moment: the page's clock is ahead of it.
  const end = result.running.length > 0 ? result.to : result.now;
  const lanesOfRunning = new Set(running.map(({ laneIndex }) => laneIndex));
  const tiles = result.live
    ? found.tiles.map(each => tileUntil(each, end, lanesOfRunning))
    : found.tiles;
  const { shown } = model;
  const layout = layOutLanes(
    shown,
    model.collapsedRows,
    shown.lanes.length <= MANY_LANES ? Infinity : 0,
    LANE_HEIGHT
  );
  const { time } = answered;
  const scene: LaneScene = {
    view,
    width,
    height: layout.height,
    scrollTop: 0,
    pixelRatio: PIXEL_RATIO,
    layout,
    tiles: found.range,
    tileOf: (level, index) =>
      tiles.find(tile => tile.level === level && tile.index === index) ?? null,
    slots: model.slots,
    slotsVersion: model.slotsVersion,
    colourBy: model.colourBy,
    palette: context.theme.palette,
    running,
    goesOnText: legendWord('cancelled, still running', trans),
    now: result.live ? end : null,
    selectedRun: context.selection.selectedRun,
    selectedPlace: model.selectedRow,
    range: time !== 'all' && 'from' in time ? time : null
  };
  const boxes = boxesIn(scene, tiles);
  if (boxes > MOST_BOXES) {
    throw new Error(
      trans.__(
        'the picture would have %1 boxes, and %2 at most. Zoom in, or fold workers.',
        formatCount(boxes),
        formatCount(MOST_BOXES)
      )
    );
  }
  const items = endedFirst(legendItems(result, model.colourBy, trans));
  const folded = foldedItems(items);
  const isLocal = context.cluster.current?.kind === 'local';
  const heads = showsGroups
    ? groupHeaders(result, trans, isLocal)
    : workerHeaders(
        result,
        trans,
        standingTexts(standings(context.cluster.current), trans),
        processBytes(context.cluster.current)
      );
  const picture = pictureOf({
    title: source.title,
    subtitle: [
      formatTimeRange(Math.max(0, view.from), Math.max(0, view.to)),
      ...shownOf(context.cluster.current, answered, trans)
    ].join(' · '),
    scene,
    tiles,
    gutter: GUTTER,
    whole: {
      label: [
        trans.__('whole run'),
        formatDuration(result.to - result.from),
        trans.__('with pauses')
      ],
      view: whole,
      from: result.from,
      to: result.to,
      bars: stripBars(result)
    },
    axisLabel: trans.__('since start'),
    bandsLabel: spansText(
      found.bandsWithoutRow + (result.bandsLeftOut ?? 0),
      trans
    ),
    bands: found.bands,
    heads: new Map(heads.map(head => [head.worker, head])),
    laneName: lane =>
      showsGroups ? trans.__('all threads') : laneText(lane, trans),
    legend: [
      ...items.filter(item => !folded.has(item)),
      ...(folded.size > 0
        ? [
            {
              kind: 'function' as const,
              name: foldedText(functionCount(folded), trans),
              slot: -1,
              round: 0,
              seconds: 0,
              isRunning: false,
              text: '',
              title: ''
            }
          ]
        : [])
    ],
    textWidth: textWidthOf(context.theme.palette.uiFont)
  });
  return [source.fileName, picture];
}

// ---------------------------------------------------------------------- tasks

async function exportTrace(source: IExportSource): Promise<void> {
  const { model, context, trans, answered } = source;
  const { time } = answered;
  const { bands = [], bandsLeftOut = 0 } = model.result ?? {};
  const cluster = context.cluster.current;
  const { runs, lost } = await collected(source);
  downloadText(
    `${source.fileName}.trace.json`,
    'application/json',
    traceOf(
      {
        runs,
        bands:
          time !== 'all' && 'from' in time
            ? bands.filter(({ from, to }) => to >= time.from && from < time.to)
            : bands,
        about: {
          cluster: cluster?.name ?? '',
          started:
            cluster === null
              ? ''
              : new Date(cluster.startedAt * 1000).toISOString(),
          selection: conditionsOf(answered)
            .map(each => conditionText(each, trans))
            .join(', '),
          ...(bandsLeftOut > 0 && { spans_left_out: String(bandsLeftOut) }),
          ...(lost > 0 && { runs_missing: lostText(lost, trans) })
        }
      },
      trans
    )
  );
  warnOfLost(lost, trans);
}

async function exportTasks(source: IExportSource): Promise<void> {
  const { trans } = source;
  const { runs, lost } = await collected(source);
  const columns = taskColumns(trans);
  const functionAt = columns.findIndex(({ sort }) => sort === 'function');
  // Beside the span, which is `default` where a notebook opens none.
  const spanAt = columns.findIndex(({ sort }) => sort === 'span');
  // (from the last place to the first, so that those before stay where they are)
  const withOwn = <T>(row: readonly T[], fused: T, cell: T) =>
    row.toSpliced(spanAt + 1, 0, cell).toSpliced(functionAt + 1, 0, fused);
  downloadText(
    `${source.fileName} task runs.csv`,
    'text/csv',
    tableAsCsv({
      columns: withOwn<TableData['columns'][number]>(
        columns,
        { name: trans.__('Fused from'), numeric: false },
        { name: trans.__('Cell'), numeric: false }
      ),
      rows: [
        ...runs.map(run => {
          return withOwn(
            taskRow(run, trans),
            cellOf.text(fusedText(run)),
            cellOf.text(cellText(run, trans))
          );
        }),
        // A file of this kind has no place for remarks but its rows.
        ...(lost > 0
          ? [
              [cellOf.text(lostText(lost, trans))].concat(
                Array.from({ length: columns.length + 1 }, () =>
                  cellOf.text('')
                )
              )
            ]
          : [])
      ]
    })
  );
  warnOfLost(lost, trans);
}

/** "smooth 0.7003; getitem-overlap 0.0121": what functions computed in a fused run, in seconds; '': one alone did. */
function fusedText({ fused = [] }: RunDetail): string {
  return fused
    .map(({ function: name, seconds }) => `${name} ${seconds.toFixed(6)}`)
    .join('; ');
}

/** What a file has not. */
function lostText(lost: number, trans: TranslationBundle): string {
  return trans._n(
    'Up to %2 task run of the selection is missing: it was dropped for want of room while this file was made.',
    'Up to %2 task runs of the selection are missing: they were dropped for want of room while this file was made.',
    lost,
    formatExactCount(lost)
  );
}

function warnOfLost(lost: number, trans: TranslationBundle): void {
  if (lost > 0) {
    notices.warning(lostText(lost, trans), { autoClose: false });
  }
}

/** The runs of the selection that have ended by now. */
async function collected(source: IExportSource): Promise<AllTasks> {
  const { model, context, trans, answered } = source;
  const cluster = context.cluster.current?.cluster;
  const { filter, time } = answered;
  const { to = 0 } = model.result ?? {};
  const asked: Asked = {
    filter,
    // The last seconds, as of now: they go on while pages come.
    time: time !== 'all' && 'last' in time ? { from: to - time.last, to } : time
  };
  try {
    return await withNotice(trans.__('Collecting task runs…'), trans, onShare =>
      allTasks(
        page => askRecordsPage(context, asked, page),
        async () => (await askTasksPage(context, asked, { limit: 1 })).total,
        share => {
          onShare(share);
          if (context.cluster.current?.cluster !== cluster) {
            throw new Error(
              trans.__('the panel shows another cluster by now.')
            );
          }
        }
      )
    );
  } catch (error) {
    throw error instanceof TooManyTasks
      ? new Error(
          trans.__(
            'the selection has %1 task runs, and a file %2 at most. Choose less of the time (Shift-drag) or filter, and export that.',
            formatCount(error.total),
            formatCount(MOST_TASKS)
          )
        )
      : error;
  }
}

/**
 * Says how far it is, with a button that gives it up.
 *
 * @param act - tells which share is done; what it calls raises if the user gave up.
 */
async function withNotice<T>(
  text: string,
  trans: TranslationBundle,
  act: (onShare: (share: number) => void) => Promise<T>
): Promise<T> {
  let notice = '';
  let isGivenUp = false;
  const onShare = (share: number) => {
    if (isGivenUp) {
      throw new GivenUp();
    }
    if (share >= 1) {
      return;
    }
    if (notice === '') {
      notice = notices.begin(text, {
        autoClose: false,
        progress: share,
        actions: [
          {
            label: trans.__('Give up'),
            callback: () => {
              isGivenUp = true;
            }
          }
        ]
      });
    } else {
      notices.update({ id: notice, progress: share });
    }
  };
  try {
    const made = await act(onShare);
    if (isGivenUp) {
      throw new GivenUp();
    }
    return made;
  } finally {
    if (notice !== '') {
      notices.dismiss(notice);
    }
  }
}
