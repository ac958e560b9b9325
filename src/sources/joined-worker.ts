/** A worker as it joins. */
export type JoinedWorker = {
  readonly worker: number;
  readonly pid: number;
  readonly threads: number;
  readonly memoryLimit: number;
  readonly name: string;
  readonly address: string;
  readonly host: string;
};
