/** The strips above a panel's figures, from the rows of a log to what is on the page. */
import { nullTranslator } from '@jupyterlab/translation';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../charts/shown-element';
import { ClusterRef } from '../../feed/cluster-ref';
import { FakeFeed } from '../../feed/__tests__/fake-feed';
import { encodeBlock } from '../../records/block';
import { emptyCluster } from '../../testing/observed-cluster';
import type { rowsToBlock } from '../../testing/rows-to-block';
import { StripList } from '../strip-list';

const trans = nullTranslator.load('spanwise');

export class ShownStrips {
  readonly cluster = emptyCluster();
  readonly host = document.body.appendChild(document.createElement('div'));
  private readonly _root = createRoot(this.host);
  private readonly _feed = new FakeFeed();
  private readonly _ref = new ClusterRef({
    feed: this._feed,
    target: {},
    notebookOf: () => undefined
  });
  private _seq = 0;

  take(...blocks: ReturnType<typeof rowsToBlock>[]): void {
    this.cluster.take(
      blocks.map(block =>
        encodeBlock(
          ++this._seq,
          block.table,
          block.rows,
          block.columns as never,
          block.text
        )
      )
    );
  }

  /** What they say of the cluster as it is now. */
  text({ remark = '', tellsWhatWaits = false } = {}): string {
    this._feed.setClusters(this.cluster.info());
    flushSync(() =>
      this._root.render(
        <StripList
          feed={this._feed}
          cluster={this._ref}
          hasFigures
          figuresTo={1}
          failure={null}
          tellsWhatWaits={tellsWhatWaits}
          remark={remark}
          trans={trans}
        />
      )
    );
    return this.host.textContent ?? '';
  }

  remove(): void {
    flushSync(() => this._root.unmount());
    this.host.remove();
  }
}
