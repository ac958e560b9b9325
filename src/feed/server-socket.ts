/** How the feed reaches the relay of the Jupyter server that served the page. */
import { ServerConnection } from '@jupyterlab/services';
import type { LinkStatus } from './feed-types';
import type { ISocket, PageLink } from './page-link';

/** A WebSocket at `{base_url}spanwise/ws`, with the page's token where the server wants one in the address. */
export function serverSocket(
  settings: ServerConnection.ISettings
): PageLink.IOptions {
  return {
    open: () => {
      const token =
        settings.appendToken && settings.token !== ''
          ? `?token=${encodeURIComponent(settings.token)}`
          : '';
      const base = settings.wsUrl.replace(/\/*$/, '/');
      return new settings.WebSocket(`${base}spanwise/ws${token}`) as ISocket;
    },
    explain: () => explain(settings)
  };
}

/** A page cannot see why a WebSocket was refused; the status door answers the same way and says it. */
async function explain(
  settings: ServerConnection.ISettings
): Promise<LinkStatus | null> {
  const url = `${settings.baseUrl.replace(/\/*$/, '/')}spanwise/status`;
  try {
    const response = await ServerConnection.makeRequest(url, {}, settings);
    if (response.status === 404) {
      return {
        kind: 'refused',
        sentence:
          'The server extension of Spanwise is not enabled. Run “jupyter server extension enable spanwise” where JupyterLab runs, then restart it.'
      };
    }
    if (response.status === 401 || response.status === 403) {
      return {
        kind: 'refused',
        sentence: 'The server no longer knows this page. Reload it and log in.'
      };
    }
    const status = (await response.json()) as { problem?: unknown };
    return typeof status.problem === 'string'
      ? { kind: 'no-observer', sentence: status.problem }
      : null;
  } catch (error) {
    if (
      error instanceof ServerConnection.NetworkError ||
      error instanceof SyntaxError
    ) {
      // The server is not there at all, or something else answers in its place: the link goes on trying.
      return null;
    }
    throw error;
  }
}
