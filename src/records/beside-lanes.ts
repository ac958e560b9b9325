/** Lanes that are of no thread of their worker: nothing is idle there, and they are no capacity. */

/**
 * seceded: of a task that has left its thread to others and goes on. overlapping: of one that is under way in a thread at the same time as
 * another one, as promises are.
 */
type BesideWord = 'seceded' | 'overlapping';

/** Which of its worker's lanes of that kind it is, from 1. */
export type BesideLane = readonly [word: BesideWord, place: number];

/**
 * Places in a worker from here on are lanes of tasks that overlap, if the source's capabilities say `overlapping`. So high that no program
 * has as many threads: a pool that comes later gets the places that follow the thread's.
 */
export const OVERLAPPING_FROM = 0x8000;
