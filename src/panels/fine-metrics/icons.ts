import { LabIcon } from '@jupyterlab/ui-components';

function icon(name: string, path: string): LabIcon {
  return new LabIcon({
    name: `spanwise:${name}`,
    svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><path class="jp-icon3 jp-icon-selectable" fill="#616161" d="${path}"/></svg>`
  });
}

export const pauseIcon = icon('pause', 'M7 5h4v14H7zM13 5h4v14h-4z');
export const resumeIcon = icon('resume', 'M7 5l12 7-12 7z');
