import { BoxKind, membersOf, PartKind, RunStatus } from './enumerations';

/** {@link PartKind} → {@link BoxKind}, the kind that a part is drawn and counted as. */
const BOX_OF_PART_KIND: Readonly<Record<PartKind, BoxKind>> = {
  [PartKind.Transfer]: BoxKind.Transfer,
  [PartKind.DiskRead]: BoxKind.Disk,
  [PartKind.Deserialize]: BoxKind.Serialize,
  [PartKind.Compute]: BoxKind.Compute,
  [PartKind.Serialize]: BoxKind.Serialize,
  [PartKind.DiskWrite]: BoxKind.Disk,
  [PartKind.Import]: BoxKind.Import
};
/** The same by number, for rows as they come. */
export const BOX_OF_PART: readonly (BoxKind | undefined)[] = Array.from(
  { length: 1 + Math.max(...membersOf(PartKind).map(([, kind]) => kind)) },
  (_, kind) => BOX_OF_PART_KIND[kind as PartKind]
);
/** The same by the part's word, for answers. */
export const BOX_OF_PART_WORD: ReadonlyMap<string, BoxKind> = new Map(
  membersOf(PartKind).map(([word, kind]) => [
    word,
    BOX_OF_PART_KIND[kind as PartKind]
  ])
);

/** The kind that a run is drawn as. */
export function boxOfRun(status: RunStatus): BoxKind {
  switch (status) {
    case RunStatus.Failed:
    case RunStatus.Lost:
      return BoxKind.Failed;
    case RunStatus.Cancelled:
      return BoxKind.Cancelled;
    default:
      return BoxKind.Compute;
  }
}
/** The same by the status's word. */
export const BOX_OF_RUN_WORD: ReadonlyMap<string, BoxKind> = new Map(
  membersOf(RunStatus).map(([word, status]) => [word, boxOfRun(status)])
);

/** Whether boxes of a kind are told apart by their function, and have its colour and name. */
export function isBoxOfFunction(kind: number): boolean {
  return (
    kind === BoxKind.Compute ||
    kind === BoxKind.Seceded ||
    kind === BoxKind.Cancelled
  );
}
