/** One failing drawn input is enough here: making it smaller takes most of the time of a run. */
require('fast-check').configureGlobal({ endOnFailure: true });
