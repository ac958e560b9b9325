/**
 * Which build this is. scripts/bundle-node.mjs puts the values in; run
 * unbundled (in a unit test) they say so.
 */

declare const SPANWISE_VERSION: string | undefined;
declare const SPANWISE_BUILD: string | undefined;

/** The version in package.json. */
export const VERSION =
  typeof SPANWISE_VERSION === 'string' ? SPANWISE_VERSION : '0.0.0';

/** First 12 hex digits of the SHA-256 of the bundle's text. */
export const BUILD =
  typeof SPANWISE_BUILD === 'string' ? SPANWISE_BUILD : 'unbundled';
