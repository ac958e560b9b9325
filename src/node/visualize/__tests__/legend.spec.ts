import type { LabelStyle } from '../colours';
import { legendEntries } from '../legend';
import { THEMES } from '../theme';

it('keeps a label “others” apart from the labels that have no entry', () => {
  const style = (label: string, rank: number | null): [string, LabelStyle] => [
    label,
    { label, rank, colour: '#2f86c4' } as LabelStyle
  ];
  const styles = new Map([style('others', 0), style('rare', null)]);
  const entries = legendEntries(styles, THEMES.light, 'legend', 'y');
  expect(entries.map(({ name }) => name)).toEqual(['others', '1 others']);
  // A click on one hides its group.
  expect(new Set(entries.map(({ legendgroup }) => legendgroup)).size).toBe(2);
});
