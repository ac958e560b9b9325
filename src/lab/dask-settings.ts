/** What is done with Dask clusters that are found in notebooks: the setting `attachToDask`. */
const ATTACH_WAYS = ['ask', 'at once', 'never'] as const;
export type AttachWay = (typeof ATTACH_WAYS)[number];

/** A setting as written by the user: anything else is asked about. */
export function readAttachWay(value: unknown): AttachWay {
  return ATTACH_WAYS.find(way => way === value) ?? 'ask';
}
