import { DockPanel, Widget } from '@lumino/widgets';
import { LAID_OUT } from '../default-layout';
import { PanelOpener } from '../panel-opener';
import { PANELS } from '../panel-list';
import { labContext } from './lab-context';

it('makes no panel that has no place in the layout', () => {
  const made: string[] = [];
  const panels = PANELS.map(panel => ({
    ...panel,
    create: () => {
      made.push(panel.name);
      return Object.assign(new Widget(), {
        face: panel,
        stateChanged: { connect: () => true }
      }) as unknown as ReturnType<typeof panel.create>;
    }
  }));
  const opener = new PanelOpener({
    shell: {
      mode: 'multiple-document',
      add: () => undefined,
      activateById: () => undefined,
      widgets: () => [][Symbol.iterator]()
    },
    tracker: {
      add: () => Promise.resolve(),
      save: () => Promise.resolve(),
      forEach: () => undefined
    },
    contexts: labContext().contexts,
    panels
  });
  opener.layOut({ name: 'first-look' }, null);
  expect(made).toEqual(LAID_OUT);
});

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
