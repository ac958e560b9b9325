/** How the feed reaches the relay of the Jupyter server that served the page. */
import { ServerConnection } from '@jupyterlab/services';
import type { Trans } from '../base/trans';
import { PROTOCOL } from '../wire/handshake-messages';
import type { LinkStatus } from './feed-types';
import type { ISocket, PageLink } from './page-link';

/** A WebSocket at `{base_url}spanwise/ws`, with the page's token where the server wants one in the address. */
export function serverSocket(
  settings: ServerConnection.ISettings,
  trans: Trans
): PageLink.IOptions {
  return {
    trans,
    open: () => {
      const query = new URLSearchParams({ protocol: String(PROTOCOL) });
      if (settings.appendToken && settings.token !== '') {
        query.set('token', settings.token);
      }
      const base = settings.wsUrl.replace(/\/*$/, '/');
      return new settings.WebSocket(
        `${base}spanwise/ws?${query.toString()}`
      ) as ISocket;
    },
    explain: () => explain(settings, trans)
  };
}

/** Whether an observer runs already, so that a page that was reloaded shows its clusters at once; without one, nothing is started. */
export async function isObserverRunning(
  settings: ServerConnection.ISettings
): Promise<boolean> {
  const response = await statusOf(settings);
  if (response === null || !response.ok) {
    return false;
  }
  const status = await jsonOf(response);
  return status?.observer === 'running';
}

/** A page cannot see why a WebSocket was refused; the status door answers the same way and says it. */
async function explain(
  settings: ServerConnection.ISettings,
  trans: Trans
): Promise<LinkStatus | null> {
  const response = await statusOf(settings);
  if (response === null) {
    return null;
  }
  if (response.status === 404) {
    return {
      kind: 'refused',
      sentence: trans.__(
        'The server extension of Spanwise is not enabled. Run “%1” where JupyterLab runs, then restart it.',
        'jupyter server extension enable spanwise'
      )
    };
  }
  if (response.status === 401 || response.status === 403) {
    return {
      kind: 'refused',
      sentence: trans.__(
        'The server no longer knows this page. Reload it and log in.'
      )
    };
  }
  const status = await jsonOf(response);
  return typeof status?.problem === 'string'
    ? { kind: 'no-observer', sentence: status.problem }
    : null;
}

/** Null when the server is not there at all; the link goes on trying. */
async function statusOf(
  settings: ServerConnection.ISettings
): Promise<Response | null> {
  const url = `${settings.baseUrl.replace(/\/*$/, '/')}spanwise/status`;
  try {
    return await ServerConnection.makeRequest(url, {}, settings);
  } catch (error) {
    if (error instanceof ServerConnection.NetworkError) {
      return null;
    }
    throw error;
  }
}

/** Null when something else answers in the server's place, a login page or a proxy's. */
async function jsonOf(
  response: Response
): Promise<Readonly<Record<string, unknown>> | null> {
  try {
    return (await response.json()) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof SyntaxError) {
      return null;
    }
    throw error;
  }
}
