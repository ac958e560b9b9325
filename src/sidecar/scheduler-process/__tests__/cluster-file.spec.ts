import {
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drawnClusterSettings } from '../../../testing/cluster-settings';
import { writeClusterFile } from '../cluster-file';

describe('the file that guests join with', () => {
  const settings = drawnClusterSettings({});
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sw-'));
    // A cluster that was killed has left these.
    await writeFile(join(folder, 'cluster.json'), '{"address":"dead"}');
    await writeFile(join(folder, 'secret'), 'dead');
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('takes the place of what a killed cluster has left', async () => {
    await writeClusterFile(folder, settings, 'unix:here');
    const file = join(folder, 'cluster.json');
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
      address: 'unix:here'
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(join(folder, 'secret'), 'utf8')).toBe(
      settings.secretHex
    );
    expect((await readdir(folder)).sort()).toEqual(['cluster.json', 'secret']);
  });

  it('is not there at all if it cannot be written', async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const launch = { ...settings.launch, versions: circular };
    const broken = { ...settings, launch } as unknown as typeof settings;
    await expect(writeClusterFile(folder, broken, 'unix:here')).rejects.toThrow(
      TypeError
    );
    expect(await readdir(folder)).toEqual([]);
  });
});
