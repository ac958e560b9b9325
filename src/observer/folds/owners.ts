import { pathEnds } from '../../base/path-ends';
import type { SpanId } from '../../records/ids';
import type { LogStore } from '../store/log-store';

/**
 * Whose each span is, by a name as short as tells the clients apart. All are '' as long as one client alone has computed: then nobody
 * asks. Spans by which nothing was computed do not count, as in the tree of spans.
 */
export function ownersOf(log: LogStore): (span: SpanId) => string {
  const running = new Set([...log.shape.running.values()].map(r => r.span));
  const clients = new Set<number>();
  for (const { span, origin, client } of log.spans.all()) {
    if (
      origin !== 'default' ||
      Number.isFinite(log.figures.firstStart(span)) ||
      running.has(span)
    ) {
      clients.add(client);
    }
  }
  const labelOf = (client: number) => log.clients.labelOf(client);
  // A notebook whose kernel was restarted is several clients of one label.
  const labels = [...new Set([...clients].map(labelOf))].filter(
    label => label !== ''
  );
  if (labels.length < 2) {
    return () => '';
  }
  const names = pathEnds(labels);
  return span => {
    const client = log.spans.get(span)?.client;
    return client === undefined ? '' : (names.get(labelOf(client)) ?? '');
  };
}
