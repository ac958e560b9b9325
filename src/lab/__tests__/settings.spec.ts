/** Settings that JupyterLab shows are those that plugins read. */
import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Signal } from '@lumino/signaling';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { TileCache } from '../../feed/tile-cache';
import PLUGINS from '../../index';
import { feedPlugin } from '../feed-plugin';

const folder = path.resolve(__dirname, '..', '..', '..', 'schema');
type Schema = {
  properties: Record<string, { default: number; minimum: number }>;
};
const schemaOf = (file: string) =>
  JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Schema;

it('belong to a plugin each, by the name of their file', () => {
  const ids = PLUGINS.map(({ id }) => id);
  for (const file of readdirSync(folder)) {
    expect(ids).toContain(`@spanwise/lab:${path.basename(file, '.json')}`);
  }
});

it('of the feed are read, and read again when they change', async () => {
  const { properties } = schemaOf('feed.json');
  const values = Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [name, each.default])
  );
  const asked = new Set<string>();
  const loaded = {
    get: (name: string) => {
      asked.add(name);
      return { composite: values[name] };
    }
  } as unknown as ISettingRegistry.ISettings;
  const changed = new Signal<ISettingRegistry.ISettings, void>(loaded);
  Object.assign(loaded, { changed });
  const settings = {
    load: (id: string) =>
      id === '@spanwise/lab:feed'
        ? Promise.resolve(loaded)
        : Promise.reject(new Error(id))
  } as unknown as ISettingRegistry;
  const app = {
    started: new Promise<void>(() => undefined),
    serviceManager: {
      serverSettings: {},
      sessions: { ready: Promise.resolve() }
    }
  } as unknown as JupyterFrontEnd;
  const budgets: number[] = [];
  const spy = jest
    .spyOn(TileCache.prototype, 'setBudget')
    .mockImplementation(bytes => void budgets.push(bytes));
  try {
    await feedPlugin.activate(app, settings);
    await Promise.resolve();
    expect(budgets).toEqual([48 * 2 ** 20]);
    values['tileCacheMebibytes'] = 5;
    changed.emit();
    expect(budgets.at(-1)).toBe(5 * 2 ** 20);
    expect([...asked]).toEqual(Object.keys(properties));
  } finally {
    spy.mockRestore();
  }
});
