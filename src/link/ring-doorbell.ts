/** Asks a Jupyter server where its observer is; the server starts one if none runs. */
import { dial } from './dial';
import type { ObserverPlace } from './observer-link';
import { readSecret } from './secret-file';

/** Longer than the server takes to start an observer, or to say that it could not. */
const ANSWER_SECONDS = 40;

export type Doorbell = {
  readonly address: string;
  readonly secretFile: string;
};

/** @throws Error with the server's sentence, or because no answer comes. */
export async function ringDoorbell(
  { address, secretFile }: Doorbell,
  build: string
): Promise<ObserverPlace> {
  const link = await dial({
    address,
    secret: await readSecret(secretFile),
    role: 'doorbell',
    build
  });
  try {
    return await new Promise<ObserverPlace>((resolve, reject) => {
      const limit = setTimeout(
        () => reject(new Error(`no answer within ${ANSWER_SECONDS} s`)),
        ANSWER_SECONDS * 1000
      );
      link.start({
        messages: batch => {
          for (const message of batch) {
            if (message.type === 'observer') {
              clearTimeout(limit);
              resolve(message.fields);
            }
          }
        },
        closed: why => {
          clearTimeout(limit);
          reject(new Error(why));
        }
      });
      link.send('ring', {});
    });
  } finally {
    link.close();
  }
}
