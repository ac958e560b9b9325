import { ServerConnection } from '@jupyterlab/services';
import { bracketing } from '../../testing/translators';
import { serverSocket } from '../server-socket';

/** Why a page has no link to a server whose status door answers so. */
function explained(status: number, body = '{}') {
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://server/',
    fetch: async () =>
      ({
        status,
        ok: status < 300,
        json: async () => JSON.parse(body) as unknown
      }) as Response
  });
  return serverSocket(settings, bracketing).explain!();
}

describe('a socket that does not open is explained', () => {
  it.each([
    [404, /^⟦The server extension of Spanwise is not enabled\. .*⟧$/],
    [401, /^⟦The server no longer knows this page\. .*⟧$/],
    [403, /^⟦The server no longer knows this page\. .*⟧$/]
  ])('%i by the page, through the translator', async (status, sentence) => {
    expect(await explained(status)).toEqual({
      kind: 'refused',
      sentence: expect.stringMatching(sentence)
    });
  });

  it('by the server, in its own words', async () => {
    expect(await explained(200, '{"problem": "Install Node."}')).toEqual({
      kind: 'no-observer',
      sentence: 'Install Node.'
    });
  });

  it('not at all by a server that knows of nothing wrong, or by a login page', async () => {
    expect(await explained(200)).toBeNull();
    expect(await explained(200, '<html>')).toBeNull();
  });
});
