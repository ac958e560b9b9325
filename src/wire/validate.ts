/**
 * The fields of a header, checked once, when they come in; inside, the types are trusted. Columns need no check beyond their lengths
 * (frame.ts): their reader refuses values that cannot be (an unknown id, an offset out of range).
 */
import * as v from 'valibot';
import { BrokenFrame } from './broken-frame';
import type { Direction, MessageDescription } from './describe';
import { LINKS, type LinkName } from './schema';

/** Characters of the wrong value that a refusal repeats. */
const MOST_QUOTED = 200;

/**
 * @returns the fields with defaults filled in and unknown ones dropped.
 * @throws BrokenFrame naming the first field that is wrong.
 */
export function checkFields(
  link: LinkName,
  direction: Direction,
  type: string,
  fields: unknown
): Readonly<Record<string, unknown>> {
  const messages: Readonly<Record<string, MessageDescription>> =
    LINKS[link][direction];
  const description = messages[type];
  if (description === undefined) {
    throw new BrokenFrame(`No message "${type}" on the ${link} link.`);
  }
  return check(description.fields, fields ?? {}, `"${type}"`);
}

/** The same for what stands inside a field of any content: intros and welcomes. */
export function check<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
  what: string
): v.InferOutput<S> {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (!result.success) {
    const issue = result.issues[0];
    const where = v.getDotPath(issue) ?? 'the fields';
    // The message repeats the wrong value, and the sentence goes back to the sender.
    const message = issue.message.slice(0, MOST_QUOTED);
    throw new BrokenFrame(
      `${what}: ${where.slice(0, MOST_QUOTED)}: ${message}`
    );
  }
  return result.output;
}
