/** Of two `--disable-features` Chromium takes the last, so that the browser tests' one must hold what Playwright's own holds. */
import { readFileSync } from 'node:fs';
import * as path from 'node:path';

const root = path.resolve(__dirname, '..', '..', '..');
const ours = 'ui-tests/playwright.config.ts';
const theirs = 'node_modules/playwright-core/lib/coreBundle.js';

/** What Playwright switches off, and the browser tests need not: they have Debian's Chromium. */
const LEFT_OUT = [
  // of Windows
  'TcpPortRandomizationWin',
  // of Edge
  'msForceBrowserSignIn',
  'msEdgeUpdateLaunchServicesPreferredVersion'
];
/** What the browser tests alone switch off. */
const ADDED = ['ScriptStreaming'];

/** The texts of a list in a file, which begins so. */
function listIn(file: string, begin: RegExp): string[] {
  const code = readFileSync(path.join(root, file), 'utf8');
  const list = begin.exec(code)?.[1] ?? '';
  const uncommented = list.replace(/\/\/.*$/gm, '');
  return [...uncommented.matchAll(/(["'])(\w+)\1/g)].map(
    ([, , name]) => name ?? ''
  );
}

test('the browser tests switch off what Playwright does', () => {
  const expected = listIn(theirs, /\bdisabledFeatures = \[([^]*?)\n *\]/);
  const found = listIn(ours, /\bFEATURES_OFF = \[([^]*?)\n *\]/);
  const what = {
    [`to be added to FEATURES_OFF of ${ours}, or to LEFT_OUT here`]:
      expected.filter(name => ![...found, ...LEFT_OUT].includes(name)),
    [`Playwright has them no more: to be removed from FEATURES_OFF of ${ours}`]:
      found.filter(name => ![...expected, ...ADDED].includes(name)),
    'Playwright has them no more: to be removed from LEFT_OUT here':
      LEFT_OUT.filter(name => !expected.includes(name)),
    [`lists that were not found: ${theirs} has another form, or ${ours}`]: [
      ...(expected.length === 0 ? [theirs] : []),
      ...(found.length === 0 ? [ours] : [])
    ]
  };
  expect(Object.entries(what).filter(([, names]) => names.length > 0)).toEqual(
    []
  );
});
