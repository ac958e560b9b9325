import { PassThrough } from 'node:stream';
import { Lifeline } from '../lifeline';

describe('standard input', () => {
  it('begins with a line of settings, in however many pieces', async () => {
    const input = new PassThrough();
    const { settings, ended } = new Lifeline(input);
    for (const piece of [
      '{"name": "grö',
      'ße"',
      '}\nand more',
      ' that nobody reads'
    ]) {
      input.write(piece);
    }
    expect(await settings).toEqual({ name: 'größe' });
    input.end();
    await ended;
  });

  it('ends, also before anybody asked', async () => {
    const input = new PassThrough();
    const lifeline = new Lifeline(input);
    input.end('{}\n');
    await new Promise(resolve => input.once('close', resolve));
    expect(await lifeline.settings).toEqual({});
    await lifeline.ended;
  });

  it.each([
    ['no line', ''],
    ['half a line', '{"a": 1}'],
    ['no JSON', 'hello\n']
  ])('is refused with %s', async (_what, text) => {
    const input = new PassThrough();
    const { settings } = new Lifeline(input);
    input.end(text);
    await expect(settings).rejects.toThrow('one line of JSON');
  });
});
