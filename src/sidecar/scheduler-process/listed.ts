/** Names in sentences, of which there may be many. In the scheduler process. */
import { formatExactCount } from '../../panels/format';

/** Some names of many: "a, b and 3 more". */
export function listed(names: readonly string[], most: number): string {
  const more = names.length - most;
  return (
    names.slice(0, most).join(', ') +
    (more > 0 ? ` and ${formatExactCount(more)} more` : '')
  );
}
