import { WaitingClients } from '../waiting-clients';

describe('whether any client waits', () => {
  let told: (boolean | null)[];
  let asked: WaitingClients<string>;

  beforeEach(() => {
    told = [];
    asked = new WaitingClients(waiting => told.push(waiting));
  });

  it('is yes as soon as one says so, whatever the others say then', () => {
    expect(asked.ask(['a', 'b', 'c'])).toEqual(['a', 'b', 'c']);
    asked.answered('a', false);
    asked.answered('b', true);
    asked.answered('c', false);
    expect(told).toEqual([null, true]);
  });

  it('is no when all have said so', () => {
    asked.ask(['a', 'b']);
    asked.answered('a', false);
    asked.answered('b', false);
    expect(told).toEqual([null, false]);
  });

  it('does not wait for one that is stopped, nor asks it again before it answers', () => {
    asked.ask(['a', 'stopped']);
    asked.answered('a', false);
    expect(asked.ask(['a', 'stopped'])).toEqual(['a']);
    asked.answered('a', false);
    expect(told).toEqual([null, false]);
    asked.answered('stopped', true);
    expect(told).toEqual([null, false, true]);
    expect(asked.ask(['a', 'stopped'])).toEqual(['a', 'stopped']);
  });

  it('is known when the last that was asked has gone', () => {
    asked.ask(['a', 'b']);
    asked.answered('a', false);
    asked.left('b');
    asked.left('unknown');
    expect(told).toEqual([null, false]);
  });
});
