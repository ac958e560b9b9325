/** How the user arranges spans, also after a reload. */
import type { IStateDB } from '@jupyterlab/statedb';
import type { SidebarModel } from './sidebar-model';
import { ARRANGES } from './span-tree-rows';

/** In the state database. */
const KEY = 'spanwise:spans-arranged';

export async function keepArrange(
  model: SidebarModel,
  state: Pick<IStateDB, 'fetch' | 'save'>
): Promise<void> {
  let saved = model.chosenArrange;
  model.changed.connect(() => {
    const chosen = model.chosenArrange;
    if (chosen !== null && chosen !== saved) {
      saved = chosen;
      void state.save(KEY, chosen);
    }
  });
  const before = await state.fetch(KEY);
  const arrange = ARRANGES.find(known => known === before);
  // What was chosen meanwhile is newer.
  if (arrange !== undefined && model.chosenArrange === null) {
    saved = arrange;
    model.setArrange(arrange);
  }
}
