import { drawnClusterSettings } from '../../testing/cluster-settings';
import { BrokenFrame } from '../broken-frame';
import { checkClusterSettings } from '../cluster-settings';

it('settings come back as they were, with what was left out filled in', () => {
  for (const given of [
    { mostTasks: 6, workerSaturation: 1.5 },
    { workerSaturation: 'inf' as const, allowedFailures: 0 },
    {
      transport: 'tcp' as const,
      notebook: { kernelId: 'k', path: 'p' },
      client: { pid: 1, started: 2.5 },
      observer: { address: 'unix:/o', secretFile: '/s' }
    },
    { notebook: { path: 'p' }, recording: false, workerTtlSeconds: 0 },
    { owner: 'server' as const, port: 65_535 },
    {
      owner: 'program' as const,
      memory: { target: 0.5, spill: null, share: 0, folder: '/spilled' }
    }
  ]) {
    const settings = drawnClusterSettings(given);
    expect(checkClusterSettings(settings)).toEqual(settings);
  }
  const {
    workerTtlSeconds,
    workerSaturation,
    recording,
    notebook,
    client,
    observer,
    owner,
    port,
    memory,
    resources,
    idleSeconds,
    stallSeconds,
    allowedFailures,
    ...rest
  } = drawnClusterSettings();
  const { env, modules, versions, ...launch } = rest.launch;
  expect([env, modules]).toEqual([{}, []]);
  expect(Object.keys(versions)).toEqual(['python']);
  expect(checkClusterSettings({ ...rest, launch })).toEqual({
    ...rest,
    launch: { ...launch, env, modules, versions: {} },
    workerTtlSeconds,
    workerSaturation,
    recording,
    notebook,
    client,
    observer,
    owner,
    port,
    memory,
    resources,
    idleSeconds,
    stallSeconds: stallSeconds + 30,
    allowedFailures
  });
});

it.each([
  ['protocol', 1],
  ['secretHex', '07'.repeat(31)],
  ['secretHex', '07'.repeat(32) + '0'],
  ['secretHex', 'AB'.repeat(32)],
  ['transport', 'pipe'],
  ['nWorkers', -1],
  ['nWorkers', 1.5],
  ['threadsPerWorker', 0],
  ['workerTtlSeconds', -0.5],
  ['stallSeconds', -1],
  ['allowedFailures', -1],
  ['allowedFailures', 0.5],
  ['allowedFailures', 10_001],
  ['workerSaturation', 0],
  ['workerSaturation', 'many'],
  ['mostTasks', 0],
  ['mostTasks', 2 ** 31],
  ['wallEpoch', 'now'],
  ['client', { pid: 0, started: 1 }],
  ['observer', { address: 'unix:/o' }],
  ['owner', 'page'],
  ['port', 65_536],
  ['memory', { maxSpill: -1 }],
  ['profile', { interval: 0 }],
  ['profile', { cycle: Infinity }],
  ['profile', { scheduler: 1 }],
  ['resources', { GPU: -1 }]
])('settings are refused by name: %s %j', (name, value) => {
  const settings = { ...drawnClusterSettings(), [name]: value };
  expect(() => checkClusterSettings(settings)).toThrow(BrokenFrame);
  expect(() => checkClusterSettings(settings)).toThrow(`settings: ${name}`);
});
