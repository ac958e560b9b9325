/** An entry of *Export*: it writes a file, or says why it does not. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { notices } from './notices';
import type { MenuItem } from './panel-menu';

/** @param act - rejects with {@link GivenUp}, or with an error whose message ends the sentence "Nothing was exported: …". */
export function exportItem(
  label: string,
  act: () => Promise<void>,
  trans: TranslationBundle,
  disabledBecause?: string
): MenuItem {
  return { label, disabledBecause, run: () => void told(act, trans) };
}

/** The user wants no file. */
export class GivenUp extends Error {}

/** Says why there is no file. */
async function told(
  act: () => Promise<void>,
  trans: TranslationBundle
): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (error instanceof GivenUp) {
      return;
    }
    const said = error instanceof Error ? error.message : String(error);
    notices.error(trans.__('Nothing was exported: %1', said), {
      autoClose: 10_000
    });
  }
}
