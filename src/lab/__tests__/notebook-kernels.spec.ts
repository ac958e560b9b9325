import type { Session } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import {
  NotebookKernels,
  pathOfUri,
  type SessionList
} from '../notebook-kernels';

function sessions() {
  let models: Session.IModel[] = [];
  const list = {
    running: () => models[Symbol.iterator]()
  } as unknown as { running: SessionList['running']; runningChanged: unknown };
  const changed = new Signal<typeof list, Session.IModel[]>(list);
  list.runningChanged = changed;
  return {
    list: list as unknown as SessionList,
    set(...pairs: [kernel: string, path: string][]) {
      models = pairs.map(
        ([id, path]) => ({ path, kernel: { id } }) as unknown as Session.IModel
      );
      changed.emit(models);
    }
  };
}

const cluster = (kernelId?: string, path?: string) =>
  clusterInfo({ notebook: { kernelId, path } });

describe('NotebookKernels', () => {
  it('finds a notebook by its kernel, also after both are gone', () => {
    const { list, set } = sessions();
    const kernels = new NotebookKernels(list);
    expect(kernels.notebookOf(cluster('k1'))).toBeUndefined();
    set(['k1', 'work/a.ipynb']);
    expect(kernels.notebookOf(cluster('k1'))).toBe('work/a.ipynb');
    set();
    expect(kernels.notebookOf(cluster('k1'))).toBe('work/a.ipynb');
  });

  it('follows a notebook that is renamed', () => {
    const { list, set } = sessions();
    set(['k1', 'a.ipynb']);
    const kernels = new NotebookKernels(list);
    const told = jest.fn();
    kernels.changed.connect(told);
    set(['k1', 'b.ipynb']);
    expect(told).toHaveBeenCalledTimes(1);
    expect(kernels.notebookOf(cluster('k1', '/srv/a.ipynb'))).toBe('b.ipynb');
  });

  it('turns the path a kernel knows into the one the page knows', () => {
    const { list, set } = sessions();
    set(['k1', 'deep/a.ipynb']);
    const unrooted = new NotebookKernels(list);
    expect(unrooted.notebookOf(cluster('old', '/srv/deep/a.ipynb'))).toBe(
      'deep/a.ipynb'
    );
    const rooted = new NotebookKernels(sessions().list, '/srv/u');
    expect(rooted.notebookOf(cluster('x', '/srv/u/b.ipynb'))).toBe('b.ipynb');
    expect(rooted.notebookOf(cluster('x', '/srv/us/b.ipynb'))).toBe(
      '/srv/us/b.ipynb'
    );
  });

  it('knows no notebook for a script', () => {
    const kernels = new NotebookKernels(sessions().list);
    expect(
      kernels.notebookOf(clusterInfo({ notebook: undefined }))
    ).toBeUndefined();
  });

  it('reads paths of file addresses', () => {
    expect(pathOfUri('file:///srv/my%20work')).toBe('/srv/my work');
    expect(pathOfUri('')).toBe('');
  });
});
