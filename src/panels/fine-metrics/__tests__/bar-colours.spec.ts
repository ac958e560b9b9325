/** The segments of the bar, any two of which may stand side by side when what lies between them is nothing. */
import { mix, type Rgb } from '../../../base/colour-arithmetic';
import type { Shade } from '../../../charts/palette';
import { IDLE_CAUSES } from '../../../observer/folds/idle';
import { ACTIVITIES } from '../../../observer/store/activity-cells';
import {
  BACKGROUND,
  ciede2000,
  EYES,
  lab,
  properties,
  rgb
} from '../../../testing/seen-colours';
import { OTHER_TASKS } from '../../../records/enumerations';
import type { FineMetricsResult } from '../../../wire/panel-link';
import { markOf } from '../../mark';
import { headlineOf } from '../rows';

/** What two kinds of time are apart at least, to each eye and to one decimal. */
const KINDS_APART = 10.2;
/** The pale ones are told apart by their patterns, and from everything else as kinds are. */
const IDLE = '--sw-idle-fill';

/** What tasks measure themselves: as many as there are looks for them. */
const LABELS = Array.from({ length: 16 }, (_, i) => `step ${i}`);
const LABEL = '--sw-label-';

const everything = {
  unit: 'seconds',
  wholeSeconds:
    2 * (1 + ACTIVITIES.length + LABELS.length + IDLE_CAUSES.length),
  byActivity: [...ACTIVITIES, OTHER_TASKS, ...LABELS].map(activity => ({
    activity,
    value: 1,
    share: null
  })),
  idle: IDLE_CAUSES.map(cause => ({ cause, seconds: 1 })),
  gilErrorSeconds: 0
} as unknown as FineMetricsResult;

type Look = {
  readonly label: string;
  readonly fill: string;
  readonly pattern: string;
};

function looks(): Look[] {
  const parts = new Map(
    [true, false]
      .flatMap(isRunning => headlineOf(everything, isRunning).parts)
      .map(part => [part.label, part])
  );
  return [...parts.values()].map(({ label, role }) => {
    const { className, style } = markOf(role, '');
    return {
      label,
      fill: className.includes('sw-idle')
        ? IDLE
        : String((style as Record<string, unknown>)['--sw-fill']),
      pattern: /sw-pattern-([a-z]+)/.exec(className)?.[1] ?? 'plain'
    };
  });
}

/** A fill as the style sheet has it: a custom property, or one over the background. */
function colourOf(fill: string, shade: Shade): Rgb {
  const name = /--sw-([a-z0-9-]+)/.exec(fill)?.[1] ?? '';
  const colour = rgb(properties(shade).get(name) ?? '');
  const percent = /(\d+)%/.exec(fill)?.[1];
  return percent === undefined
    ? colour
    : mix(colour, BACKGROUND[shade], Number(percent) / 100);
}

it('has all there can be', () => {
  expect(looks().map(({ label }) => label)).toEqual(
    expect.arrayContaining([
      'not on CPU, cause not known',
      'blocked (I/O, sleep)',
      'waiting for other tasks',
      'still running',
      'not accounted for',
      'cause not known',
      ...LABELS
    ])
  );
  expect(looks().length).toBeGreaterThanOrEqual(20);
});

it.each(['light', 'dark'] as const)(
  'looks different in each of its segments: %s',
  shade => {
    const shown = looks();
    const alike = shown.flatMap((one, index) =>
      shown.slice(index + 1).flatMap(other => {
        const isPatternApart =
          (one.fill === IDLE || one.fill.includes(LABEL)) &&
          one.fill === other.fill;
        if (isPatternApart) {
          return one.pattern === other.pattern
            ? [`${one.label}, ${other.label}: ${one.pattern}`]
            : [];
        }
        const [a, b] = [one, other].map(({ fill }) => colourOf(fill, shade));
        const apart = Math.min(
          ...EYES.map(see => ciede2000(lab(see(a!)), lab(see(b!))))
        );
        return Number(apart.toFixed(1)) < KINDS_APART
          ? [`${one.label}, ${other.label}: ${apart.toFixed(1)}`]
          : [];
      })
    );
    expect(alike).toEqual([]);
  }
);
