/**
 * The colours of every role, light and dark. `style/palette.css` holds the same values as custom
 * properties for HTML (a spec compares them); canvases and plotly take them from here.
 */
export type Shade = 'light' | 'dark';

/** Each has a second channel beside its colour, so that no figure depends on colour alone. */
export type Pattern =
  'plain' | 'slash' | 'backslash' | 'horizontal' | 'vertical' | 'dots' | 'grid';

export type Kind =
  | 'transfer'
  | 'disk'
  | 'serialize'
  | 'import'
  | 'cpu'
  | 'compute'
  | 'core'
  | 'gil'
  | 'blocked'
  | 'noncpu'
  | 'other'
  | 'failed';

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
  /** Off its core for one of the three reasons above; which one is not known. */
  noncpu: 'dots',
  other: 'horizontal',
  failed: 'plain'
} as const satisfies Readonly<Record<Kind, Pattern>>;

export type IdleCause =
  | 'nothing-runnable'
  | 'inputs-in-flight'
  | 'held-elsewhere'
  | 'paused'
  | 'stopped'
  | 'scheduler'
  | 'unknown';

export const IDLE_PATTERNS: Readonly<Record<IdleCause, Pattern>> = {
  'nothing-runnable': 'plain',
  'inputs-in-flight': 'slash',
  'held-elsewhere': 'vertical',
  paused: 'horizontal',
  stopped: 'backslash',
  scheduler: 'dots',
  unknown: 'grid'
};

/** How strongly a bar fills what still runs with the colour of computing: paler than in the Task Stream, so that it is not taken for `blocked` or `gil`. */
export const RUNNING_FILL = 0.4;

export type ShadeColours = {
  /** Compute by function, slots 0…11. */
  readonly functions: readonly string[];
  /** Slot -1: from the 37th function on. */
  readonly other: string;
  readonly kinds: Readonly<Record<Kind, string>>;
  /** Outline of a failed box; only the dark shade needs one. */
  readonly failedLine: string;
  readonly idleFill: string;
  readonly idleLine: string;
  /** What a filter hides. */
  readonly filtered: string;
  readonly unmanagedOld: string;
  readonly unmanagedRecent: string;
  /** Memory runs A, B, C, D. */
  readonly runs: readonly string[];
  readonly faster: string;
  readonly slower: string;
  readonly limit: string;
  readonly link: string;
  /** Span bands by order of first appearance per level. */
  readonly bands: readonly { readonly fill: string; readonly line: string }[];
  readonly selectedFill: string;
  /** Lines of a pattern over its colour. */
  readonly patternLine: string;
  /** How strongly a profile's frame is filled over the background. */
  readonly frameFill: number;
};

export const COLOURS: Readonly<Record<Shade, ShadeColours>> = {
  light: {
    functions: [
      '#2f86c4',
      '#256001',
      '#7b094b',
      '#a88d57',
      '#512383',
      '#815688',
      '#4d3a19',
      '#2c5564',
      '#633e3e',
      '#607a5c',
      '#8590af',
      '#485ab5'
    ],
    other: '#757575',
    kinds: {
      transfer: '#d32f3f',
      disk: '#d97200',
      serialize: '#757575',
      import: '#1e00e1',
      cpu: '#2f6db5',
      compute: '#64a078',
      core: '#22324a',
      gil: '#6f2c78',
      blocked: '#3aa0ad',
      noncpu: '#5a3200',
      other: '#4e4e4e',
      failed: '#1a1a1a'
    },
    failedLine: '#1a1a1a',
    idleFill: '#f0f0f0',
    idleLine: '#8a8a8a',
    filtered: '#c0c0c0',
    unmanagedOld: '#8fb3d9',
    unmanagedRecent: '#c7d9ec',
    runs: ['#2f6db5', '#a8437f', '#256001', '#4d3a19'],
    faster: '#2f6db5',
    slower: '#b45309',
    limit: '#6a6a6a',
    link: '#1565c0',
    bands: [
      { fill: '#dbe9f6', line: '#2f6db5' },
      { fill: '#e7e0f3', line: '#7a5bb0' },
      { fill: '#dfeedd', line: '#4f7f49' },
      { fill: '#f4ead6', line: '#94702b' },
      { fill: '#f6e0ec', line: '#a8437f' },
      { fill: '#d9eeee', line: '#2f7d80' }
    ],
    selectedFill: '#e3f2fd',
    patternLine: 'rgba(255, 255, 255, 0.62)',
    frameFill: 0.34
  },
  dark: {
    functions: [
      '#6db9f5',
      '#5c9448',
      '#b24d7d',
      '#d9bf8c',
      '#825cb7',
      '#b389ba',
      '#7f6c4d',
      '#618796',
      '#967070',
      '#92ac8f',
      '#b6c2e0',
      '#798fe8'
    ],
    other: '#a3a3a3',
    kinds: {
      transfer: '#ff5f6b',
      disk: '#ff9d2e',
      serialize: '#a3a3a3',
      import: '#ffff78',
      cpu: '#6ba6e8',
      compute: '#46783c',
      core: '#e6ecc8',
      gil: '#8468ac',
      blocked: '#7fe0dc',
      noncpu: '#aa8200',
      other: '#7e7e7e',
      failed: '#000000'
    },
    failedLine: '#ffffff',
    idleFill: '#343434',
    idleLine: '#8d8d8d',
    filtered: '#5a5a5a',
    unmanagedOld: '#4f7fb0',
    unmanagedRecent: '#355474',
    runs: ['#6ba6e8', '#e487bd', '#5c9448', '#d9bf8c'],
    faster: '#5b9ad5',
    slower: '#e0913f',
    limit: '#b0b0b0',
    link: '#64b5f6',
    bands: [
      { fill: '#1f3a52', line: '#6ba6e8' },
      { fill: '#3a2f52', line: '#b49be6' },
      { fill: '#2c4030', line: '#8fbc8f' },
      { fill: '#4a3a22', line: '#d9bf8c' },
      { fill: '#472a3c', line: '#e487bd' },
      { fill: '#2b4446', line: '#7fc0c4' }
    ],
    selectedFill: '#16344d',
    patternLine: 'rgba(0, 0, 0, 0.5)',
    frameFill: 0.46
  }
};
