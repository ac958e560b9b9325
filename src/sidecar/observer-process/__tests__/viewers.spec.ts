/** Sources are told whether anybody looks, once when it changes. */
import type { Message } from '../../../wire/schema';
import { Viewers } from '../viewers';
import { ObserverFixture, type TestSource } from './observer-fixture';

/** What a source was told, without repetitions. */
function toldOf({ inbox }: TestSource): boolean[] {
  const all = inbox.all.flatMap(message =>
    message.type === 'resume' || message.type === 'ack'
      ? [message.fields.hasViewers]
      : []
  );
  return all.filter((hasViewers, i) => i === 0 || hasViewers !== all[i - 1]);
}

describe('viewers', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('are there from the first one on until some time after the last has left', () => {
    const viewers = new Viewers(2000);
    const told: boolean[] = [];
    const stop = viewers.onChange(() => told.push(viewers.isAny));
    expect(viewers.isAny).toBe(false);
    viewers.came();
    viewers.came();
    viewers.left();
    jest.advanceTimersByTime(5000);
    expect(told).toEqual([true]);
    // A program that asks, one link for each question.
    for (let i = 0; i < 5; i++) {
      viewers.left();
      jest.advanceTimersByTime(1999);
      viewers.came();
    }
    expect(told).toEqual([true]);
    viewers.left();
    jest.advanceTimersByTime(2000);
    expect(told).toEqual([true, false]);
    viewers.came();
    expect(told).toEqual([true, false, true]);
    stop();
    viewers.left();
    viewers.dispose();
    jest.advanceTimersByTime(5000);
    expect(told).toHaveLength(3);
  });
});

describe('a source', () => {
  let fixture: ObserverFixture;

  beforeEach(async () => {
    fixture = await ObserverFixture.start();
  });
  afterEach(async () => {
    await fixture.close();
  });

  it('hears at once when the first viewer comes, and when all have left', async () => {
    const before = await fixture.source();
    await before.open();
    const silent = await fixture.source();
    expect(toldOf(before)).toEqual([false]);
    const page = await fixture.panel();
    const isAck = (
      message: Message<'source', 'down'>
    ): message is Message<'source', 'down', 'ack'> => message.type === 'ack';
    const ack = await before.inbox.wait(isAck);
    expect(ack.fields).toEqual({ seq: 0, hasViewers: true });
    const other = await fixture.panel();
    const later = await fixture.source();
    await later.open('c2');
    expect(toldOf(later)).toEqual([true]);
    page.link.close();
    other.link.close();
    await later.inbox.wait(isAck);
    expect(toldOf(later)).toEqual([true, false]);
    await before.inbox.wait(isAck, 2);
    expect(toldOf(before)).toEqual([false, true, false]);
    // It has not said yet which log it has.
    expect(silent.inbox.all).toEqual([]);
  });
});
