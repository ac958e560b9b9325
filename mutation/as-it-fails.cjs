/** Of drawn inputs that fail one is enough here: to make it smaller takes most of the time of a run. */
require('fast-check').configureGlobal({ endOnFailure: true });
