/** Which Jupyter server is found, who is refused, and what a user is told when there is none. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { refusal } from '../../../link/link';
import { FakeJupyter } from '../../../testing/fake-jupyter';
import { buildNodePrograms } from '../../../testing/node-programs';
import { waitFor } from '../../../testing/wait-for';
import { protocolSentence } from '../../../wire/handshake';
import { task } from '../../graph/nodes';
import { getSync } from '../../local/get-sync';
import {
  findDoorbells,
  NoObserverError,
  UnsafeConnectionError
} from '../connections';
import { jupyterRuntimeFolder } from '../jupyter-folders';
import { observe } from '../observe';

let home: string;
let runtime: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'spanwise-connections-'));
  runtime = join(home, 'runtime');
  mkdirSync(runtime, { mode: 0o700 });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const env = (more: Record<string, string> = {}) => ({
  JUPYTER_RUNTIME_DIR: runtime,
  ...more
});

/** What a server writes; @returns its connection file. */
function server(name: string, pid = process.pid, writtenAt = 1000): string {
  const folder = join(home, name);
  mkdirSync(folder, { mode: 0o700 });
  const secretFile = join(folder, 'doorbell-secret');
  writeFileSync(secretFile, 'ab'.repeat(32), { mode: 0o600 });
  const file = join(runtime, `spanwise-${name}.json`);
  const doorbell = `unix:${join(folder, 'doorbell.sock')}`;
  writeFileSync(file, JSON.stringify({ pid, folder, doorbell, secretFile }), {
    mode: 0o600
  });
  utimesSync(file, writtenAt, writtenAt);
  return file;
}

/** Of a process that has ended. */
const deadPid = () => spawnSync(process.execPath, ['-e', '']).pid;

const namesOf = (named: string | undefined, more?: Record<string, string>) =>
  findDoorbells(named, env(more)).map(
    ({ address }) => /([^/]+)\/doorbell\.sock$/.exec(address)![1]
  );

describe('the servers to ask', () => {
  it('are those that live, the newest first', () => {
    server('old', process.pid, 1000);
    server('new', process.pid, 3000);
    server('middle', process.pid, 2000);
    server('dead', deadPid(), 4000);
    writeFileSync(join(runtime, 'spanwise-half.json'), '{"pid": 1');
    writeFileSync(join(runtime, 'jpserver-1.json'), '{}');
    expect(namesOf(undefined)).toEqual(['new', 'middle', 'old']);
  });

  it('are not in files that say nothing, nor in pipes and folders', () => {
    server('new');
    writeFileSync(join(runtime, 'spanwise-null.json'), 'null');
    writeFileSync(join(runtime, 'spanwise-text.json'), '"x"');
    mkdirSync(join(runtime, 'spanwise-folder.json'));
    if (process.platform !== 'win32') {
      // Nobody writes to it: reading would wait for ever.
      spawnSync('mkfifo', [join(runtime, 'spanwise-pipe.json')]);
    }
    expect(namesOf(undefined)).toEqual(['new']);
  });

  it('are none where the home is no folder', () => {
    const file = join(home, 'null');
    writeFileSync(file, '');
    const nowhere = { JUPYTER_RUNTIME_DIR: join(file, 'runtime') };
    expect(() => findDoorbells(undefined, nowhere)).toThrow(NoObserverError);
    expect(() => findDoorbells(join(file, 'x.json'), nowhere)).toThrow(
      NoObserverError
    );
  });

  it('are asked for by a path alone, not by an open file', () => {
    expect(() => findDoorbells(0 as never, env())).toThrow(
      'is the path of a connection file, not 0'
    );
  });

  it('are one, if it is named by the option or by the environment', () => {
    const old = server('old', process.pid, 1000);
    const other = server('new', process.pid, 3000);
    expect(namesOf(undefined, { SPANWISE_CONNECTION: old })).toEqual(['old']);
    expect(namesOf(other, { SPANWISE_CONNECTION: old })).toEqual(['new']);
  });

  it('are looked for when the one of the environment has ended', () => {
    server('new');
    const gone = join(runtime, 'spanwise-gone.json');
    expect(namesOf(undefined, { SPANWISE_CONNECTION: gone })).toEqual(['new']);
  });

  it('are none: the error says what to do', () => {
    expect(() => findDoorbells(undefined, env())).toThrow(NoObserverError);
    expect(() => findDoorbells(undefined, env())).toThrow(
      /Spanwise's wheel beside JupyterLab .*jupyter lab.*SPANWISE_CONNECTION/
    );
    expect(() => findDoorbells(join(home, 'none.json'), env())).toThrow(
      /none\.json is not the connection file.*Such files lie in/
    );
  });

  it.each([
    ['connection file', () => join(runtime, 'spanwise-a.json'), 0o644],
    ['folder of the server', () => join(home, 'a'), 0o755],
    ['secret', () => join(home, 'a', 'doorbell-secret'), 0o640],
    ['runtime folder', () => runtime, 0o777]
  ])('are refused if others may use the %s', (_, path, mode) => {
    server('a');
    chmodSync(path(), mode);
    expect(() => findDoorbells(undefined, env())).toThrow(
      UnsafeConnectionError
    );
    expect(() => findDoorbells(undefined, env())).toThrow(
      `is open to other users (mode ${mode.toString(8)})`
    );
  });

  it('are refused if a folder is a link, or the secret lies elsewhere', () => {
    server('a');
    const folder = join(home, 'link');
    symlinkSync(join(home, 'a'), folder);
    const write = (secretFile: string) =>
      writeFileSync(
        join(runtime, 'spanwise-a.json'),
        JSON.stringify({
          pid: process.pid,
          folder,
          doorbell: 'unix:/x',
          secretFile
        })
      );
    write(join(folder, 'doorbell-secret'));
    expect(() => findDoorbells(undefined, env())).toThrow(
      /link does not belong to the user/
    );
    write('/etc/hostname');
    expect(() => findDoorbells(undefined, env())).toThrow(
      UnsafeConnectionError
    );
  });
});

