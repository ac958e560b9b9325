import { BODY_LIMIT, FrameDecoder, FrameEncoder } from '../../wire/frame';
import type { ViewResult } from '../../wire/panel-link';

/**
 * What comes of an answer at the page.
 *
 * @throws FrameTooLong, or BrokenFrame if the page cannot read it.
 */
export function overTheLink(result: ViewResult): unknown {
  const encoder = new FrameEncoder('panel', 'down', BODY_LIMIT.panel);
  const { chunks } = encoder.encode('snapshot', {
    ...{ id: 1, seq: 1, logId: 'log', logSeq: 1 },
    honoured: { how: 'exact' },
    result
  });
  // (without the length before it)
  const body = new Uint8Array(Buffer.concat(chunks).subarray(4));
  const message = new FrameDecoder('panel', 'down').decode(body);
  return message.type === 'snapshot' ? message.fields.result : message.type;
}
