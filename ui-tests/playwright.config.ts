/**
 * Browser tests, run on the installed wheel by `bash scripts/test browser`, which
 * sets the environment below. Three servers: one as on a laptop, one as behind a
 * hub (base_url=/user/a/), one that asks for a token and for the XSRF cookie, as
 * JupyterLab does for people. Only the page of the hub has all of JupyterLab's
 * extensions; the others leave out those of `jupyter/labconfig/page_config.json`,
 * which no test needs and each page pays for. Browsers are never downloaded:
 * Debian's Chromium.
 */
import { defineConfig } from '@playwright/test';
import * as path from 'node:path';
import {
  addressOf,
  basePath,
  portOf,
  runtimeFolder,
  type ServerName,
  setting,
  token
} from './servers';

const root = path.resolve(__dirname, '..');
const folder = setting('SPANWISE_BROWSER_FOLDER');
const python = setting('SPANWISE_TEST_PYTHON');
/** They show what users have, but for the question whether one wants Jupyter's news. */
const withPictures = process.env['SPANWISE_PICTURES'] === '1';

const config = path.join(root, 'ui-tests', 'jupyter_server_test_config.py');

/**
 * Of Chromium. It parses scripts while they come in, also those that the process of all pages has compiled. Of two lists it takes
 * the last: what Playwright itself switches off follows (`browser-features.spec.ts` compares).
 */
const FEATURES_OFF = [
  'ScriptStreaming',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch'
];

/** As `programs/jupyter_servers.py` takes it. */
function server(name: ServerName) {
  return {
    name,
    port: portOf(name),
    path: basePath(name),
    // Those of the others start as users' kernels do.
    forks_kernels: name === 'laptop',
    variables: {
      JUPYTER_RUNTIME_DIR: runtimeFolder(name),
      SPANWISE_BROWSER_SERVER: name,
      SPANWISE_BROWSER_PORT: String(portOf(name)),
      SPANWISE_BROWSER_BASE_URL: basePath(name),
      SPANWISE_BROWSER_TOKEN: token(),
      ...(name !== 'hub' && {
        // Workers import what a task needs, and not all that the kernel has.
        DASK_SPANWISE__WORKER__IMPORT_AHEAD: 'False',
        // Dask's processes look at their own event loop once a second, and not fifty times.
        DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL: '1s',
        JUPYTER_CONFIG_PATH: path.join(
          root,
          'ui-tests',
          withPictures ? 'jupyter-of-pictures' : 'jupyter'
        )
      })
    }
  };
}

export default defineConfig({
  testDir: path.join(root, 'ui-tests', 'tests'),
  outputDir: path.join(folder, 'results'),
  snapshotPathTemplate: '{testDir}/{testFileName}-snapshots/{arg}{ext}',
  // Two slow cores: one browser at a time, and patience instead of retries. No limit here is a test's subject: one that waits for something
  // that never comes takes a minute and a half, a slow machine makes none red.
  workers: 1,
  retries: 0,
  forbidOnly: process.env['CI'] !== undefined,
  timeout: 900_000,
  expect: { timeout: 90_000 },
  reporter: [['list'], ['json']],
  // One project, for each has a browser and a process of its own: files whose server is another one say so.
  use: {
    baseURL: addressOf('laptop'),
    viewport: { width: 1600, height: 1000 },
    // Bars of running tasks grow twice a second, and not thirty times: as users have it in `four-panels` and behind the hub.
    contextOptions: withPictures ? {} : { reducedMotion: 'reduce' },
    actionTimeout: 90_000,
    trace: 'retain-on-failure',
    screenshot: 'only-on-failure',
    video: 'off',
    launchOptions: {
      executablePath: setting('SPANWISE_CHROMIUM'),
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        // Pages of one server and one window share a process, which compiles JupyterLab once and not for each.
        '--process-per-site',
        // That process keeps what it has compiled, also where no page has called it for a while, and collects what is new less often.
        '--js-flags=--no-flush-bytecode --min-semi-space-size=16',
        `--disable-features=${FEATURES_OFF.join(',')}`,
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync'
      ]
    }
  },
  webServer: {
    command: `exec "${python}" "${path.join(root, 'ui-tests', 'programs', 'jupyter_servers.py')}" "${config}"`,
    wait: { stdout: /All servers answer\./ },
    cwd: folder,
    timeout: 600_000,
    gracefulShutdown: { signal: 'SIGTERM', timeout: 60_000 },
    env: {
      SPANWISE_BROWSER_SERVERS: JSON.stringify([
        server('laptop'),
        server('hub'),
        server('guarded')
      ])
    }
  }
});
