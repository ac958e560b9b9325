/**
 * The order of running as one number, smaller first: `place − userPriority · 2^41`. Places count tasks from 2^40 up to 2^41 (smaller ones
 * are of what tasks submit) and user priorities are clamped to ±2047, so that a rank is exact in 52 bits.
 */
export const FIRST_PLACE = 2 ** 40;
const MAX_USER_PRIORITY = 2047;
const ORDER_SPAN = 2 ** 41;

export function rankOf(place: number, userPriority: number): number {
  return place - clamped(userPriority) * ORDER_SPAN;
}

/** Smaller for a larger user priority, equal for equal ones. */
export function urgencyOf(rank: number): number {
  return Math.floor(rank / ORDER_SPAN);
}

/** The place in the order of all, without the user priority. */
export function placeIn(rank: number): number {
  return rank - urgencyOf(rank) * ORDER_SPAN;
}

/** The rank of the same user priority at another place. */
export function rankAt(place: number, rank: number): number {
  return place + urgencyOf(rank) * ORDER_SPAN;
}

function clamped(priority: number): number {
  return Math.max(-MAX_USER_PRIORITY, Math.min(MAX_USER_PRIORITY, priority));
}
