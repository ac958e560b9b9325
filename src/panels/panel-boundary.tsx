/** Keeps an error while drawing inside its panel: says what happened in one line and offers to draw again. */
import { Clipboard } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import { warningIcon } from './icons';
import { StateView } from './state-view';

type Props = {
  readonly trans: TranslationBundle;
  readonly children?: React.ReactNode;
};
type State = { readonly error: Error | null };

export class PanelBoundary extends React.Component<Props, State> {
  constructor(props: Props) {
    super(props);
    this.state = { error: null };
  }

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): React.ReactNode {
    const { error } = this.state;
    const { trans } = this.props;
    if (error === null) {
      return this.props.children;
    }
    return (
      <StateView
        state={{
          icon: warningIcon,
          title: trans.__('This panel stopped.'),
          sentence: (
            <>
              <code>{error.message}</code>{' '}
              {trans.__('Other panels and your computation are not affected.')}
            </>
          ),
          buttons: [
            {
              label: trans.__('Restart panel'),
              onClick: () => this.setState({ error: null })
            },
            {
              label: trans.__('Copy details'),
              onClick: () =>
                Clipboard.copyToSystem(error.stack ?? error.message)
            }
          ],
          broken: true
        }}
      />
    );
  }
}
