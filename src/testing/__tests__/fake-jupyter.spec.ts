import { spawn } from 'node:child_process';
import { FakeJupyter } from '../fake-jupyter';
import { firstLine } from '../first-line';

describe('a server whose observer is not there', () => {
  it('says so at once', async () => {
    await expect(FakeJupyter.start('/nowhere/spanwise.cjs')).rejects.toThrow(
      /\/nowhere\/spanwise\.cjs observer .* ended with 1 before it said a word/
    );
  });
});

describe('the first line of a program', () => {
  it('is not waited for if there is no such program', async () => {
    const child = spawn('/nowhere/node', [], {
      stdio: ['ignore', 'pipe', 'inherit']
    });
    await expect(firstLine(child)).rejects.toThrow(/ENOENT/);
  });
});
