import { once } from 'node:events';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dial } from '../../../link/dial';
import { PROTOCOL } from '../../../wire/handshake-messages';
import { ObserverPrograms } from './observer-process';

/** The program as it ships: bundled, in a process of its own. */
describe('spanwise observer', () => {
  let programs: ObserverPrograms;
  const start = (settings: unknown) => programs.start(settings);

  beforeAll(async () => {
    programs = await ObserverPrograms.build();
  });
  afterAll(() => programs.remove());

  it('says that it is ready, lets in callers with the secret, and ends with its lifeline', async () => {
    const secret = new Uint8Array(32).fill(5);
    const { child, folder, said } = await start({
      protocol: PROTOCOL,
      secretHex: Buffer.from(secret).toString('hex'),
      transport: 'unix',
      budgetBytes: 1e9
    });
    const exited = once(child, 'exit');
    const { address } = said['ready'] as { address: string };
    expect((await stat(address.slice('unix:'.length))).mode & 0o777).toBe(
      0o600
    );
    const link = await dial({ address, role: 'panel', secret, build: 'test' });
    const closed = new Promise<string>(resolve =>
      link.start({ messages: () => undefined, closed: resolve })
    );
    await expect(
      dial({
        address,
        role: 'panel',
        secret: new Uint8Array(32),
        build: 'test'
      })
    ).rejects.toThrow();
    child.stdin.end();
    expect((await exited)[0]).toBe(0);
    await closed;
    // Secret and socket are not left behind.
    await expect(stat(folder)).rejects.toThrow('ENOENT');
  });

  it('leaves alone what is not its own in its folder', async () => {
    const { child, folder, said } = await start({
      protocol: PROTOCOL,
      secretHex: '05'.repeat(32),
      transport: 'unix'
    });
    expect(said).toHaveProperty('ready');
    await mkdir(join(folder, 'work'));
    await writeFile(join(folder, 'work', 'thesis.tex'), 'years of it');
    const exited = once(child, 'exit');
    child.stdin.end();
    expect((await exited)[0]).toBe(0);
    expect(await readdir(folder, { recursive: true })).toEqual([
      'work',
      'work/thesis.tex'
    ]);
  });

  it('says in one line why it cannot start', async () => {
    const { child, said } = await start({ protocol: 99 });
    const exited = once(child, 'exit');
    expect(said['failed']).toContain('protocol 99');
    expect((await exited)[0]).toBe(1);
  });
});
