/** The commands; their arguments are described where they are added (panels-plugin.ts). */
export const CommandIDs = {
  /** `{panel, notebook?, cluster?}`: open a panel, or show it if it is open. */
  open: 'spanwise:open',
  /** `{notebook?}`: notebook left, the four panels beside it. */
  openLayout: 'spanwise:open-layout',
  clearFilter: 'spanwise:clear-filter',
  /** `{address?}`: show a Dask cluster that the kernel of the notebook in front can reach. */
  attach: 'spanwise:attach',
  /** `{url}`: of the button in the representation of Dask's client. */
  daskLayout: 'dask:populate-and-launch-layout'
} as const;
