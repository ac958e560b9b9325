/** Carries what a task threw from a worker to the caller: class name, message, code, cause and the stack over there. */
import { keyText, type Key } from '../graph/key';
import type { RemoteErrorRecord, RemoteFailure } from './messages';
import { UnsendableError } from './unsendable';

/** Causes of causes: deeper ones are left out. */
const MAX_CAUSES = 16;

/** Runs in the worker. `canSend` tells whether a value can travel. */
export function packFailure(
  thrown: unknown,
  canSend: (value: unknown) => boolean
): RemoteFailure {
  try {
    return packed(thrown, canSend, 0);
  } catch (error) {
    // A getter of what was thrown, or its `toString`.
    return standIn(
      `The task threw something that itself throws when it is read (${error instanceof Error ? error.message : typeof error}).`
    );
  }
}

function packed(
  thrown: unknown,
  canSend: (value: unknown) => boolean,
  depth: number
): RemoteFailure {
  if (!isError(thrown)) {
    return canSend(thrown)
      ? { kind: 'value', value: thrown }
      : standIn(String(thrown));
  }
  const properties: Record<string, unknown> = {};
  for (const name of Object.keys(thrown)) {
    const value = (thrown as unknown as Record<string, unknown>)[name];
    if (canSend(value)) {
      properties[name] = value;
    }
  }
  const nested = (inner: unknown) => packed(inner, canSend, depth + 1);
  const { cause } = thrown;
  const { errors } = thrown as { errors?: unknown };
  return {
    kind: 'error',
    className: thrown.constructor?.name || 'Error',
    name: String(thrown.name),
    message: String(thrown.message),
    stack: String(thrown.stack ?? ''),
    properties,
    ...(cause !== undefined && depth < MAX_CAUSES
      ? { cause: nested(cause) }
      : {}),
    ...(Array.isArray(errors) && depth < MAX_CAUSES
      ? { errors: errors.map(nested) }
      : {})
  };
}

/** Runs at the caller. `where` is `thread 3` or `process 4711`. */
export function unpackFailure(
  failure: RemoteFailure,
  key: Key,
  where: string
): unknown {
  switch (failure.kind) {
    case 'value':
      return failure.value;
    case 'unsendable':
      return new UnsendableError(
        `The result of ${keyText(key)} cannot be sent back from ${where}: ${failure.what}.`
      );
    case 'error':
      return rebuild(failure, `\n    at task ${keyText(key)} (${where})`);
  }
}

/** Runs at the caller, for a value that an initializer threw; always gives an error. */
export function unpackInitializerFailure(
  failure: RemoteFailure,
  where: string
): Error {
  return failure.kind === 'error'
    ? rebuild(failure, `\n    at the initializer (${where})`)
    : new Error(String(inner(failure)));
}

function rebuild(record: RemoteErrorRecord, line: string): Error {
  const options: ErrorOptions =
    record.cause === undefined ? {} : { cause: inner(record.cause) };
  const error = make(record, options);
  const name = record.name === 'Error' ? record.className : record.name;
  if (error.name !== name) {
    Object.defineProperty(error, 'name', {
      value: name,
      configurable: true,
      writable: true
    });
  }
  Object.assign(error, record.properties);
  error.stack =
    record.stack === ''
      ? `${name}: ${record.message}${line}`
      : `${record.stack}${line}`;
  return error;
}

/** An error of the same built-in class, so that `instanceof TypeError` holds; other classes do not exist here. */
function make(record: RemoteErrorRecord, options: ErrorOptions): Error {
  if (record.errors !== undefined) {
    return new AggregateError(
      record.errors.map(inner),
      record.message,
      options
    );
  }
  const { message } = record;
  switch (record.className) {
    case 'EvalError':
      return new EvalError(message, options);
    case 'RangeError':
      return new RangeError(message, options);
    case 'ReferenceError':
      return new ReferenceError(message, options);
    case 'SyntaxError':
      return new SyntaxError(message, options);
    case 'TypeError':
      return new TypeError(message, options);
    case 'URIError':
      return new URIError(message, options);
    default:
      return new Error(message, options);
  }
}

function inner(failure: RemoteFailure): unknown {
  switch (failure.kind) {
    case 'value':
      return failure.value;
    case 'unsendable':
      return new UnsendableError(failure.what);
    case 'error':
      return rebuild(failure, '');
  }
}

function standIn(text: string): RemoteErrorRecord {
  return {
    kind: 'error',
    className: 'Error',
    name: 'Error',
    message: text,
    stack: '',
    properties: {}
  };
}

/** Errors of other realms (a `vm` context) are errors too. */
function isError(value: unknown): value is Error {
  return (
    value instanceof Error ||
    Object.prototype.toString.call(value) === '[object Error]'
  );
}
