/** What the page asks of the Jupyter server about the clusters that notebooks share: start, scale, restart, stop. */
import { ServerConnection } from '@jupyterlab/services';
import type { Trans } from '../base/trans';

/** Why the server did not do it, as a sentence for people. */
export class NotDone extends Error {
  /** @param others - how many clients that is for: `restart` was not forced. */
  constructor(
    sentence: string,
    readonly others = 0
  ) {
    super(sentence);
  }
}

/**
 * For the whole answer. The server's own limits are shorter: 30 s for a command; for a start 60 s to ask the kernel's environment, then 30 s
 * each for the observer and the scheduler, and 10 s to reach it.
 */
const ANSWER_LIMIT_MS = 150_000;

type StartedCluster = {
  readonly cluster: string;
  readonly name: string;
  /** False: it ran already. */
  readonly isNew: boolean;
};

export class ClusterControls {
  constructor(
    private readonly _settings: ServerConnection.ISettings,
    private readonly _trans: Trans
  ) {}

  /**
   * Starts the default cluster of a kernel's environment, or finds it.
   *
   * @param kernel - the name of its spec.
   * @param notebook - the path of the one in whose folder workers are to run.
   * @throws NotDone
   */
  async start(
    kernel: string,
    notebook: string | undefined
  ): Promise<StartedCluster> {
    const answer = await this._ask('', 'POST', { kernel, notebook });
    return {
      cluster: String(answer.cluster),
      name: String(answer.name),
      isNew: answer.isNew === true
    };
  }

  /**
   * @returns what was not done, as a sentence; '' if all was.
   * @throws NotDone
   */
  async scale(cluster: string, workers: number): Promise<string> {
    return sentenceIn(
      await this._ask(`/${cluster}`, 'POST', { do: 'scale', workers })
    );
  }

  /**
   * @param force - also if notebooks are connected, whose results are computed again.
   * @returns what was not done, as a sentence; '' if all was.
   * @throws NotDone
   */
  async restart(cluster: string, force: boolean): Promise<string> {
    return sentenceIn(
      await this._ask(`/${cluster}`, 'POST', { do: 'restart', force })
    );
  }

  /** @throws NotDone */
  async stop(cluster: string): Promise<void> {
    await this._ask(`/${cluster}`, 'DELETE');
  }

  private async _ask(
    path: string,
    method: string,
    body?: object
  ): Promise<Readonly<Record<string, unknown>>> {
    const base = this._settings.baseUrl.replace(/\/*$/, '/');
    const asked = async () => {
      const response = await ServerConnection.makeRequest(
        `${base}spanwise/clusters${path}`,
        { method, body: body && JSON.stringify(body) },
        this._settings
      );
      return { response, text: await response.text() };
    };
    let response: Response;
    let text: string;
    try {
      ({ response, text } = await this._inTime(asked()));
    } catch (error) {
      throw new NotDone(
        this._trans.__(
          'The Jupyter server did not answer: %1. See that it runs, then try again.',
          error instanceof Error ? error.message : String(error)
        )
      );
    }
    const answer = contentOf(text);
    const others = typeof answer.others === 'number' ? answer.others : 0;
    if (!response.ok || others > 0) {
      throw new NotDone(
        sentenceIn(answer) ||
          this._trans.__(
            'The Jupyter server refused it: %1 %2. Its log says why.',
            response.status,
            response.statusText
          ),
        others
      );
    }
    return answer;
  }

  /** What it gives, or an error if that takes too long: a button must not stay busy for ever. */
  private async _inTime<T>(given: Promise<T>): Promise<T> {
    let limit: ReturnType<typeof setTimeout> | undefined;
    const tooLong = new Promise<never>((_, reject) => {
      limit = setTimeout(
        () =>
          reject(
            new Error(
              this._trans._n(
                'nothing within %1 second',
                'nothing within %1 seconds',
                ANSWER_LIMIT_MS / 1000
              )
            )
          ),
        ANSWER_LIMIT_MS
      );
    });
    try {
      return await Promise.race([given, tooLong]);
    } finally {
      clearTimeout(limit);
    }
  }
}

function sentenceIn({ message }: Readonly<Record<string, unknown>>): string {
  return typeof message === 'string' ? message : '';
}

/** A proxy or a login page may answer in the server's place. */
function contentOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(text);
    return typeof content === 'object' && content !== null
      ? (content as Record<string, unknown>)
      : {};
  } catch (error) {
    if (error instanceof SyntaxError) {
      return {};
    }
    throw error;
  }
}
