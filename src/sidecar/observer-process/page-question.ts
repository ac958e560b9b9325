/** What a page asks under one id, with its changes since. In the observer process. */
import type { Message } from '../../wire/schema';

type WatchFields = Extract<
  Message<'panel', 'up'>,
  { readonly type: 'watch' }
>['fields'];
type Change = Pick<WatchFields, 'question'> &
  Partial<Pick<WatchFields, 'time' | 'params'>>;

/** Characters of a question's filter and parameters: 500 spans of a hundred characters. */
export const MOST_QUESTION_CHARACTERS = 64 * 1024;

/**
 * Filter and parameters that are too long are not kept, only their length is: a page may send a MiB with each question, and has hundreds.
 */
export class PageQuestion {
  private _fields: WatchFields;
  private readonly _filterLength: number;
  private _paramsLength: number;

  constructor(fields: WatchFields) {
    this._filterLength = lengthOf(fields.filter);
    this._paramsLength = lengthOf(fields.params);
    this._fields =
      this._filterLength > MOST_QUESTION_CHARACTERS
        ? { ...fields, filter: {} }
        : fields;
    this._drop();
  }

  /** If the question is not too long. */
  get fields(): WatchFields {
    return this._fields;
  }

  get length(): number {
    return this._filterLength + this._paramsLength;
  }

  get isTooLong(): boolean {
    return this.length > MOST_QUESTION_CHARACTERS;
  }

  change({ question, time, params }: Change): void {
    this._fields = {
      ...this._fields,
      question,
      ...(time !== undefined && { time })
    };
    if (params !== undefined) {
      this._fields = { ...this._fields, params };
      this._paramsLength = lengthOf(params);
      this._drop();
    }
  }

  private _drop(): void {
    if (this.isTooLong) {
      this._fields = { ...this._fields, params: {} };
    }
  }
}

const lengthOf = (part: object): number => JSON.stringify(part).length;
