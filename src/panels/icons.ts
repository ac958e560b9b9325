/** The panels' own icons, drawn on a 24 px grid in JupyterLab's icon colour. */
import { LabIcon } from '@jupyterlab/ui-components';

function icon(name: string, shapes: string): LabIcon {
  return new LabIcon({
    name: `spanwise:${name}`,
    svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><g class="jp-icon3 jp-icon-selectable" fill="#616161">${shapes}</g></svg>`
  });
}

const bar = (x: number, y: number, width: number, height = 4) =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}"/>`;

/** Lanes of tasks; also the sidebar's own icon. */
export const taskStreamIcon = icon(
  'task-stream',
  bar(2, 4, 8) +
    bar(12, 4, 10) +
    bar(5, 10, 12) +
    bar(2, 16, 6) +
    bar(10, 16, 11)
);

export const fineMetricsIcon = icon(
  'fine-metrics',
  bar(2, 2, 2, 20) + bar(6, 4, 15) + bar(6, 10, 9) + bar(6, 16, 5)
);

export const profileIcon = icon(
  'profile',
  bar(2, 4, 20) + bar(2, 10, 12) + bar(16, 10, 6) + bar(5, 16, 7)
);

export const memoryIcon = icon(
  'memory',
  '<path d="M2 16.5l5-6 4.5 4L18 6l4 4.2-1.3 1.4L18 8.8l-6.3 8.4-4.5-4-3.8 4.6z"/>' +
    bar(2, 20, 20, 2)
);

/** A square of pairs, of which some are filled. */
export const bandwidthIcon = icon(
  'bandwidth',
  '<path d="M2 2h20v20H2zm2 2v4h4V4zm6 0v4h4V4zm0 6v4h4v-4zm6 0v4h4v-4zM4 16v4h4v-4zm12 0v4h4v-4z" fill-rule="evenodd"/>'
);

/** Gauges of a machine: columns of several heights on a base. */
export const systemIcon = icon(
  'system',
  bar(3, 12, 4, 7) + bar(10, 4, 4, 15) + bar(17, 8, 4, 11) + bar(2, 20, 20, 2)
);

/** A bar that is filled in part, above one that is done. */
export const progressIcon = icon(
  'progress',
  '<path d="M2 4h20v6H2zm10 1.5V8.5h8.5v-3z" fill-rule="evenodd"/>' +
    bar(2, 14, 20, 6)
);

/** Bars to the left and right of a middle. */
export const compareIcon = icon(
  'compare',
  bar(11, 2, 2, 20) + bar(3, 4, 8) + bar(13, 10, 8) + bar(6, 16, 5)
);

export const gripIcon = icon(
  'grip',
  [4, 10, 16]
    .map(
      y =>
        `<rect x="7" y="${y}" width="3" height="3"/><rect x="14" y="${y}" width="3" height="3"/>`
    )
    .join('')
);

/** A drawing pin, seen from the side. */
export const pinIcon = icon(
  'pin',
  '<path d="M8 2h8v2l-1.5 1.5V11l3.5 3v2h-5v6h-2v-6H6v-2l3.5-3V5.5L8 4z"/>'
);

export const tableIcon = icon(
  'table',
  '<path d="M3 4h18v16H3zm2 5v3h4V9zm6 0v3h8V9zm-6 5v4h4v-4zm6 0v4h8v-4z" fill-rule="evenodd"/>'
);

export const warningIcon = new LabIcon({
  name: 'spanwise:warning',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><path class="jp-icon-warn0" fill="#b8651b" d="M12 3l10 18H2zm-1 7v5h2v-5zm0 6.5v2h2v-2z" fill-rule="evenodd"/></svg>'
});

export const pauseIcon = icon('pause', bar(7, 5, 4, 14) + bar(13, 5, 4, 14));

export const resumeIcon = icon('resume', '<path d="M7 5l12 7-12 7z"/>');

export const recordIcon = icon('record', '<circle cx="12" cy="12" r="6"/>');

/** A run is recorded now. */
export const recordingIcon = icon(
  'recording',
  '<path d="M12 1a11 11 0 110 22 11 11 0 010-22zm0 2.5a8.5 8.5 0 100 17 8.5 8.5 0 000-17z" fill-rule="evenodd"/><circle cx="12" cy="12" r="6"/>'
);
