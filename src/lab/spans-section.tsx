/** Search, filter and tree of the spans of the cluster in front. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import { ChipRow } from '../panels/chip-row';
import {
  formatCount,
  formatDuration,
  formatShare,
  taskRunsText
} from '../panels/format';
import { RadioGroup, SearchBox } from '../panels/toolbar';
import { undoOnKey } from '../panels/undo-key';
import { hasTasksNow, tasksNowText } from '../panels/waiting';
import type { ClusterInfo, SpansResult } from '../wire/panel-link';
import { Section } from './section';
import type { SidebarModel } from './sidebar-model';
import { SpanTree } from './span-tree';
import {
  countSpans,
  hasCells,
  spanTree,
  totalSeconds,
  visibleSpans
} from './span-tree-rows';

export function SpansSection(props: {
  readonly model: SidebarModel;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const { model, trans } = props;
  const { selection } = model.context;
  const { spans, arrange, search, turned } = model;
  const tree = React.useMemo(
    () => (spans === null ? [] : spanTree(spans, arrange)),
    [spans, arrange]
  );
  const byCell = spans !== null && hasCells(spans);
  const rows = React.useMemo(
    () => visibleSpans(tree, turned, search),
    [tree, turned, search]
  );
  const box = React.useRef<HTMLDivElement>(null);
  // The chip that was clicked goes, and the focus stays here: Ctrl Z brings it back.
  const unfilter = (step: () => void) => {
    step();
    box.current?.focus();
  };
  const found = rows.filter(row => row.isFound).length;
  const { cluster } = model;
  const runningNow =
    cluster !== null && hasTasksNow(cluster)
      ? tasksNowText(cluster, trans)
      : '';
  return (
    <Section
      name={trans.__('Spans')}
      action={
        <RadioGroup
          label={trans.__('Arrange spans')}
          options={[
            { value: 'path', label: trans.__('By path') },
            { value: 'tag', label: trans.__('By tag') },
            ...(byCell
              ? [{ value: 'cell' as const, label: trans.__('By cell') }]
              : [])
          ]}
          value={arrange === 'cell' && !byCell ? 'path' : arrange}
          onChange={value => model.setArrange(value)}
        />
      }
    >
      <div
        ref={box}
        className="sw-spans"
        tabIndex={-1}
        onPointerEnter={() => model.holdArrange(true)}
        onPointerLeave={() => model.holdArrange(false)}
        onClick={() => model.keepArrange()}
        onKeyDown={event => {
          model.keepArrange();
          undoOnKey(event.nativeEvent, () => selection.undo());
        }}
      >
        <SearchBox
          label={trans.__('Search spans')}
          value={search}
          count={
            search.trim() === ''
              ? undefined
              : trans.__('%1 of %2', found, countSpans(tree))
          }
          onChange={value => model.setSearch(value)}
        />
        <ChipRow
          conditions={selection.conditions}
          honoured={null}
          trans={trans}
          onRemove={id => unfilter(() => selection.remove(id))}
          onClear={() => unfilter(() => selection.clear())}
        />
        {rows.length > 0 && (
          <SpanTree
            rows={rows}
            search={search}
            selection={selection}
            startedAt={model.cluster?.startedAt ?? 0}
            isOver={model.cluster?.state === 'ended'}
            trans={trans}
            setCollapsed={(keys, isCollapsed) => {
              const folded = new Set(
                rows.flatMap(({ node }) => (node.isFolded ? [node.key] : []))
              );
              model.setTurned(
                keys.filter(key => folded.has(key)),
                !isCollapsed
              );
              model.setTurned(
                keys.filter(key => !folded.has(key)),
                isCollapsed
              );
            }}
          />
        )}
        <div className={rows.length > 0 ? 'sw-spans-foot' : 'sw-spans-note'}>
          {spans === null && model.cluster !== null
            ? unansweredSentence(model, model.cluster, trans)
            : spans === null || tree.length === 0
              ? noSpansSentence(runningNow, trans)
              : rows.length === 0
                ? trans.__('No span is named “%1”.', search.trim())
                : selection.conditions.length > 0
                  ? trans.__(
                      'Of the whole run: %1',
                      totalsText(spans, runningNow, trans)
                    )
                  : totalsText(spans, runningNow, trans)}
        </div>
        {(spans?.folded ?? 0) > 0 && (
          <div className="sw-spans-note">
            {foldedSentence(spans?.folded ?? 0, trans)}
          </div>
        )}
        {spans?.areNotTold === true && (
          <div className="sw-spans-note">
            {trans.__(
              'The scheduler does not tell in which spans its tasks are.'
            )}
          </div>
        )}
        {spans?.inferredShare !== undefined && (
          <div className="sw-spans-note">
            {trans.__(
              '%1 of the time is inferred: Dask gives a task the span of its group’s first task, and a fused task one span or none.',
              formatShare(spans.inferredShare)
            )}
          </div>
        )}
      </div>
    </Section>
  );
}

function unansweredSentence(
  model: SidebarModel,
  { name }: ClusterInfo,
  trans: TranslationBundle
): string {
  return model.spansFailure !== null
    ? trans.__('The spans of %1 cannot be shown: %2', name, model.spansFailure)
    : model.isAskingSpans
      ? trans.__('Loading the spans of %1…', name)
      : '';
}

/** @param running - "8 running, 12 waiting"; '': nothing does. */
function noSpansSentence(running: string, trans: TranslationBundle): string {
  return running !== ''
    ? trans.__(
        '%1. Write “with span("name"):” around code to see its time here.',
        running
      )
    : trans.__(
        'No tasks yet. Write “with span("name"):” around code to see its time here.'
      );
}

/** "40 task runs · 12.3 s of thread time · 8 running": they count when they end, their time from when they start. */
function totalsText(
  result: SpansResult,
  running: string,
  trans: TranslationBundle
): string {
  const { totalTasks } = result;
  return [
    ...(totalTasks > 0 || running === ''
      ? [
          taskRunsText(totalTasks, trans),
          trans.__('%1 of thread time', formatDuration(totalSeconds(result)))
        ]
      : []),
    ...(running !== '' ? [running] : [])
  ].join(' · ');
}

/** Why a span of the program may not be found here. */
function foldedSentence(folded: number, trans: TranslationBundle): string {
  return trans._n(
    '%2 more span is counted in these rows: the rows are the largest spans, and many of one name share a row.',
    '%2 more spans are counted in these rows: the rows are the largest spans, and many of one name share a row.',
    folded,
    formatCount(folded)
  );
}
