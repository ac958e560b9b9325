/** Beside the title of what is looked at closely: the way back to all. The caller shows it while there is one. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { createElement } from '../charts/shown-element';

export function ShowAll(props: {
  readonly trans: TranslationBundle;
  onShowAll(): void;
}): JSX.Element {
  return (
    <button type="button" className="sw-link" onClick={props.onShowAll}>
      {props.trans.__('Show all')}
    </button>
  );
}
