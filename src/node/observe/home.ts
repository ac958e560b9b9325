/** The log's number of the worker that is the observed process. */
export const HOME = 0;
