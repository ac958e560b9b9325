/** The content of `proof.intro`: it is no message, so Python's schema does not describe it. */
import { BrokenFrame } from '../broken-frame';
import { clientIntro } from '../client-link';
import { check } from '../validate';
import { workerIntro } from '../worker-link';

const CLIENT = {
  name: 'notebook',
  launch: {
    executable: '/bin/python',
    path: ['/a', '/b'],
    cwd: '/c',
    versions: { python: '3.12' }
  }
};
const WORKER = {
  worker: 3,
  name: 'big',
  pid: 4001,
  threads: 2,
  memoryLimit: 0,
  resources: { GPU: 1 },
  host: 'h',
  address: 'unix:/w',
  directory: '/w/files',
  versions: { python: '3.12' }
};

it('are taken as they are, also what only a newer build says', () => {
  const client = {
    ...CLIENT,
    guest: true,
    worker: 3,
    computes: false,
    notebook: { kernelId: 'k', path: '/c/a.ipynb' },
    newer: 1,
    launch: { ...CLIENT.launch, more: 2 }
  };
  expect(check(clientIntro, client, 'the intro')).toEqual(client);
  const worker = { ...WORKER, newer: 1 };
  expect(check(workerIntro, worker, 'the intro')).toEqual(worker);
});

it('may leave out names, resources, hosts, folders and versions', () => {
  const { executable, path, cwd } = CLIENT.launch;
  const launch = { executable, path, cwd };
  expect(check(clientIntro, { launch }, 'the intro')).toEqual({
    name: '',
    guest: false,
    worker: null,
    computes: true,
    launch: { ...launch, versions: {} },
    notebook: null
  });
  const { worker, pid, threads, memoryLimit, address } = WORKER;
  const rest = { worker, pid, threads, memoryLimit, address };
  expect(check(workerIntro, rest, 'the intro')).toEqual({
    ...rest,
    name: '',
    resources: {},
    host: '',
    directory: '',
    versions: {}
  });
});

it.each(['executable', 'path', 'cwd'] as const)(
  'a client says its %s',
  name => {
    const launch = { ...CLIENT.launch, [name]: undefined };
    expect(() => check(clientIntro, { launch }, 'the intro')).toThrow(
      BrokenFrame
    );
  }
);

it.each(['worker', 'pid', 'threads', 'memoryLimit', 'address'] as const)(
  'a worker says its %s',
  name => {
    const intro = { ...WORKER, [name]: undefined };
    expect(() => check(workerIntro, intro, 'the intro')).toThrow(
      new RegExp(`^the intro: ${name}: `)
    );
  }
);

it.each([
  { worker: 65_536 },
  { worker: -1 },
  { threads: 1.5 },
  { threads: 65_536 },
  { pid: 2 ** 32 }
])('a worker does not say %j', wrong => {
  expect(() => check(workerIntro, { ...WORKER, ...wrong }, 'it')).toThrow(
    BrokenFrame
  );
});
