/** A way to a server that can be made slow while a page is open: Chromium's own brake leaves WebSockets out. */
import * as net from 'node:net';

type Pace = {
  /** One way. */
  readonly latencyMs: number;
  readonly bytesPerSecond: number;
};

/** A satellite's, say: a second and a half there and back, 3 Mbit/s. */
const SLOW: Pace = { latencyMs: 750, bytesPerSecond: 400_000 };
const FAST: Pace = { latencyMs: 0, bytesPerSecond: Infinity };

export class SlowProxy {
  private _pace = FAST;
  private readonly _server: net.Server;
  private readonly _sockets = new Set<net.Socket>();

  private constructor(port: number) {
    this._server = net.createServer(near => {
      const far = net.connect(port, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near]
      ] as const) {
        this._sockets.add(from);
        from.on('close', () => {
          this._sockets.delete(from);
          to.destroy();
        });
        // Either end may go at any time, as on the real way.
        from.on('error', () => to.destroy());
        this._carry(from, to);
      }
    });
  }

  static async before(origin: string): Promise<SlowProxy> {
    const proxy = new SlowProxy(Number(new URL(origin).port));
    await new Promise<void>(resolve =>
      proxy._server.listen(0, '127.0.0.1', resolve)
    );
    return proxy;
  }

  get origin(): string {
    const { port } = this._server.address() as net.AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  setSlow(isSlow: boolean): void {
    this._pace = isSlow ? SLOW : FAST;
  }

  close(): void {
    this._server.close();
    this._sockets.forEach(socket => socket.destroy());
  }

  /** Each piece leaves when those before it are through, and arrives the latency later. */
  private _carry(from: net.Socket, to: net.Socket): void {
    let through = 0;
    let order = Promise.resolve();
    from.on('data', piece => {
      const { latencyMs, bytesPerSecond } = this._pace;
      through =
        Math.max(through, Date.now()) + (piece.length / bytesPerSecond) * 1000;
      const due = through + latencyMs;
      if (through - Date.now() > 1000) {
        from.pause();
      }
      order = order
        .then(() => sleepUntil(due))
        .then(() => {
          from.resume();
          if (!to.destroyed) {
            to.write(piece);
          }
        });
    });
    from.on('end', () => {
      order = order.then(() => {
        to.end();
      });
    });
  }
}

function sleepUntil(time: number): Promise<void> {
  const pause = time - Date.now();
  return pause <= 0
    ? Promise.resolve()
    : new Promise(resolve => setTimeout(resolve, pause));
}
