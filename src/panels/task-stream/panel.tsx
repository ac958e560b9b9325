/** The Task Stream as a panel: its tools, and which part shows what. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { JSONObject } from '@lumino/coreutils';
import { Debouncer } from '@lumino/polling';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type {
  RunDetail,
  Snapshot,
  TaskStreamResult
} from '../../wire/panel-link';
import {
  DrawerEdge,
  type DrawerSizes,
  drawerStyle,
  readDrawerSizes
} from '../drawer-edge';
import { formatTimeRange, type TableData } from '../format';
import { notices } from '../notices';
import { SpanwisePanel } from '../panel';
import type { PanelFace, PanelOptions } from '../panel-context';
import { type MenuItem, openMenu } from '../panel-menu';
import { SearchBox, ToolButton, ToolSelect } from '../toolbar';
import { processBytes } from '../worker-memory';
import { standings } from '../worker-standing';
import {
  fitIcon,
  followIcon,
  followingIcon,
  zoomInIcon,
  zoomOutIcon
} from './icons';
import { exportItems } from './exports';
import { LanesView, nowText } from './lanes-view';
import { laneGroups } from './lane-groups';
import { Legend } from './legend';
import { type ColourBy, TaskStreamModel } from './model';
import { LanePointer, placeOf } from './pointer';
import { SelectedTask } from './selected-task';
import { askNeighbour, askTasks, type TaskQuestion } from './task-query';
import { TaskTable } from './task-table';
import { ToldView } from './told-view';
import type { Viewport } from './viewport';
import { clockText, legendRows, liveText } from './rows';

const ZOOM_STEP = 1.6;
/** Room at each side of a task, in its durations: a jump shows what ran around it, a zoom the task itself. */
const JUMP_ROOM = 2;
const ZOOM_ROOM = 0.1;

export class TaskStreamPanel extends SpanwisePanel<TaskStreamResult> {
  private readonly _model: TaskStreamModel;
  private readonly _saving = new Debouncer(() => this.stateHasChanged(), 1000);
  private readonly _toldView = new ToldView(() => this._inSight());
  private _pointer: LanePointer;
  private _lastView: Viewport | null = null;
  /** Of the log that is shown, or was before the page was loaded again. */
  private _logId: string | null;
  private _drawer: DrawerSizes;
  private _search = '';
  private _found: string | undefined;
  private _matches: {
    readonly runs: readonly RunDetail[];
    readonly at: number;
  } | null = null;

  constructor(face: PanelFace, options: PanelOptions) {
    super(face, options);
    this.addClass('sw-TaskStreamPanel');
    this._model = new TaskStreamModel(options.state);
    this._drawer = readDrawerSizes(options.state?.drawer);
    const log = options.state?.log;
    this._logId = typeof log === 'string' ? log : null;
    this._pointer = this._newPointer();
    this._model.changed.connect(this.update, this);
    this._model.moved.connect(this._onMoved, this);
  }

  get model(): TaskStreamModel {
    return this._model;
  }

