const PAGE_SHIFT = 10;
const WORD_SHIFT = 5;
const WORD_MASK = 31;
const PAGE_WORDS = 1 << (PAGE_SHIFT - WORD_SHIFT);
const PAGE_WORD_MASK = PAGE_WORDS - 1;

/**
 * A set of u32 that only grows, a bit for each number: of numbers that follow each other a million take 0.3 MB, where a Set takes 40.
 *
 *     page 0      page 2,048
 *     0 1 1 1 …   1 1 0 0 …         has 1, 2, 3 and 2,097,152, 2,097,153
 *
 * Where it has a bound the page goes that came first, with its numbers.
 */
export class NumberSet {
  private readonly _pages = new Map<number, Uint32Array>();

  /** @param _mostPages - of 1,024 numbers, which take 0.3 kB. */
  constructor(private readonly _mostPages = Infinity) {}

  has(number: number): boolean {
    const word = this._pages.get(number >>> PAGE_SHIFT)?.[wordOf(number)] ?? 0;
    return (word & bitOf(number)) !== 0;
  }

  /** @returns whether it was not there before. */
  add(number: number): boolean {
    const at = number >>> PAGE_SHIFT;
    let page = this._pages.get(at);
    if (page === undefined) {
      const [first] =
        this._pages.size < this._mostPages ? [] : this._pages.keys();
      if (first !== undefined) {
        this._pages.delete(first);
      }
      page = new Uint32Array(PAGE_WORDS);
      this._pages.set(at, page);
    }
    const before = page[wordOf(number)]!;
    page[wordOf(number)] = before | bitOf(number);
    return (before & bitOf(number)) === 0;
  }
}

const wordOf = (number: number): number =>
  (number >>> WORD_SHIFT) & PAGE_WORD_MASK;
const bitOf = (number: number): number => 1 << (number & WORD_MASK);
