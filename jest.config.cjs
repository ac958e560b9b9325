const { dirname } = require('node:path');

/**
 * Two projects: `pure` runs everything that needs no browser in plain Node;
 * `browser` runs the specs of the browser folders in jsdom. A panel's rows and
 * figure are pure, its model and view are not.
 */
const pureInPanels = ['rows', 'figure'];
const browserFolders = ['feed', 'charts', 'panels', 'lab'];
// These packages ship ES modules, which jest 29 cannot load untransformed.
const esModules = [
  '@jupyter',
  '@jupyterlab',
  '@microsoft',
  '@rjsf',
  'exenv-es6',
  'lib0',
  'nanoid',
  'pidtree',
  'valibot',
  'vscode-ws-jsonrpc',
  'y-protocols',
  'y-websocket',
  'yjs'
].join('|');

/**
 * Seconds of specs with two busy cores: `scripts/test quick`, which names the
 * edited files in SPANWISE_QUICK, leaves them out. It runs a spec nevertheless if
 * that was edited itself or, of those under half a minute, a file of its folder.
 */
const slowSpecs = {
  'node/__tests__/reference': 39,
  'node/__tests__/npm-package': 28,
  'node/pools/__tests__/whole-programs': 22,
  'node/observe/__tests__/programs': 18,
  'order/__tests__/reach': 15,
  'sidecar/observer-process/__tests__/many-requests': 15,
  'order/__tests__/static-order': 14,
  'node/observe/__tests__/observe': 12,
  'testing/__tests__/constant-names': 11,
  'testing/__tests__/import-check': 10,
  'node/diagnostics/__tests__/resource-profiler': 10,
  'node/pools/__tests__/workers': 9,
  'sidecar/observer-process/__tests__/observer': 8,
  'node/pools/__tests__/failures': 8,
  'sidecar/scheduler-process/__tests__/cluster': 8,
  'scheduler/__tests__/drawn-runs': 15,
  'scheduler/__tests__/properties': 7,
  'observer/__tests__/task-stream': 7,
  'link/__tests__/observer-link': 6
};
const edited = process.env.SPANWISE_QUICK?.split(' ');
const leftOut = Object.entries(edited === undefined ? {} : slowSpecs)
  .map(([name, seconds]) => ({ path: `src/${name}.spec.ts`, seconds }))
  .filter(
    ({ path, seconds }) =>
      !edited.includes(path) &&
      (seconds >= 28 ||
        !edited.some(each => dirname(each) === dirname(dirname(path))))
  )
  .map(({ path }) => `<rootDir>/${path}`);

const shared = {
  rootDir: __dirname,
  cacheDirectory: '<rootDir>/.build/jest',
  transform: { '\\.([cm]?[jt]sx?|svg|css)$': '<rootDir>/jest-transform.cjs' },
  transformIgnorePatterns: [`/node_modules/(?!(${esModules})/)`],
  modulePathIgnorePatterns: [
    '<rootDir>/lib/',
    '<rootDir>/spanwise/',
    '<rootDir>/\\.'
  ]
};

// testRegex knows no <rootDir>.
const src = `${__dirname.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/src`;
const isPure = `${src}/panels/[^/]+/__tests__/(${pureInPanels.join('|')})[^/]*\\.spec\\.tsx?$`;
const isBrowser = `${src}/(${browserFolders.join('|')})/`;

module.exports = {
  projects: [
    {
      ...shared,
      displayName: 'pure',
      testEnvironment: 'node',
      setupFiles: ['<rootDir>/src/testing/disposal-symbols.cjs'],
      testPathIgnorePatterns: ['/node_modules/', ...leftOut],
      testRegex: [
        `${src}/(?!(${browserFolders.join('|')})/).*\\.spec\\.tsx?$`,
        isPure
      ]
    },
    {
      ...shared,
      displayName: 'browser',
      testEnvironment: '<rootDir>/src/testing/browser-environment.cjs',
      setupFiles: ['@jupyterlab/testing/lib/jest-shim.js'],
      testRegex: [`${isBrowser}.*\\.spec\\.tsx?$`],
      testPathIgnorePatterns: ['/node_modules/', isPure]
    }
  ],
  // Several waits of a test may take a minute each: a slow machine makes no test red.
  testTimeout: 240_000
};
