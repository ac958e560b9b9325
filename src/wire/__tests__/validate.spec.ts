import * as v from 'valibot';
import { BrokenFrame } from '../broken-frame';
import { check, checkFields } from '../validate';

it('fills in defaults, and drops what a newer build says', () => {
  expect(
    checkFields('worker', 'up', 'state', { paused: true, newer: 1 })
  ).toEqual({ paused: true, why: '', stalled: false });
  // A header without fields.
  expect(checkFields('worker', 'up', 'finished', undefined)).toEqual({
    firstName: 0,
    names: [],
    errors: []
  });
});

it('refuses a type that the link has in the other direction alone', () => {
  expect(checkFields('worker', 'down', 'flush', { request: 1 })).toEqual({
    request: 1
  });
  expect(() => checkFields('worker', 'up', 'flush', { request: 1 })).toThrow(
    BrokenFrame
  );
});

describe('what is wrong', () => {
  const schema = v.object({
    outer: v.array(v.object({ inner: v.number() })),
    last: v.optional(v.number(), 3)
  });
  const refusal = (value: unknown): string => {
    try {
      check(schema, value, 'the settings');
    } catch (error) {
      expect(error).toBeInstanceOf(BrokenFrame);
      return (error as BrokenFrame).message;
    }
    throw new Error('It was taken.');
  };

  it('is named by its place', () => {
    expect(refusal({ outer: [{ inner: 1 }, { inner: 'x' }] })).toMatch(
      /^the settings: outer\.1\.inner: /
    );
    expect(refusal({})).toMatch(/^the settings: outer: /);
    expect(refusal(7)).toMatch(/^the settings: the fields: /);
  });

  it('is named once, the first of all', () => {
    const sentence = refusal({ outer: 1, last: 'x' });
    expect(sentence).toContain('outer');
    expect(sentence).not.toContain('last');
  });

  it('is repeated in part, however long it or its name is', () => {
    expect(refusal({ outer: 'x'.repeat(10_000) }).length).toBeLessThan(500);
    const records = v.record(v.string(), v.number());
    let sentence = '';
    try {
      check(records, { ['k'.repeat(10_000)]: 'x' }, 'the names');
    } catch (error) {
      sentence = (error as BrokenFrame).message;
    }
    expect(sentence).toMatch(/^the names: kkk/);
    expect(sentence.length).toBeLessThan(500);
  });
});
