import { keyText, type ReadonlyKeySet } from '../../graph/key';
import { Callback, type CallbackHooks } from '../callback';
import type { RunState } from '../state';

/**
 * A callback that writes down what it hears, `name:hook key`, into a list that several may share.
 *
 * @param failing - the hook that throws, saying so.
 */
export function recorder(
  log: string[],
  name = '',
  failing?: keyof CallbackHooks
): Callback {
  const note = (hook: keyof CallbackHooks, rest = '') => {
    log.push(`${name && `${name}:`}${hook}${rest && ` ${rest}`}`);
    if (hook === failing) {
      throw new Error(`${hook} of ${name || 'the callback'} fails`);
    }
  };
  return new Callback({
    start: () => note('start'),
    startState: () => note('startState'),
    pretask: key => note('pretask', keyText(key)),
    posttask: (key, result) =>
      note('posttask', `${keyText(key)}=${String(result)}`),
    finish: (_, state, errored) =>
      note(
        'finish',
        `${errored ? 'errored' : 'ok'}${Object.keys(state).length === 0 ? ' empty' : ''}`
      )
  });
}

/** A state as plain text: `ready [b a]`. */
export function pictured(state: RunState): Record<string, string> {
  const sets = ['running', 'finished', 'released'] as const;
  const maps = [
    'dependencies',
    'dependents',
    'waiting',
    'waitingData'
  ] as const;
  const text = (keys: ReadonlyKeySet) =>
    Array.from(keys, keyText).sort().join(' ');
  return {
    ready: state.ready.map(keyText).join(' '),
    ...Object.fromEntries(sets.map(name => [name, text(state[name])])),
    ...Object.fromEntries(
      maps.map(name => [
        name,
        Array.from(
          state[name],
          ([key, set]) => `${keyText(key)}:${text(set)}`
        ).join('; ')
      ])
    )
  };
}
