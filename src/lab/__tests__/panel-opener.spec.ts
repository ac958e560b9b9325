import { DockPanel, Widget } from '@lumino/widgets';
import { PanelOpener } from '../panel-opener';
import { labContext } from './lab-context';

it('lays out with the Spanwise tab in front, and the keyboard in the notebook', () => {
  const dock = new DockPanel();
  Widget.attach(dock, document.body);
  const [notebook, other] = [new Widget(), new Widget()];
  notebook.id = 'notebook';
  dock.addWidget(notebook);
  dock.addWidget(other);
  const shown: string[] = [];
  const opener = new PanelOpener({
    shell: {
      mode: 'multiple-document',
      add: () => undefined,
      activateById: id => shown.push(id),
      widgets: () => dock.widgets()
    },
    tracker: {
      add: () => Promise.resolve(),
      save: () => Promise.resolve(),
      forEach: () => undefined
    },
    contexts: labContext().contexts,
    panels: []
  });
  opener.layOut({ name: 'first-look' }, notebook);
  expect(shown).toEqual(['spanwise-sidebar', 'notebook']);
  dock.dispose();
});
