import { nullTranslator } from '@jupyterlab/translation';
import { flushSync } from 'react-dom';
import { createRoot, type Root } from 'react-dom/client';

import { createElement } from '../../../charts/shown-element';
import { SelectionModel } from '../../../feed/selection';
import type { FineMetricsResult } from '../../../wire/panel-link';
import { FineMetricsView } from '../view';

const trans = nullTranslator.load('spanwise');

/** The view in a page: a new one for each test of the file. */
export class ShownView {
  host!: HTMLElement;
  selection!: SelectionModel;
  private _root!: Root;

  constructor() {
    beforeEach(() => {
      this.host = document.body.appendChild(document.createElement('div'));
      this._root = createRoot(this.host);
      this.selection = new SelectionModel();
    });
    afterEach(() => {
      this._root.unmount();
      this.host.remove();
      this.selection.dispose();
    });
  }

  show(
    result: FineMetricsResult,
    options: {
      readonly isRunning?: boolean;
      readonly isLocal?: boolean;
      readonly isNode?: boolean;
      readonly onShowAll?: () => void;
    } = {}
  ): void {
    const {
      isRunning = false,
      isLocal = false,
      isNode = false,
      onShowAll = () => undefined
    } = options;
    flushSync(() =>
      this._root.render(
        <FineMetricsView
          result={result}
          order="time"
          isRunning={isRunning}
          isLocal={isLocal}
          isNode={isNode}
          selection={this.selection}
          trans={trans}
          onShowAll={onShowAll}
        />
      )
    );
  }

  all(selector: string): HTMLElement[] {
    return [...this.host.querySelectorAll<HTMLElement>(selector)];
  }

  /** By its name, as a screen reader says it. */
  list(name: string): HTMLElement {
    return this.all(`ul[aria-label="${name}"]`)[0]!;
  }

  texts(name: string): string[] {
    return [...this.list(name).children].map(item =>
      (item.textContent ?? '').replaceAll('\u00a0', ' ')
    );
  }
}
