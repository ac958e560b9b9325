/** Asks the kernel of an open notebook, silently: no cell, no history, no output. */
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { Kernel } from '@jupyterlab/services';
import type { AskKernel } from './kernel-clusters';

export function askKernelOf(notebooks: INotebookTracker): AskKernel {
  return (notebook, expression) => {
    const kernel = kernelOf(notebooks, notebook);
    return kernel === null ? null : asked(kernel, expression);
  };
}

/** The kernel of a notebook; null if it is not there, or does not say that it speaks Python. */
function kernelOf(
  notebooks: INotebookTracker,
  path: string
): Kernel.IKernelConnection | null {
  const panel = notebooks.find(({ context }) => context.path === path);
  const kernel = panel?.sessionContext.session?.kernel ?? null;
  const language = panel?.content.model?.defaultKernelLanguage;
  const runs =
    kernel !== null && kernel.status !== 'dead' && !kernel.isDisposed;
  return runs && language === 'python' ? kernel : null;
}

async function asked(kernel: Kernel.IKernelConnection, expression: string) {
  const future = kernel.requestExecute({
    code: '',
    silent: true,
    store_history: false,
    allow_stdin: false,
    stop_on_error: false,
    user_expressions: { answer: expression }
  });
  try {
    return (await future.done).content;
  } finally {
    future.dispose();
  }
}
