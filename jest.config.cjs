const { dirname } = require('node:path');
const { slowSpecs } = require('./src/testing/slow-first.cjs');

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
 * `scripts/test quick`, which names the edited files in SPANWISE_QUICK, leaves slow specs out. It
 * runs one nevertheless if that was edited itself or, of those under half a minute, a file of its
 * folder.
 */
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
  setupFilesAfterEnv: ['<rootDir>/src/testing/quick-expect.cjs'],
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
  testSequencer: '<rootDir>/src/testing/slow-first.cjs',
  projects: [
    {
      ...shared,
      displayName: 'pure',
      testEnvironment: '<rootDir>/src/testing/node-environment.cjs',
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
