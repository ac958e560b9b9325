import {
  beforeSentence,
  droppedSentence,
  endedSentence,
  lostSentence,
  lostSumsSentence,
  reconnectingSentence
} from '../sentences';

describe('times in sentences', () => {
  it('have the format of all panels', () => {
    const plain = [
      reconnectingSentence(829.31, true),
      reconnectingSentence(4.1, false),
      droppedSentence(1_250_000, 829.31),
      lostSentence(0, 4.1),
      lostSumsSentence(1250, 4.1),
      beforeSentence(829.31)
    ].map(text => text.replaceAll('\u00a0', ' '));
    expect(plain).toEqual([
      'Reconnecting. Figures are from 13 min 49 s; your computation goes on.',
      'Reconnecting. Figures are from 4.10 s.',
      '1.25 M task runs before 13 min 49 s are kept only as totals.',
      'Some measurements before 4.10 s are missing: they did not reach the observer.',
      '1,250 changes of fine performance metrics from 4.10 s on are missing: there are more different ones than are kept.',
      'The first 13 min 49 s were before Spanwise was attached: of these only what Dask had recorded is shown.'
    ]);
  });
});

describe('endedSentence', () => {
  it('speaks of a scheduler only where there is one', () => {
    expect(endedSentence('scheduler-lost', 0)).toContain('The scheduler');
    expect(endedSentence('closed', 0)).toContain('the client was closed');
    expect(endedSentence('closed', 0, 'local')).toContain(
      'observing has ended. The history is kept.'
    );
    for (const why of [
      'closed',
      'kernel-ended',
      'scheduler-lost',
      'stopped',
      'idle'
    ] as const) {
      expect(endedSentence(why, 0, 'local')).toMatch(
        /^Ended at \d\d:\d\d:\d\d: (?!.*(scheduler|client)).* The history is kept\.$/
      );
    }
  });
});
