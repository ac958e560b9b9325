/** Icons of the Task Stream's tools, on JupyterLab's 24 px grid. */
import { LabIcon } from '@jupyterlab/ui-components';

function icon(name: string, path: string): LabIcon {
  return new LabIcon({
    name: `spanwise:${name}`,
    svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><path class="jp-icon3 jp-icon-selectable" fill="#616161" d="${path}"/></svg>`
  });
}

export const zoomInIcon = icon('zoom-in', 'M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z');
export const zoomOutIcon = icon('zoom-out', 'M5 11h14v2H5z');
export const fitIcon = icon(
  'fit',
  'M3 5h2v14H3zM19 5h2v14h-2zM9.5 8L11 9.4 9.4 11h5.2L13 9.4 14.5 8l4 4-4 4-1.5-1.4 1.6-1.6H9.4l1.6 1.6L9.5 16l-4-4z'
);
export const followIcon = icon('follow', 'M7 5l12 7-12 7z');
export const followingIcon = icon(
  'following',
  'M12 6a6 6 0 100 12 6 6 0 000-12z'
);
