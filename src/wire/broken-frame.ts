/** The bytes are not a message of this link: the link answers `refused {code: "broken-frame"}` and closes. */
export class BrokenFrame extends Error {
  override readonly name = 'BrokenFrame';
}

/** A whole frame whose fields are not those of its type: what comes behind it can be read. */
export class WrongMessage extends BrokenFrame {
  /** @param fields - as they came, unchecked. */
  constructor(
    sentence: string,
    readonly type: string,
    readonly fields: unknown
  ) {
    super(sentence);
  }
}

/** The message is longer than the link allows; thrown at the sender, before a byte is written. */
export class FrameTooLong extends Error {
  override readonly name = 'FrameTooLong';

  constructor(
    readonly type: string,
    readonly byteLength: number,
    readonly limit: number
  ) {
    super(
      `A "${type}" message of ${byteLength} bytes is longer than the ${limit} bytes that this link carries.`
    );
  }
}
