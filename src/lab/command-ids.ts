/** The commands; their arguments are described where they are added (panels-plugin.ts). */
export const CommandIDs = {
  /** `{panel, notebook?, cluster?}`: open a panel, or show it if it is open. */
  open: 'spanwise:open',
  /** `{notebook?}`: notebook left, the four panels beside it. */
  openLayout: 'spanwise:open-layout',
  clearFilter: 'spanwise:clear-filter'
} as const;
