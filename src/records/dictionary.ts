/** Texts and their ids, dense from 0. */
export class Dictionary {
  /** @param _onNew hears of every new text, in the order of the ids: where a log writes its row of `names`. */
  constructor(
    private readonly _onNew: (id: number, text: string) => void = () =>
      undefined
  ) {}

  get size(): number {
    return this._texts.length;
  }

  /** The text's id; a new one if it has none. */
  id(text: string): number {
    const known = this._ids.get(text);
    if (known !== undefined) {
      return known;
    }
    const id = this._texts.length;
    this._texts.push(text);
    this._ids.set(text, id);
    this._onNew(id, text);
    return id;
  }

  /** The text's id, or undefined: it has none. */
  find(text: string): number | undefined {
    return this._ids.get(text);
  }

  /** @throws RangeError the id was never given out. */
  text(id: number): string {
    const text = this._texts[id];
    if (text === undefined) {
      throw new RangeError(`No name ${id}.`);
    }
    return text;
  }

  private readonly _texts: string[] = [];
  private readonly _ids = new Map<string, number>();
}
