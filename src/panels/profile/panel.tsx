/** Profile as a panel: grouping, order, search, zoom. */
import type { JSONObject } from '@lumino/coreutils';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { ProfileResult, Snapshot } from '../../wire/panel-link';
import { downloadText } from '../download-text';
import { exportItem } from '../export-item';
import { pauseIcon, resumeIcon } from '../icons';
import type { TableData } from '../format';
import { isNodeProgram } from '../node-program';
import { SpanwisePanel } from '../panel';
import type { PanelFace, PanelOptions } from '../panel-context';
import type { Hidden } from '../panel-states';
import type { MenuItem } from '../panel-menu';
import type { PanelState } from '../state-view';
import { downloadPng, downloadSvg, type Picture } from '../picture-file';
import { NARROWEST_PICTURE, shownOf, textWidthOf } from '../picture-parts';
import { RadioGroup, SearchBox, ToolButton, ToolSelect } from '../toolbar';
import { activityOf } from './figure';
import { FrameTreeView } from './frame-tree-view';
import { legendOf } from './legend';
import { pictureOf } from './picture';
import {
  frameColumns,
  frameRows,
  type FrameTree,
  frameTree,
  nameOf,
  nodeOfKey,
  pathKey,
  samplingText,
  search,
  tellsStates
} from './rows';
import { speedscopeOf } from './speedscope';
import { ProfileView } from './view';
import { WholeActivity } from './whole-activity';

type GroupBy = 'all' | 'function' | 'worker' | 'span';
type Order = 'left-heavy' | 'time';

const MOST_NODES = 5000;

export class ProfilePanel extends SpanwisePanel<ProfileResult> {
  private _groupBy: GroupBy;
  private _order: Order;
  private _search = '';
  private _focusKey: string | null = null;
  private _selectedKey: string | null = null;
  private _paused: ProfileResult | null = null;
  private _made: FrameTree | null = null;
  private _logId: string | null = null;
  /** Of the context that the panel has. */
  private _whole: WholeActivity;

  constructor(face: PanelFace, options: PanelOptions) {
    super(face, options);
    const { groupBy, order } = options.state ?? {};
    this._groupBy =
      groupBy === 'function' || groupBy === 'worker' || groupBy === 'span'
        ? groupBy
        : 'all';
    this._order = order === 'time' ? 'time' : 'left-heavy';
    this._whole = this._newWhole();
  }

  override dispose(): void {
    this._whole.dispose();
    super.dispose();
  }

  override savedState(): JSONObject {
    return {
      ...super.savedState(),
      groupBy: this._groupBy,
      order: this._order
    };
  }

  protected get view() {
    return 'profile' as const;
  }

  // Stacks change slowly, and a tree of thousands of frames is the largest answer of all.
  protected override get maxHz(): number {
    return 2;
  }

  protected override params() {
    return { groupBy: this._groupBy, order: this._order, maxNodes: MOST_NODES };
  }

  protected override onSnapshot(snapshot: Snapshot): void {
    if (snapshot.logId !== this._logId) {
      this._logId = snapshot.logId;
      this._paused = null;
      this._focusKey = null;
      this._selectedKey = null;
    }
    if (this.answered.time === 'all') {
      this._whole.tell(snapshot);
    }
    this._followWhole(this.watch !== null);
  }

  protected override onWatching(isOn: boolean): void {
    this._followWhole(isOn);
  }

  protected override onTurned(): void {
    this._whole.dispose();
    this._whole = this._newWhole();
  }

  private _newWhole(): WholeActivity {
    return new WholeActivity(
      this.context,
      () => this.asking.filter,
      () => this.update()
    );
  }

  private _followWhole(isSeen: boolean): void {
    this._whole.follow(isSeen && this.asking.time !== 'all');
  }

  protected override isEmpty(result: ProfileResult): Hidden | null {
    const { hidden = 0 } = result;
    return result.samples === 0 && hidden > 0
      ? { hidden, of: 'samples', hint: this._whyFew() }
      : null;
  }