  override savedState(): JSONObject {
    return {
      ...super.savedState(),
      ...this._model.savedState(),
      drawer: { ...this._drawer },
      log: this._logId
    };
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._model.changed.disconnect(this.update, this);
      this._model.moved.disconnect(this._onMoved, this);
      this._saving.dispose();
      this._model.dispose();
      super.dispose();
      this._toldView.dispose();
    }
  }

  protected get view() {
    return 'task-stream' as const;
  }

  protected override onSnapshot(snapshot: Snapshot): void {
    const isOtherLog = this._logId !== null && this._logId !== snapshot.logId;
    this._logId = snapshot.logId;
    this._model.setWatch(this.watch);
    if (snapshot.result.view === 'task-stream') {
      this._model.setResult(snapshot.result, this.answered.filter);
      if (isOtherLog) {
        // The next run of the same notebook, or another cluster.
        this._model.beginAnew();
        this._forgetMatches();
      }
    }
  }

  protected override onTurned(): void {
    this._pointer = this._newPointer();
    this._forgetMatches();
  }

  /** They are runs of the log that was shown. */
  private _forgetMatches(): void {
    this._matches = null;
    this._found = undefined;
  }

  /** Hidden, it does not show where it would have gone on to; a view that does not go on stays what the user looked at. */
  protected override onWatching(isOn: boolean): void {
    if (isOn) {
      this._toldView.moved();
    } else {
      const { isFollowing } = this._model;
      const tasks = isFollowing || this.isDisposed ? this.cluster?.tasks : null;
      this._toldView.hidden(tasks ?? null);
    }
  }

  protected override isEmpty(result: TaskStreamResult) {
    return result.tasks === 0 && result.running.length === 0
      ? { hidden: result.hidden }
      : null;
  }

  protected override remark(result: TaskStreamResult): string {
    return clockText(result, this.trans);
  }

  protected override liveLine(result: TaskStreamResult): string {
    return liveText(result, this.trans);
  }

  protected override renderTools(
    result: TaskStreamResult | null
  ): React.ReactNode {
    const { trans, _model: model } = this;
    const groups = result === null ? [] : laneGroups(result, trans);
    return (
      <>
        <ToolButton
          label={trans.__('Follow')}
          text={trans.__('Follow')}
          icon={model.followsNewest ? followingIcon : followIcon}
          pressed={model.followsNewest}
          shortcut="F"
          onClick={() => this._change(() => model.toggleFollowing())}
        />
        <ToolButton
          label={trans.__('Zoom in')}
          icon={zoomInIcon}
          shortcut="+"
          onClick={() => this._change(() => model.zoom(ZOOM_STEP))}
        />
        <ToolButton
          label={trans.__('Zoom out')}
          icon={zoomOutIcon}
          shortcut="-"
          onClick={() => this._change(() => model.zoom(1 / ZOOM_STEP))}
        />
        <ToolButton
          label={trans.__('Fit')}
          tooltip={
            model.fitsNext === 'selection'
              ? trans.__('Fit the selection')
              : trans.__('Fit the whole run')
          }
          icon={fitIcon}
          shortcut="0"
          onClick={() => this._change(() => model.fit())}
        />
        <ToolButton
          className="sw-tool-wide"
          label={trans.__('Jump to')}
          text={trans.__('Jump to')}
          hasMenu
          onClick={event => openMenu(event.currentTarget, this._jumps())}
        />
        {groups.length > 0 && (
          <ToolSelect
            label={trans.__('Workers shown')}
            value={String(model.openedGroup ?? 'all')}
            options={[
              { value: 'all', label: trans.__('Workers: all, in groups') },
              ...groups.map(({ group, name }) => ({
                value: String(group),
                label: name
              }))
            ]}
            onChange={value =>
              this._change(() =>
                model.openGroup(groups[Number(value)]?.worker ?? null)
              )
            }
          />
        )}
        <ToolSelect<ColourBy>
          className="sw-tool-wide"
          label={trans.__('Colour by')}
          value={model.colourBy}
          options={[
            { value: 'function', label: trans.__('Colour: function') },
            { value: 'kind', label: trans.__('Colour: kind') }
          ]}
          onChange={value => this._setColourBy(value)}
        />
        <SearchBox
          className="sw-tool-search"
          label={trans.__('Find key')}
          value={this._search}
          count={this._found}
          onChange={value => {
            this._search = value;
            this._found = undefined;
            this._matches = null;
            this.update();
          }}
          onEnter={() => void this._findNext()}
        />
        {/* (it comes and goes: no tool is right of it that would move) */}
        <PausedText model={model} trans={trans} />
        <span className="sw-toolbar-note sw-figure">
          {nowText(model, trans)}
        </span>
      </>
    );
  }

  protected renderChart(_result: TaskStreamResult): React.ReactNode {
    return (
      <div className="sw-TaskStream" style={drawerStyle(this._drawer)}>
        <LanesView
          model={this._model}
          pointer={this._pointer}
          selection={this.context.selection}
          theme={this.context.theme}
          trans={this.trans}
          standings={standings(this.context.cluster.current)}
          processes={processBytes(this.context.cluster.current)}
          isLocal={this.cluster?.kind === 'local'}
          hasRange={this.answered.time !== 'all'}
        />
        <Legend
          model={this._model}
          selection={this.context.selection}
          trans={this.trans}
        />
        <SelectedTask
          context={this.context}
          slots={this._model.slots}
          trans={this.trans}
          edge={
            <DrawerEdge
              sizes={this._drawer}
              trans={this.trans}
              onSize={(side, percent) => {
                this._drawer = { ...this._drawer, [side]: percent };
                this.update();
                this._saveSoon();
              }}
            />
          }
          onShow={run => this._show(run, ZOOM_ROOM)}
          onRun={this._onRun}
        />
      </div>
    );
  }

  protected override renderTable(): React.ReactNode {
    return (
      <TaskTable
        context={this.context}
        label={this.accessibleName}
        search={this._search}
      />
    );
  }

  protected override exportItems(disabledBecause?: string) {
    return exportItems(
      this.trans,
      () => ({
        model: this._model,
        context: this.context,
        trans: this.trans,
        answered: this.answered,
        title: this.accessibleName,
        fileName: this.fileName,
        width: this.node.clientWidth
      }),
      disabledBecause
    );
  }

  protected override get tableLabel(): string {
    return this.trans.__('Export legend as CSV');
  }

  /** For the export: the legend, which is what the answer holds; the tasks themselves are an entry of their own. */
  protected tableData(result: TaskStreamResult): TableData {
    const { trans } = this;
    return {
      columns: [
        { name: trans.__('Colour') },
        { name: trans.__('Thread time'), numeric: true },
        { name: trans.__('Executions'), numeric: true }
      ],
      rows: legendRows(result, trans)
    };
  }

  /** Saves a paused view when it has come to rest. Answers and tiles come all the time and do not move it. */
  private _onMoved(): void {
    this._toldView.moved();
    const { isFollowing, view } = this._model;
    if (isFollowing || view === this._lastView) {
      return;
    }
    this._lastView = view;
    this._saveSoon();
  }

  /** For panels that show the same part of the time. */
  private _inSight(): ToldView.INow | null {
    const { cluster, result, isVisible } = this;
    const { timeViews: views } = this.context;
    return views === undefined ||
      cluster === null ||
      result === null ||
      !isVisible ||
      this.showsTable ||
      this.isEmpty(result) !== null
      ? null
      : { views, cluster, view: this._model.view };
  }

  private _saveSoon(): void {
    this._saving.invoke().catch(() => {
      // The panel was disposed meanwhile: there is nothing left to save.
    });
  }

  private _change(act: () => void): void {
    act();
    // The layout restorer keeps the view.
    this.stateHasChanged();
  }

  /** It knows the runs of one cluster. */
  private _newPointer(): LanePointer {
    return new LanePointer(
      this._model,
      this.context.selection,
      run => this._detailOf(run),
      question => askNeighbour(this.context, this._model.filter, question)
    );
  }

  private readonly _onRun = (run: RunDetail | null): void => {
    this._model.setSelectedPlace(run === null ? null : placeOf(run));
  };

  private _detailOf(run: number): Promise<RunDetail | null> {
    const cluster = this.context.cluster.current;
    return cluster === null
      ? Promise.resolve(null)
      : this.context.feed.detail(cluster.cluster, run);
  }

  protected override moreItems(): readonly MenuItem[] {
    const model = this._model;
    return [
      ...this._jumps().map(item => ({
        ...item,
        label: this.trans.__('Jump to: %1', item.label)
      })),
      {
        label: this.trans.__('Colour by kind'),
        isToggled: model.colourBy === 'kind',
        run: () =>
          this._setColourBy(model.colourBy === 'kind' ? 'function' : 'kind')
      }
    ];
  }

  private _setColourBy(colourBy: ColourBy): void {
    this._change(() => this._model.setColourBy(colourBy));
  }

  private _jumps(): readonly MenuItem[] {
    const { trans } = this;
    const jump = (label: string, question: TaskQuestion) => ({
      label,
      run: () => void this._jump(label, question)
    });
    return [
      jump(trans.__('First'), { limit: 1 }),
      jump(trans.__('Last'), { limit: 1, descending: true }),
      jump(trans.__('Longest'), {
        limit: 1,
        sort: 'duration',
        descending: true
      }),
      jump(trans.__('Next failed'), { limit: 500, failedOnly: true })
    ];
  }

  private async _jump(label: string, question: TaskQuestion): Promise<void> {
    const runs = await this._ask(question);
    if (runs === null) {
      return;
    }
    // "Next failed" goes on from the selected one, and round.
    const selected = runs.findIndex(
      run => run.run === this.context.selection.selectedRun
    );
    const run = runs[(selected + 1) % Math.max(1, runs.length)];
    if (run === undefined) {
      notices.info(this.trans.__('%1: no such task.', label), {
        autoClose: 3000
      });
      return;
    }
    this._show(run);
    this._focusLanes();
  }

  /** So that their keys work after a jump, which left the focus on the button of its menu; not if it is elsewhere by now. */
  private _focusLanes(): void {
    const { activeElement } = document;
    if (activeElement === document.body || this.node.contains(activeElement)) {
      this.node
        .querySelector<HTMLElement>('.sw-TaskStream-lanes')
        ?.focus({ preventScroll: true });
    }
  }

  /** Enter in `Find key`: the first match, then the next, and round. */
  private async _findNext(): Promise<void> {
    if (this._search === '') {
      return;
    }
    if (this._matches === null) {
      const search = this._search;
      const runs = await this._ask({ limit: 500, search });
      if (runs === null || search !== this._search) {
        return;
      }
      this._matches = { runs, at: -1 };
    }
    const { runs } = this._matches;
    const at = runs.length === 0 ? -1 : (this._matches.at + 1) % runs.length;
    this._matches = { runs, at };
    this._found = this.trans.__('%1 of %2', at + 1, runs.length);
    const run = runs[at];
    if (run !== undefined) {
      this._show(run);
    }
    this.update();
  }

  private async _ask(
    question: TaskQuestion
  ): Promise<readonly RunDetail[] | null> {
    try {
      return await askTasks(this.context, question);
    } catch (error) {
      notices.error(error instanceof Error ? error.message : String(error), {
        autoClose: 5000
      });
      return null;
    }
  }

  /** The one that is there, else the newest: a worker that starts again may have the name of one that has left. */
  private _workerNamed(wanted: string) {
    const named = this._model.result?.workers.filter(
      ({ name }) => name === wanted
    );
    return named?.find(({ left }) => left === null) ?? named?.at(-1);
  }

  private _show(run: RunDetail, room = JUMP_ROOM): void {
    this.context.selection.select({ kind: 'run', run: run.run });
    const worker = this._workerNamed(run.worker);
    this._change(() => {
      if (worker !== undefined && this._model.shown.rows !== undefined) {
        this._model.openGroup(worker.worker);
      }
      const range = { from: run.start, to: run.start + run.duration };
      this._model.show(range, room);
    });
  }
}

