/** The column `runs.status` of the record log. */
export enum LoggedStatus {
  Ok = 0,
  Failed = 1,
  /** It ended with its worker. */
  Lost = 2,
  /** It was given back for want of an input: it runs again, and counts as no run. */
  Missing = 3
}