  protected override ownState(result: ProfileResult): PanelState | null {
    const { trans } = this;
    const cluster = this.context.cluster.current;
    if (result.samples > 0) {
      return null;
    }
    return cluster?.capabilities.samples === false
      ? {
          icon: this.face.icon,
          title: trans.__('This source gives no samples.'),
          sentence: isNodeProgram(cluster)
            ? trans.__(
                'Node’s sampler works in the thread that computes, and would be measured with the tasks.'
              )
            : trans.__(
                'The workers of %1 were started without the sampler.',
                cluster.name
              )
        }
      : {
          icon: this.face.icon,
          title: trans.__('No samples yet.'),
          sentence: this._whyFew()
        };
  }

  protected override remark(result: ProfileResult): string {
    const { trans } = this;
    return tellsStates(result)
      ? ''
      : this.context.cluster.current?.kind === 'dask'
        ? trans.__(
            'Dask’s samples do not tell whether a thread was on a core, waited for one or for the GIL, or was blocked.'
          )
        : trans.__(
            'These samples do not tell whether a thread was on a core, waited, or was blocked.'
          );
  }

  protected override renderTools(result: ProfileResult | null) {
    const { trans } = this;
    const tree = result === null ? null : this._tree(result);
    const found = tree === null ? null : search(tree, this._search, trans);
    return (
      <>
        <SearchBox
          label={trans.__('Search frames')}
          value={this._search}
          onChange={text => {
            this._search = text;
            this.update();
          }}
          onEnter={() => tree !== null && this._selectNext(tree)}
        />
        {found !== null && (
          <span className="sw-toolbar-note sw-figure" role="status">
            {found.text}
          </span>
        )}
        <RadioGroup<Order>
          label={trans.__('Order')}
          className="sw-tool-wide"
          value={this._order}
          options={[
            { value: 'left-heavy', label: trans.__('Left-heavy') },
            { value: 'time', label: trans.__('Time order') }
          ]}
          onChange={order => this._setOrder(order)}
        />
        <ToolSelect<GroupBy>
          label={trans.__('Group by')}
          className="sw-tool-wide"
          value={this._groupBy}
          options={[
            { value: 'all', label: trans.__('All together') },
            { value: 'function', label: trans.__('By function') },
            { value: 'worker', label: trans.__('By worker') },
            { value: 'span', label: trans.__('By span') }
          ]}
          onChange={groupBy => this._setGroupBy(groupBy)}
        />
        <ToolButton
          label={trans.__('Pause')}
          icon={this._paused === null ? pauseIcon : resumeIcon}
          pressed={this._paused !== null}
          disabledBecause={
            result === null ? trans.__('there are no samples yet') : undefined
          }
          onClick={() => {
            this._paused = this._paused === null ? result : null;
            this.update();
          }}
        />
      </>
    );
  }

  protected renderChart(result: ProfileResult): React.ReactNode {
    const shown = this._paused ?? result;
    const tree = this._tree(shown);
    return (
      <ProfileView
        tree={tree}
        activity={activityOf(shown)}
        wholeActivity={this._whole.of(this._logId ?? '')}
        time={this.context.selection.time}
        focus={this._node(tree, this._focusKey)}
        selected={this._node(tree, this._selectedKey)}
        found={search(tree, this._search, this.trans)}
        selection={this.context.selection}
        theme={this.context.theme}
        trans={this.trans}
        onZoom={node => {
          this._focusKey = node === null ? null : pathKey(tree, node);
          this.update();
        }}
        onSelect={node => this._select(tree, node)}
      />
    );
  }

  protected override renderTable(result: ProfileResult): React.ReactNode {
    const tree = this._tree(this._paused ?? result);
    return (
      <FrameTreeView
        tree={tree}
        label={this.accessibleName}
        treeLabel={this.trans.__('Frames')}
        trans={this.trans}
        selected={this._node(tree, this._selectedKey)}
        onSelect={node => this._select(tree, node)}
      />
    );
  }

  protected tableData(result: ProfileResult): TableData {
    return {
      columns: frameColumns(this.trans),
      rows: frameRows(this._tree(result), () => true, this.trans).map(
        row => row.cells
      )
    };
  }

