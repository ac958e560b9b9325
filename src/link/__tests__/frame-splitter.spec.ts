import fc from 'fast-check';
import { BrokenFrame } from '../../wire/broken-frame';
import { FrameSplitter } from '../frame-splitter';

const framed = (body: Uint8Array): Buffer => {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32LE(body.length);
  return Buffer.concat([prefix, body]);
};

function pull(splitter: FrameSplitter): Uint8Array[] {
  const bodies: Uint8Array[] = [];
  for (let body = splitter.next(); body !== null; body = splitter.next()) {
    bodies.push(body);
  }
  return bodies;
}

describe('a stream of frames', () => {
  it('gives the same bodies however it is cut', () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 30 }), {
      minLength: 1,
      maxLength: 8
    });
    fc.assert(
      fc.property(bodies, fc.array(fc.nat(40)), (sent, cuts) => {
        const splitter = new FrameSplitter(100);
        let rest = Buffer.concat(sent.map(framed));
        const received: Uint8Array[] = [];
        for (const cut of [...cuts, Infinity]) {
          splitter.push(rest.subarray(0, cut));
          rest = rest.subarray(cut);
          received.push(...pull(splitter));
        }
        expect(received.map(body => [...body])).toEqual(
          sent.map(body => [...body])
        );
      })
    );
  });

  it('gives bodies that are 8-aligned and outlive what they came in', () => {
    const splitter = new FrameSplitter(100);
    const chunk = Buffer.concat([
      framed(new Uint8Array([1, 2, 3])),
      framed(new Uint8Array([4, 5, 6]))
    ]);
    splitter.push(chunk);
    const bodies = pull(splitter);
    chunk.fill(0);
    expect(bodies.map(body => [...body])).toEqual([
      [1, 2, 3],
      [4, 5, 6]
    ]);
    expect(bodies.every(body => body.byteOffset % 8 === 0)).toBe(true);
  });

  it('judges a length by the limit of the moment when it is pulled', () => {
    const splitter = new FrameSplitter(4);
    splitter.push(
      Buffer.concat([framed(new Uint8Array(4)), framed(new Uint8Array(50))])
    );
    expect(splitter.next()).toHaveLength(4);
    splitter.limit = 50;
    expect(splitter.next()).toHaveLength(50);
    splitter.push(framed(new Uint8Array(51)));
    expect(() => splitter.next()).toThrow(BrokenFrame);
  });
});
