/** What a thread's time went into, in users' words: one word in legends, bars, cards, drawers and tables. */

/** By kind of box. */
export const KIND_WORDS = {
  transfer: 'transfer',
  disk: 'disk',
  import: 'importing modules',
  serialize: '(de)serialise',
  seceded: 'held by a task that seceded'
} as const;

/** By kind of part, where the two directions are told apart. */
export const PART_WORDS: Readonly<Record<string, string>> = {
  transfer: 'transfer',
  'disk-read': 'read from disk',
  'disk-write': 'write to disk',
  import: KIND_WORDS.import,
  deserialize: 'deserialise',
  serialize: 'serialise'
};