  protected override exportItems(disabledBecause?: string) {
    const { trans } = this;
    const item = (label: string, act: () => void | Promise<void>): MenuItem =>
      exportItem(label, async () => act(), trans, disabledBecause);
    return [
      item(trans.__('Export picture as PNG'), () =>
        downloadPng(this.fileName, this._picture())
      ),
      item(trans.__('Export picture as SVG'), () =>
        downloadSvg(this.fileName, this._picture())
      ),
      item(trans.__('Export profile for speedscope'), () => {
        const tree = this._shownTree();
        downloadText(
          `${this.fileName}.speedscope.json`,
          'application/json',
          speedscopeOf(
            tree,
            this._groupBy !== 'all',
            [this.accessibleName, ...this._shownOf(tree)].join(' · '),
            node => nameOf(tree, node, trans)
          )
        );
      })
    ];
  }

  protected override moreItems(): readonly MenuItem[] {
    const { trans } = this;
    const groups = [
      { groupBy: 'all', label: trans.__('Group: all together') },
      { groupBy: 'function', label: trans.__('Group by function') },
      { groupBy: 'worker', label: trans.__('Group by worker') },
      { groupBy: 'span', label: trans.__('Group by span') }
    ] as const;
    return [
      ...groups.map(({ groupBy, label }) => ({
        label,
        isToggled: this._groupBy === groupBy,
        run: () => this._setGroupBy(groupBy)
      })),
      {
        label: trans.__('Time order'),
        isToggled: this._order === 'time',
        run: () =>
          this._setOrder(this._order === 'time' ? 'left-heavy' : 'time')
      }
    ];
  }

  private _picture(): Picture {
    const { trans } = this;
    const { palette } = this.context.theme;
    const tree = this._shownTree();
    const focus = this._node(tree, this._focusKey);
    return pictureOf({
      title: this.accessibleName,
      subtitle: this._shownOf(tree).join(' · '),
      tree,
      focus,
      selected: this._node(tree, this._selectedKey),
      found: search(tree, this._search, trans),
      width: Math.max(NARROWEST_PICTURE, this.node.clientWidth),
      legend: legendOf(tree, trans),
      palette,
      textWidth: textWidthOf(palette.uiFont),
      trans
    });
  }

  /** How many samples they are, and of what: a file outlives the page. */
  private _shownOf(tree: FrameTree): string[] {
    const { trans } = this;
    return [
      samplingText(tree.result, trans),
      ...shownOf(this.context.cluster.current, this.answered, trans)
    ];
  }

  private _shownTree(): FrameTree {
    const shown = this._paused ?? this.result;
    if (shown === null) {
      throw new Error(this.trans.__('there are no figures yet'));
    }
    return this._tree(shown);
  }

  private _whyFew(): string {
    return this.cluster?.kind === 'dask'
      ? this.trans.__(
          'Dask’s workers sample threads while they run tasks, and tell it some seconds later.'
        )
      : this.trans.__(
          'Threads are sampled at moments that are drawn, while they run tasks; few of the shortest runs get a sample.'
        );
  }

  private _setOrder(order: Order): void {
    this._order = order;
    this.paramsChanged();
  }

  private _setGroupBy(groupBy: GroupBy): void {
    this._groupBy = groupBy;
    this._focusKey = null;
    this._selectedKey = null;
    this.paramsChanged();
  }

  private _select(tree: FrameTree, node: number | null): void {
    this._selectedKey = node === null ? null : pathKey(tree, node);
    this.update();
  }

  /** Enter in the search: the next found frame, in order of the answer, and round. */
  private _selectNext(tree: FrameTree): void {
    const found = search(tree, this._search, this.trans);
    const nodes = [...(found?.nodes ?? [])];
    const at = this._node(tree, this._selectedKey);
    const next = nodes.find(node => at === null || node > at) ?? nodes[0];
    if (next !== undefined) {
      this._focusKey = null;
      this._select(tree, next);
    }
  }

  private _node(tree: FrameTree, key: string | null): number | null {
    return key === null ? null : nodeOfKey(tree, key);
  }

  private _tree(result: ProfileResult): FrameTree {
    if (this._made?.result !== result) {
      this._made = frameTree(result);
    }
    return this._made;
  }
}
