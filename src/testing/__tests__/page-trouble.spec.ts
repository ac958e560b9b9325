import { EventEmitter } from 'node:events';
import type { Page } from '@playwright/test';
import { TroubleRecord } from '../../../ui-tests/pages/trouble';

const KERNELS = 'http://127.0.0.1:8888/lab/api/kernels?1795698000123';

function setUp() {
  const page = new EventEmitter();
  const record = new TroubleRecord(page as unknown as Page);
  const complain = (url: string, status = 500) =>
    page.emit('console', {
      type: () => 'error',
      text: () =>
        `Failed to load resource: the server responded with a status of ${status} (Internal Server Error)`,
      location: () => ({ url })
    });
  /** Until the function returned is called. */
  const ask = (method: string, path: string) => {
    const request = {
      method: () => method,
      url: () => `http://127.0.0.1:8888/lab/api/${path}`
    };
    page.emit('request', request);
    return () => page.emit('requestfinished', request);
  };
  return { record, complain, ask };
}

describe('what a page complains of in a browser test', () => {
  it('may be as often as it asks that kernels cannot be listed while it starts one', () => {
    const { record, complain, ask } = setUp();
    const answered = ask('POST', 'sessions?1795698000123');
    complain(KERNELS);
    complain(KERNELS);
    expect(record.errors).toEqual([]);
    answered();
    ask('GET', 'sessions?1795698000123');
    complain(KERNELS);
    complain(KERNELS);
    expect(record.errors).toHaveLength(1);
  });

  it('may be once that kernels cannot be listed while another page starts one', () => {
    const { record, complain } = setUp();
    complain(KERNELS);
    expect(record.errors).toEqual([]);
    complain(KERNELS);
    expect(record.errors).toHaveLength(1);
  });

  it('is nothing else', () => {
    const { record, complain } = setUp();
    complain(KERNELS, 404);
    complain('http://127.0.0.1:8888/lab/api/kernels/1?1795698000123');
    complain('http://127.0.0.1:8888/lab/api/sessions?1795698000123');
    expect(record.errors).toHaveLength(3);
  });
});