describe("Jupyter's runtime folder", () => {
  it.each([
    ['linux', {}, '/h/.local/share/jupyter/runtime'],
    ['linux', { XDG_DATA_HOME: '/x' }, '/x/jupyter/runtime'],
    ['linux', { JUPYTER_DATA_DIR: '/d' }, '/d/runtime'],
    ['darwin', {}, '/h/Library/Jupyter/runtime'],
    [
      'darwin',
      { JUPYTER_PLATFORM_DIRS: '1' },
      '/h/Library/Application Support/Jupyter/runtime'
    ],
    ['win32', { APPDATA: '/a' }, '/a/jupyter/runtime'],
    ['linux', { JUPYTER_RUNTIME_DIR: '/r' }, '/r']
  ] as const)('%s with %j: %s', (platform, environment, expected) => {
    expect(jupyterRuntimeFolder(environment, platform, '/h')).toBe(expected);
  });
});

describe('observe', () => {
  const before = { ...process.env };
  const warnings: string[] = [];
  beforeEach(() => {
    warnings.length = 0;
    jest.spyOn(process, 'emitWarning').mockImplementation((warning, how) => {
      expect(how).toEqual({ type: 'SpanwiseWarning' });
      warnings.push(String(warning));
    });
    process.env['JUPYTER_RUNTIME_DIR'] = runtime;
    delete process.env['SPANWISE_CONNECTION'];
  });
  afterEach(() => {
    jest.restoreAllMocks();
    process.env = { ...before };
  });
  const graph = { a: task(() => 7) };

  it('warns that there is nobody, and computes', async () => {
    expect(await observe(() => getSync(graph, 'a'))).toBe(7);
    const seen = observe();
    expect(seen.status).toBe('off');
    expect(getSync(graph, 'a')).toBe(7);
    await seen.close();
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(
      /^Computations run as ever, but nothing is observed: No JupyterLab/
    );
  });

  it('refuses to begin where others could listen', async () => {
    server('a');
    chmodSync(join(home, 'a'), 0o777);
    const body = jest.fn();
    await expect(observe(body)).rejects.toThrow(UnsafeConnectionError);
    expect(() => observe()).toThrow(UnsafeConnectionError);
    expect(body).not.toHaveBeenCalled();
  });

  it('warns with what the server says, and computes', async () => {
    buildNodePrograms('sender.mjs');
    const jupyter = await FakeJupyter.start();
    try {
      process.env['JUPYTER_RUNTIME_DIR'] = jupyter.runtimeFolder;
      jupyter.refusal = 'Node was not found on the server.';
      const seen = observe({ name: 'refused' });
      expect(seen.status).toBe('observing');
      expect(getSync(graph, 'a')).toBe(7);
      await waitFor('a warning', () => warnings.length > 0);
      expect(warnings[0]).toMatch(
        /nothing is observed: .*Node was not found on the server\..*Restart JupyterLab/
      );
      expect(seen.status).toBe('off');
      await seen.close();
      expect(await jupyter.clusters('refused')).toEqual([]);
    } finally {
      await jupyter.close();
    }
  });

  it('warns that the server speaks another protocol, with what to upgrade', async () => {
    server('a');
    const sentence = protocolSentence(
      'doorbell',
      { protocol: 1, build: 'npm 0.1.0' },
      { protocol: 2, build: '0.9.0' }
    );
    const other = createServer(socket => {
      socket.on('error', () => undefined);
      refusal('protocol', sentence).chunks.forEach(chunk =>
        socket.write(chunk)
      );
    });
    await new Promise<void>(resolve =>
      other.listen(join(home, 'a', 'doorbell.sock'), resolve)
    );
    try {
      buildNodePrograms('sender.mjs');
      const seen = observe();
      await waitFor('a warning', () => warnings.length > 0);
      expect(warnings[0]).toMatch(
        /npm 0\.1\.0 \(protocol 1\).*they cannot talk.*npm install spanwise@latest/
      );
      expect(getSync(graph, 'a')).toBe(7);
      await seen.close();
    } finally {
      other.close();
    }
  });

  it('warns if the server is gone, and computes', async () => {
    buildNodePrograms('sender.mjs');
    server('a');
    expect(await observe(() => getSync(graph, 'a'))).toBe(7);
    expect(warnings[0]).toContain('did not answer');
  });
});
