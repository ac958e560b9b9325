/** The list of plugins, nothing else. */
import { type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { daskPlugin } from './lab/dask-plugin';
import { feedPlugin } from './lab/feed-plugin';
import { panelsPlugin } from './lab/panels-plugin';
import { sidebarPlugin } from './lab/sidebar-plugin';
import { statusPlugin } from './lab/status-plugin';
import { themePlugin } from './lab/theme-plugin';

const PLUGINS: JupyterFrontEndPlugin<unknown>[] = [
  feedPlugin,
  themePlugin,
  panelsPlugin,
  daskPlugin,
  sidebarPlugin,
  statusPlugin
];

export default PLUGINS;
