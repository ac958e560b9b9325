/** The colours of every role, light and dark: custom properties for HTML and plotly, {@link COLOURS} for canvases. */
export type Shade = 'light' | 'dark';

/** Each has a second channel beside its colour, so that no figure depends on colour alone. */
export type Pattern =
  | 'plain'
  | 'slash'
  | 'backslash'
  | 'horizontal'
  | 'vertical'
  | 'dots'
  | 'grid'
  | 'checks';

export const KIND_PATTERNS = {
  transfer: 'slash',
  disk: 'horizontal',
  serialize: 'plain',
  import: 'grid',
  cpu: 'plain',
  /** On a CPU or not, which is unknown. */
  compute: 'backslash',
  core: 'vertical',
  gil: 'backslash',
  blocked: 'dots',
  /** For other tasks. */
  tasks: 'slash',
  /** Off its core for one of the three reasons above; which one is not known. */
  noncpu: 'dots',
  other: 'horizontal',
  failed: 'plain'
} as const satisfies Readonly<Record<string, Pattern>>;

export type Kind = keyof typeof KIND_PATTERNS;

/** Of what tasks measure under labels of users: looks 0…15, each a colour with a pattern; the first four differ in both. */
const LABEL_PATTERNS = ['vertical', 'backslash', 'dots', 'slash'] as const;

/** Colour (from 0) and pattern of a look. */
export function labelLook(look: number): {
  readonly colour: number;
  readonly pattern: Pattern;
} {
  const colours = LABEL_PATTERNS.length;
  const colour = look % colours;
  const round = Math.floor(look / colours);
  return { colour, pattern: LABEL_PATTERNS[(colour + round) % colours]! };
}

export type IdleCause =
  | 'nothing-runnable'
  | 'inputs-in-flight'
  | 'held-elsewhere'
  | 'no-worker'
  | 'paused'
  | 'stopped'
  | 'scheduler'
  | 'unknown';

export const IDLE_PATTERNS: Readonly<Record<IdleCause, Pattern>> = {
  'nothing-runnable': 'plain',
  'inputs-in-flight': 'slash',
  'held-elsewhere': 'vertical',
  'no-worker': 'checks',
  paused: 'horizontal',
  stopped: 'backslash',
  scheduler: 'dots',
  unknown: 'grid'
};

/** How strongly a bar fills what still runs with the colour of computing: paler than in the Task Stream, so that it is not taken for `blocked` or `gil`. */
export const RUNNING_FILL = 0.4;
/** The same of a box of the Task Stream, whose edge moves. */
export const RUNNING_BOX_FILL = 0.62;

