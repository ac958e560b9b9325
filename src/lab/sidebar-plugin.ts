/**
 * Puts the Spanwise tab into JupyterLab's left sidebar.
 */
import {
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Panel } from '@lumino/widgets';

export const sidebarPlugin: JupyterFrontEndPlugin<void> = {
  id: '@spanwise/lab:sidebar',
  description: 'Adds the Spanwise tab to the left sidebar.',
  autoStart: true,
  optional: [ITranslator],
  activate: (app: JupyterFrontEnd, translator: ITranslator | null) => {
    const trans = (translator ?? nullTranslator).load('spanwise');
    const sidebar = new Panel();
    sidebar.id = 'spanwise-sidebar';
    sidebar.addClass('sw-Sidebar');
    sidebar.title.label = trans.__('Spanwise');
    sidebar.title.caption = trans.__('Spanwise');
    app.shell.add(sidebar, 'left', { rank: 900 });
  }
};
