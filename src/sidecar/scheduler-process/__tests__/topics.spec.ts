import * as fc from 'fast-check';
import { Topics, TOPIC_LIMITS } from '../topics';

const content = (length: number, mark = 0): Uint8Array =>
  new Uint8Array(length).fill(mark);

describe('topics', () => {
  it('keeps the newest events of each topic and counts all', () => {
    const topics = new Topics<string>({ ...TOPIC_LIMITS, eventsOfTopic: 3 });
    for (let i = 0; i < 5; i++) {
      topics.log('a', i, content(1, i));
    }
    topics.log('b', 9, content(1));
    const [a] = topics.read('a');
    expect(a!.total).toBe(5);
    expect(a!.events.map(({ t }) => t)).toEqual([2, 3, 4]);
    expect(topics.read(null).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(topics.read('c')).toEqual([]);
  });

  it('tells who listens, until they leave', () => {
    const topics = new Topics<string>();
    topics.listen('a', 'one');
    topics.listen('a', 'two');
    topics.listen('b', 'one');
    expect([...topics.log('a', 0, content(1))]).toEqual(['one', 'two']);
    topics.unlisten('a', 'two');
    topics.unlisten('c', 'two');
    expect([...topics.log('a', 0, content(1))]).toEqual(['one']);
    topics.left('one');
    expect([...topics.log('a', 0, content(1))]).toEqual([]);
    expect([...topics.log('b', 0, content(1))]).toEqual([]);
  });

  it('lets nobody listen to more topics than there are, nor to one with a long name', () => {
    const topics = new Topics<string>({ ...TOPIC_LIMITS, topics: 2 });
    const names = ['a', 'b', 'b'];
    names.forEach(name => topics.listen(name, 'one'));
    expect(() => topics.listen('c', 'one')).toThrow('at most 2 topics');
    topics.listen('c', 'two');
    topics.unlisten('c', 'one');
    expect(() => topics.listen('c', 'one')).toThrow('at most 2 topics');
    topics.unlisten('a', 'one');
    topics.listen('c', 'one');
    topics.left('one');
    names.forEach(name => topics.listen(name, 'one'));
    const long = 'x'.repeat(2_001);
    expect(() => topics.listen(long, 'three')).toThrow('2000 characters');
    expect(() => topics.log(long, 0, content(1))).toThrow('2000 characters');
    expect(topics.read(null)).toEqual([]);
  });

  it('stays within all bounds, and what it has is the newest', () => {
    const limits = { eventsOfTopic: 4, bytes: 4_000, topics: 3 };
    const drawn = fc.array(
      fc.record({
        topic: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
        size: fc.oneof(fc.integer({ min: 0, max: 600 }), fc.constant(5_000))
      }),
      { maxLength: 120 }
    );
    fc.assert(
      fc.property(drawn, events => {
        const topics = new Topics<string>(limits);
        // The plain account: all that was logged and is not known to have gone.
        const all: { topic: string; t: number; size: number }[] = [];
        const totals = new Map<string, number>();
        events.forEach(({ topic, size }, t) => {
          topics.log(topic, t, content(size));
          all.push({ topic, t, size });
          const read = topics.read(null);
          const isKnown = new Set(read.map(({ name }) => name));
          for (const name of [...totals.keys()]) {
            if (!isKnown.has(name)) {
              totals.delete(name);
            }
          }
          totals.set(topic, (totals.get(topic) ?? 0) + 1);
          let bytes = 0;
          for (const { name, total, events: kept } of read) {
            expect(total).toBe(totals.get(name));
            expect(kept.length).toBeLessThanOrEqual(limits.eventsOfTopic);
            const own = all.filter(each => each.topic === name);
            expect(kept.map(each => each.t)).toEqual(
              own.slice(own.length - kept.length).map(each => each.t)
            );
            for (const { content } of kept) {
              bytes += content.length;
            }
          }
          expect(bytes).toBeLessThanOrEqual(topics.bytes);
          expect(topics.bytes).toBeLessThanOrEqual(limits.bytes);
          expect(read.length).toBeLessThanOrEqual(limits.topics);
          expect(read.at(-1)!.name).toBe(topic);
          if (size < 600) {
            // Nothing goes for want of room while there is some.
            expect(read.at(-1)!.events.at(-1)!.t).toBe(t);
          }
        });
        expect(topics.forgotten).toBe(
          countForgotten(
            events.map(({ topic }) => topic),
            limits.topics
          )
        );
      }),
      { numRuns: 100 }
    );
  });

  it('have what is sorted in later as if it had been at once', () => {
    const limits = { eventsOfTopic: 4, bytes: 4_000, topics: 3 };
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ names: fc.array(name) }) },
      { weight: 3, arbitrary: fc.record({ now: name }) },
      fc.record({ asked: fc.constantFrom('read', 'bytes', 'forgotten') })
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const [topics, atOnce] = [new Topics(limits), new Topics(limits)];
        const look = (of: Topics<unknown>): unknown[] => [
          of.read('a'),
          of.read(null),
          of.bytes,
          of.forgotten
        ];
        steps.forEach((each, t) => {
          const event = content(t * 7, t);
          if ('names' in each) {
            topics.logLater(each.names, t, event);
            each.names.forEach(one => atOnce.log(one, t, event));
          } else if ('now' in each) {
            topics.log(each.now, t, event);
            atOnce.log(each.now, t, event);
          } else if (each.asked === 'read') {
            expect(topics.read('b')).toEqual(atOnce.read('b'));
          } else if (each.asked === 'bytes') {
            expect(topics.bytes).toBe(atOnce.bytes);
          } else {
            expect(topics.forgotten).toBe(atOnce.forgotten);
          }
        });
        expect(look(topics)).toEqual(look(atOnce));
      })
    );
  });

  it('keep no more than some hundred events to be sorted in later', () => {
    const topics = new Topics<string>();
    const { _topics } = topics as unknown as { _topics: Map<string, unknown> };
    for (let i = 0; i < 255; i++) {
      topics.logLater(['a'], i, content(1));
    }
    expect(_topics.size).toBe(0);
    topics.logLater(['a'], 255, content(1));
    expect(_topics.size).toBe(1);
  });

  it('holds no more events than twice those it keeps', () => {
    const topics = new Topics<string>({ ...TOPIC_LIMITS, eventsOfTopic: 5 });
    for (let i = 0; i < 10_000; i++) {
      topics.log('busy', i, content(1));
    }
    const { _order } = topics as unknown as { _order: { length: number } };
    expect(_order.length).toBeLessThanOrEqual(2 * 5 + 16);
  });
});

/** How many topics the least recently used rule drops. */
function countForgotten(names: readonly string[], most: number): number {
  let recent: string[] = [];
  let count = 0;
  for (const name of names) {
    recent = [...recent.filter(each => each !== name), name];
    if (recent.length > most) {
      recent.shift();
      count++;
    }
  }
  return count;
}
