import { ENUMERATIONS, membersOf, wordsOf } from '../enumerations';

/** With holes at 0 and 3, and not in the order of its numbers. */
enum Place {
  OnDisk = 4,
  Here = 1,
  FarAwayFromIt = 2
}

it('members are words and numbers, each once', () => {
  const members = [
    ['on-disk', 4],
    ['here', 1],
    ['far-away-from-it', 2]
  ];
  const found = membersOf(Place);
  expect(new Map(found)).toEqual(new Map(members as never));
  expect(found).toHaveLength(members.length);
});

it('a number without a word has none', () => {
  const words = wordsOf(Place);
  expect(words).toStrictEqual([
    undefined,
    'here',
    'far-away-from-it',
    undefined,
    'on-disk'
  ]);
});

it.each(Object.entries(ENUMERATIONS))(
  '%s says what each of its words means',
  (_, { members, means }) => {
    const words = membersOf(members as Record<string, string | number>).map(
      ([word]) => word
    );
    expect(new Set(words)).toEqual(new Set(Object.keys(means)));
    expect(words).toHaveLength(new Set(words).size);
  }
);