/** "paused at 14.6 s – 30.6 s", or "whole run" where all of it is in view; follows a pan without rendering the panel again. */
function PausedText(props: {
  readonly model: TaskStreamModel;
  readonly trans: TranslationBundle;
}): JSX.Element | null {
  const { model, trans } = props;
  const [, redraw] = React.useReducer((count: number) => count + 1, 0);
  React.useEffect(() => {
    let frame = 0;
    const later = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        redraw();
      });
    };
    model.moved.connect(later);
    return () => {
      cancelAnimationFrame(frame);
      model.moved.disconnect(later);
    };
  }, [model]);
  if (model.followsNewest) {
    return null;
  }
  if (model.isFollowing) {
    return (
      <span className="sw-TaskStream-paused">{trans.__('whole run')}</span>
    );
  }
  const { from, to } = model.view;
  const range = formatTimeRange(Math.max(0, from), Math.max(0, to));
  const text = model.isLive ? trans.__('paused at %1', range) : range;
  const shown = !model.showsWhole
    ? text
    : model.isLive
      ? trans.__('whole run, paused')
      : trans.__('whole run');
  return (
    <span className="sw-TaskStream-paused sw-figure" title={text}>
      <span className="sw-TaskStream-pauseMark" aria-hidden="true" />
      {shown}
    </span>
  );
}
