/**
 * jsdom plus the standard globals that browsers have, Node has, and jsdom 20
 * leaves out. Specs of browser folders run in it.
 */
const { TestEnvironment } = require('jest-environment-jsdom');

const missingInJsdom = [
  'TextEncoder',
  'TextDecoder',
  'structuredClone',
  'fetch',
  'Headers',
  'Request',
  'Response',
  'ReadableStream',
  'BroadcastChannel'
];

/** In jsdom nothing has a size, so that none changes. */
class ResizeObserver {
  observe() {}

  unobserve() {}

  disconnect() {}
}

class BrowserEnvironment extends TestEnvironment {
  async setup() {
    await super.setup();
    for (const name of missingInJsdom) {
      this.global[name] ??= globalThis[name];
    }
    this.global.ResizeObserver ??= ResizeObserver;
    // One kind of byte array on both sides, so that `instanceof` holds for
    // what TextEncoder and msgpack return.
    this.global.ArrayBuffer = ArrayBuffer;
    this.global.Uint8Array = Uint8Array;
  }
}

module.exports = BrowserEnvironment;
