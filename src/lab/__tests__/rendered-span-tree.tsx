/** The tree of spans as the sidebar shows it. */
import { nullTranslator } from '@jupyterlab/translation';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../charts/shown-element';
import { SelectionModel } from '../../feed/selection';
import type { SpansResult } from '../../wire/panel-link';
import { SpanTree } from '../span-tree';
import { spanTree, visibleSpans } from '../span-tree-rows';

/** Looks at it while it is there. `turned`: keys of rows that are not open or folded as at first. */
export function renderedSpanTree<T>(
  spans: SpansResult,
  look: (host: HTMLElement) => T,
  turned: readonly string[] = []
): T {
  const host = document.createElement('div');
  const root = createRoot(host);
  flushSync(() =>
    root.render(
      <SpanTree
        rows={visibleSpans(spanTree(spans, 'path'), new Set(turned), '')}
        search=""
        selection={new SelectionModel()}
        startedAt={0}
        isOver={false}
        trans={nullTranslator.load('spanwise')}
        setCollapsed={() => undefined}
      />
    )
  );
  try {
    return look(host);
  } finally {
    flushSync(() => root.unmount());
  }
}
