/** Texts and their ids, counted from 0; an id is never used again. */
export class Dictionary {
  private _next = 0;
  private _characters = 0;
  // In the order of the ids.
  private readonly _texts = new Map<number, string>();
  private readonly _ids = new Map<string, number>();

  /** @param _onNew called with every new text, in the order of the ids: there a log writes its row of `names`. */
  constructor(
    private readonly _onNew: (id: number, text: string) => void = () =>
      undefined
  ) {}

  /** How many texts are kept. */
  get size(): number {
    return this._texts.size;
  }

  /** Characters of the texts that are kept. */
  get characters(): number {
    return this._characters;
  }

  /** The text's id; a new one if it has none. */
  id(text: string): number {
    const known = this._ids.get(text);
    if (known !== undefined) {
      return known;
    }
    const id = this._next++;
    this._texts.set(id, text);
    this._ids.set(text, id);
    this._characters += text.length;
    this._onNew(id, text);
    return id;
  }

  /** The text's id, or undefined: it has none. */
  find(text: string): number | undefined {
    return this._ids.get(text);
  }

  /**
   * @returns `…` for a text that was forgotten.
   * @throws RangeError the id was never given out.
   */
  text(id: number): string {
    const text = this._texts.get(id);
    if (text !== undefined) {
      return text;
    }
    if (id >= 0 && id < this._next) {
      return '…';
    }
    throw new RangeError(`No name ${id}.`);
  }

  /**
   * Forgets the oldest texts until `most` texts of at most `mostCharacters` are left, sparing those in use. Written ids keep their meaning;
   * a forgotten text that comes again gets a new id.
   *
   * @returns how many were forgotten.
   */
  forgetOldest(
    most: number,
    mostCharacters: number,
    isUsed: (id: number) => boolean
  ): number {
    const before = this._texts.size;
    for (const [id, text] of this._texts) {
      if (this._texts.size <= most && this._characters <= mostCharacters) {
        break;
      }
      if (!isUsed(id)) {
        this._texts.delete(id);
        this._ids.delete(text);
        this._characters -= text.length;
      }
    }
    return before - this._texts.size;
  }
}
