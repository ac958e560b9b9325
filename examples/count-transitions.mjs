/**
 * A plugin for Spanwise's scheduler: counts the moves of tasks, and writes them into a file when it is unregistered. See
 * docs/scheduler-plugins.md.
 */
import { writeFileSync } from 'node:fs';

export default function countTransitions({ file }) {
  const counts = {};
  return {
    transition(key, start, finish) {
      const move = `${start} → ${finish}`;
      counts[move] = (counts[move] ?? 0) + 1;
    },
    close() {
      writeFileSync(file, JSON.stringify(counts, null, 2));
    }
  };
}
