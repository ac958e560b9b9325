import { english } from '../english';

it('texts have their arguments, and the form of their count', () => {
  expect(english.__('%1 of %2, %1', 'a', '%1')).toBe('a of %1, a');
  expect(english.__('%1 and %3', 'a')).toBe('a and %3');
  const samples = (count: number) =>
    english._n('%2 sample', '%2 samples (%1)', count, `${count} in all`);
  expect([samples(1), samples(2)]).toEqual([
    '1 in all sample',
    '2 in all samples (2)'
  ]);
});
