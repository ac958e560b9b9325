/** A graph with what its tasks take and make: what a cluster would find out by running it. Tasks are numbers from 0, inputs before users. */
export type SimulatedGraph = {
  readonly name: string;
  /** By function. */
  readonly functions: readonly string[];
  readonly functionIds: Uint32Array;
  /** For which the task holds a thread. */
  readonly seconds: Float64Array;
  /** Size of the result in bytes. */
  readonly nbytes: Float64Array;
  /** Task i's inputs are `inputs[firstInput[i]]` up to `inputs[firstInput[i + 1]]`. */
  readonly firstInput: Uint32Array;
  readonly inputs: Int32Array;
  /** 1: its result is kept until all are there. */
  readonly wanted: Uint8Array;
};

/** Takes down a graph task by task; what nobody uses is wanted. */
export class GraphBuilder {
  private readonly _functions: string[] = [];
  private readonly _functionIds: number[] = [];
  private readonly _seconds: number[] = [];
  private readonly _nbytes: number[] = [];
  private readonly _firstInput: number[] = [0];
  private readonly _inputs: number[] = [];

  /** @returns the task's number. */
  add(
    name: string,
    seconds: number,
    nbytes: number,
    inputs: readonly number[] = []
  ): number {
    let id = this._functions.indexOf(name);
    if (id === -1) {
      id = this._functions.push(name) - 1;
    }
    this._functionIds.push(id);
    this._seconds.push(seconds);
    this._nbytes.push(nbytes);
    this._inputs.push(...inputs);
    this._firstInput.push(this._inputs.length);
    return this._functionIds.length - 1;
  }

  build(name: string): SimulatedGraph {
    const wanted = new Uint8Array(this._functionIds.length).fill(1);
    this._inputs.forEach(input => (wanted[input] = 0));
    return {
      name,
      functions: this._functions,
      functionIds: Uint32Array.from(this._functionIds),
      seconds: Float64Array.from(this._seconds),
      nbytes: Float64Array.from(this._nbytes),
      firstInput: Uint32Array.from(this._firstInput),
      inputs: Int32Array.from(this._inputs),
      wanted
    };
  }
}
