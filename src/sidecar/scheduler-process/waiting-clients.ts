/** Whether any client waits for a task, asked of all. In the scheduler's process. */

/** `asked`: asked in this round. `silent`: asked earlier, no answer since; it may be stopped, and is not asked again until it answers. */
type Answer = 'asked' | 'silent' | boolean;

/**
 * ```
 *   ask ─► first   waits      ─► true: the stalled time counts
 *       └► second  waits not  ─► (nothing: another waits)
 *       └► third   is stopped ─► ignored from the next round on
 * ```
 */
export class WaitingClients<C> {
  private readonly _answers = new Map<C, Answer>();

  /** @param tell - true: one waits; false: none does; null: none so far, and not all have answered. */
  constructor(private readonly _tell: (waiting: boolean | null) => void) {}

  /** @returns the clients to ask: those that owe no answer. */
  ask(clients: Iterable<C>): C[] {
    const due: C[] = [];
    for (const client of clients) {
      const last = this._answers.get(client);
      if (last === 'asked' || last === 'silent') {
        this._answers.set(client, 'silent');
      } else {
        this._answers.set(client, 'asked');
        due.push(client);
      }
    }
    return due;
  }

  answered(client: C, waiting: boolean): void {
    this._answers.set(client, waiting);
    if (waiting) {
      this._tell(true);
    } else {
      this._tellUnlessOneWaits();
    }
  }

  /** A client has come, which nobody has asked: those who were asked before may be stopped, and never answer. */
  came(): void {
    this._tell(null);
  }

  /** A client has gone; the others may all have answered. */
  left(client: C): void {
    if (this._answers.delete(client)) {
      this._tellUnlessOneWaits();
    }
  }

  private _tellUnlessOneWaits(): void {
    const answers = [...this._answers.values()];
    if (!answers.includes(true)) {
      this._tell(answers.includes('asked') ? null : false);
    }
  }
}
