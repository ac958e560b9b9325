import { endedSentence } from '../sentences';

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
