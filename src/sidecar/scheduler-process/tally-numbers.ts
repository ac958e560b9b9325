/** Which tasks are counted together: those of one function and span. In the scheduler process. */
import { LARGEST_U16, NONE_U32 } from '../../records/enumerations';
import { DEFAULT_SPAN, type SpanId } from '../../records/ids';

/** The tally of all that came when there was no other. */
const OTHERS = 0;

export class TallyNumbers {
  private readonly _numbers = new Map<number, number>();
  private readonly _functions: number[] = [NONE_U32];
  private readonly _spans: SpanId[] = [DEFAULT_SPAN];
  // Most tasks are of the same function and span as the one before.
  private _last = OTHERS;

  /** @param _most - how many there may be, the others' included. */
  constructor(private readonly _most: number = LARGEST_U16 + 1) {}

  /** The tally of a task. */
  of(functionId: number, span: SpanId): number {
    const last = this._last;
    if (this._functions[last] === functionId && this._spans[last] === span) {
      return last;
    }
    const key = span * 0x100000000 + functionId;
    let number = this._numbers.get(key);
    if (number === undefined) {
      if (this._functions.length >= this._most) {
        return OTHERS;
      }
      number = this._functions.length;
      this._numbers.set(key, number);
      this._functions.push(functionId);
      this._spans.push(span);
    }
    this._last = number;
    return number;
  }

  /** NONE_U32: of any function. */
  functionOf(tally: number): number {
    return this._functions[tally] ?? NONE_U32;
  }

  spanOf(tally: number): SpanId {
    return this._spans[tally] ?? DEFAULT_SPAN;
  }
}
