const { join } = require('node:path');

/** The specs of the folders in which defects are planted, and of those whose specs run their code; SPECS: of some, or what paths of some begin with. */
const specs = (
  process.env.SPECS ?? 'records/ wire/ sources/ observer/ panels/'
).split(' ');

const root = process.cwd();
const { projects } = require(join(root, 'jest.config.cjs'));
const { displayName: _, ...pure } = projects.find(
  project => project.displayName === 'pure'
);
module.exports = {
  ...pure,
  rootDir: root,
  setupFiles: [...pure.setupFiles, join(__dirname, 'as-it-fails.cjs')],
  testRegex: [`/src/(${specs.join('|')}).*\\.spec\\.ts$`],
  testPathIgnorePatterns: [
    '/node_modules/',
    '/src/panels/(?!.*/(rows|figure)[^/]*\\.spec)'
  ]
};
