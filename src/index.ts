/** The list of plugins, nothing else. */
import { type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { sidebarPlugin } from './lab/sidebar-plugin';

const plugins: JupyterFrontEndPlugin<unknown>[] = [sidebarPlugin];

export default plugins;