/** The custom property `--sw-…` of each role: its colour in the light and in the dark shade. */
const ROLES = {
  /** Compute by function, slots 0…11. */
  'fn-1': ['#2f86c4', '#6db9f5'],
  'fn-2': ['#256001', '#5c9448'],
  'fn-3': ['#7b094b', '#b24d7d'],
  'fn-4': ['#a88d57', '#d9bf8c'],
  'fn-5': ['#512383', '#825cb7'],
  'fn-6': ['#815688', '#b389ba'],
  'fn-7': ['#4d3a19', '#7f6c4d'],
  'fn-8': ['#2c5564', '#618796'],
  'fn-9': ['#633e3e', '#967070'],
  'fn-10': ['#607a5c', '#92ac8f'],
  'fn-11': ['#8590af', '#b6c2e0'],
  'fn-12': ['#485ab5', '#798fe8'],
  /** Slot -1: from the 37th function on. */
  'fn-other': ['#757575', '#a3a3a3'],
  'kind-transfer': ['#d32f3f', '#ff5f6b'],
  'kind-disk': ['#d97200', '#ff9d2e'],
  'kind-serialize': ['#757575', '#a3a3a3'],
  'kind-import': ['#789c96', '#deead8'],
  'kind-cpu': ['#2f6db5', '#6ba6e8'],
  'kind-compute': ['#64a078', '#46783c'],
  'kind-core': ['#22324a', '#8090a8'],
  'kind-gil': ['#6f2c78', '#8468ac'],
  'kind-blocked': ['#3aa0ad', '#7fe0dc'],
  'kind-tasks': ['#198250', '#87d2ff'],
  'kind-noncpu': ['#5a3200', '#aa8200'],
  'kind-other': ['#4e4e4e', '#7e7e7e'],
  'label-1': ['#c369ff', '#8769ff'],
  'label-2': ['#4b6900', '#00a569'],
  'label-3': ['#785a78', '#e1b4a5'],
  'label-4': ['#4b3c2d', '#e1d287'],
  'kind-failed': ['#1a1a1a', '#000000'],
  /** Outline of a failed box; only the dark shade needs one. */
  'failed-line': ['#1a1a1a', '#ffffff'],
  'idle-fill': ['#f0f0f0', '#343434'],
  'idle-line': ['#8a8a8a', '#8d8d8d'],
  'unmanaged-old': ['#8fb3d9', '#4f7fb0'],
  /** Memory runs A, B, C, D. */
  'run-1': ['#2f6db5', '#6ba6e8'],
  'run-2': ['#a8437f', '#e487bd'],
  'run-3': ['#256001', '#5c9448'],
  'run-4': ['#4d3a19', '#d9bf8c'],
  limit: ['#6a6a6a', '#b0b0b0'],
  /** Of two runs, what took less and what took more. */
  faster: ['#2f6db5', '#5b9ad5'],
  slower: ['#b45309', '#e0913f'],
  link: ['#1565c0', '#64b5f6'],
  /** Span bands by order of first appearance per level. */
  'band-1-fill': ['#dbe9f6', '#1f3a52'],
  'band-1-line': ['#2f6db5', '#6ba6e8'],
  'band-2-fill': ['#e7e0f3', '#3a2f52'],
  'band-2-line': ['#7a5bb0', '#b49be6'],
  'band-3-fill': ['#dfeedd', '#2c4030'],
  'band-3-line': ['#4f7f49', '#8fbc8f'],
  'band-4-fill': ['#f4ead6', '#4a3a22'],
  'band-4-line': ['#94702b', '#d9bf8c'],
  'band-5-fill': ['#f6e0ec', '#472a3c'],
  'band-5-line': ['#a8437f', '#e487bd'],
  'band-6-fill': ['#d9eeee', '#2b4446'],
  'band-6-line': ['#2f7d80', '#7fc0c4'],
  'selected-fill': ['#e3f2fd', '#16344d'],
  /** Lines of a pattern over its colour. */
  'pattern-line': ['rgba(255, 255, 255, 0.62)', 'rgba(0, 0, 0, 0.5)'],
  share: ['#6b87a5', '#8aa4bf'],
  track: ['#ececec', '#3a3a3a'],
  'warning-fill': ['#fff3d6', '#43371c'],
  'found-fill': ['#fff0a6', '#5c5014'],
  running: ['#2e7d32', '#4caf50']
} as const;

type Role = keyof typeof ROLES;

/** For style sheets: [name, value]. */
export function customProperties(shade: Shade): [string, string][] {
  const place = shade === 'light' ? 0 : 1;
  return Object.entries(ROLES).map(([role, colours]) => [
    `--sw-${role}`,
    colours[place]
  ]);
}

function coloursOf(shade: Shade) {
  const of = (role: Role): string => ROLES[role][shade === 'light' ? 0 : 1];
  const kinds = Object.keys(KIND_PATTERNS) as Kind[];
  return {
    functions: ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] as const).map(n =>
      of(`fn-${n}`)
    ),
    other: of('fn-other'),
    kinds: Object.fromEntries(
      kinds.map(kind => [kind, of(`kind-${kind}`)])
    ) as Readonly<Record<Kind, string>>,
    failedLine: of('failed-line'),
    bands: ([1, 2, 3, 4, 5, 6] as const).map(n => ({
      fill: of(`band-${n}-fill`),
      line: of(`band-${n}-line`)
    })),
    patternLine: of('pattern-line'),
    /** How strongly a profile's frame is filled over the background. */
    frameFill: shade === 'light' ? 0.34 : 0.46
  };
}

export type ShadeColours = Readonly<ReturnType<typeof coloursOf>>;

export const COLOURS: Readonly<Record<Shade, ShadeColours>> = {
  light: coloursOf('light'),
  dark: coloursOf('dark')
};
