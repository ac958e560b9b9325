import { nullTranslator } from '@jupyterlab/translation';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { nowText } from '../lanes-view';
import { TaskStreamModel } from '../model';

const run = firstLook();
const result = ask(drawnStore(run, { live: true }), 'task-stream', {
  now: run.end + 0.9
});

function textOf(over: Partial<typeof result>): string {
  const model = new TaskStreamModel();
  model.setResult({ ...result, ...over });
  return nowText(model, nullTranslator.load('spanwise')).replaceAll(
    '\u00a0',
    ' '
  );
}

describe('the time beside the tools', () => {
  it('says how many of what runs were cancelled', () => {
    const some = ask(
      drawnStore(run, { live: true, cancelled: 2 }),
      'task-stream',
      {
        now: run.end + 0.9
      }
    );
    expect(textOf({ running: some.running, now: 29.6 })).toBe(
      `${some.running.length} running, 2 of them cancelled · live at 29.6 s`
    );
  });

  it('is called live only while something runs', () => {
    const running = result.running.length;
    expect(textOf({ now: 29.6 })).toBe(`${running} running · live at 29.6 s`);
    // The newest answer came when the last task ended, however long ago that is.
    const idle = { running: [], to: 381, now: 381 };
    expect(textOf(idle)).toBe('0 running · last task ended at 6 min 21 s');
    expect(textOf({ ...idle, tasks: 0 })).toBe('0 running');
    // The filter hides what runs.
    const hiding = { ...idle, othersRunning: 2 };
    expect(textOf(hiding)).toBe('0 running · live at 6 min 21 s');
    expect(textOf({ ...idle, live: false })).not.toContain('running');
  });
});
