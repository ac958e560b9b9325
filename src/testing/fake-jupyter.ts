/**
 * What a Jupyter server with Spanwise is to a program beside it: a connection file in the runtime folder, a doorbell, and a real observer in
 * a process of its own (`node spanwise/node/spanwise.cjs observer`; bundle it first).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { dial } from '../link/dial';
import { Door } from '../link/door';
import type { Link } from '../link/link';
import { PROTOCOL } from '../wire/handshake-messages';
import type { ClusterInfo, ViewResult } from '../wire/panel-link';
import type { Message } from '../wire/schema';
import { firstLine } from './first-line';
import { waitFor } from './wait-for';

const PROGRAM = resolve(__dirname, '../../spanwise/node/spanwise.cjs');
const observerSecret = Buffer.alloc(32, 7);
const doorbellSecret = Buffer.alloc(32, 9);
const PRIVATE = { mode: 0o600 };

type Down = Message<'panel', 'down'>;

export class FakeJupyter {
  /** To be put into the environment of programs. */
  readonly runtimeFolder: string;
  readonly folder: string;
  readonly connectionFile: string;
  readonly observerFolder: string;
  /** How often somebody rang. */
  rings = 0;
  /** Answered instead of the observer. */
  refusal: string | null = null;
  private _observer: ChildProcess | null = null;
  private _address = '';
  private _door: Door<'doorbell'> | null = null;
  private _panel: Link<'panel', 'up'> | null = null;
  private readonly _received: Down[] = [];
  private _nextWatch = 1;

  /** @param program - of the observer; another one in tests of this. */
  static async start(program = PROGRAM): Promise<FakeJupyter> {
    const jupyter = new FakeJupyter(program);
    await jupyter._hangDoorbell();
    try {
      await jupyter.startObserver();
    } catch (error) {
      await jupyter.close();
      throw error;
    }
    return jupyter;
  }

  private constructor(private readonly _program: string) {
    const home = mkdtempSync(join(tmpdir(), 'spanwise-jupyter-'));
    this.runtimeFolder = join(home, 'runtime');
    this.folder = join(home, 'server');
    this.observerFolder = join(this.folder, 'observer');
    this.connectionFile = join(this.runtimeFolder, 'spanwise-1-aa.json');
    mkdirSync(this.runtimeFolder, { mode: 0o700 });
    mkdirSync(this.folder, { mode: 0o700 });
  }

  /** Starts the observer, or the next one where the last one was. */
  async startObserver(): Promise<void> {
    rmSync(this.observerFolder, { recursive: true, force: true });
    mkdirSync(this.observerFolder, { mode: 0o700 });
    const write = (name: string, text: string) =>
      writeFileSync(join(this.observerFolder, name), text, PRIVATE);
    write('secret', observerSecret.toString('hex'));
    const child = spawn(
      process.execPath,
      [this._program, 'observer', '--folder', this.observerFolder],
      { stdio: ['pipe', 'pipe', 'inherit'] }
    );
    this._observer = child;
    const settings = {
      protocol: PROTOCOL,
      secretHex: observerSecret.toString('hex'),
      transport: 'unix',
      budgetBytes: 1 << 28
    };
    // (one that ends at once reads nothing: `firstLine` says so)
    child.stdin.on('error', () => undefined);
    child.stdin.write(`${JSON.stringify(settings)}\n`);
    const line = await firstLine(child);
    const said = JSON.parse(line) as { ready: { address: string } };
    this._address = said.ready.address;
    write('address', this._address);
  }

  async killObserver(): Promise<void> {
    const observer = this._observer;
    this._observer = null;
    this.reload();
    // (who has ended before never tells of it again)
    if (observer?.exitCode === null && observer.signalCode === null) {
      const gone = once(observer, 'exit');
      observer.kill('SIGKILL');
      await gone;
    }
  }

  /** It keeps its connections, and neither reads nor answers. */
  pauseObserver(): void {
    this._observer?.kill('SIGSTOP');
  }

  resumeObserver(): void {
    this._observer?.kill('SIGCONT');
  }

  async close(): Promise<void> {
    await this._door?.close();
    await this.killObserver();
    rmSync(join(this.folder, '..'), { recursive: true, force: true });
  }

  // ---- what panels ask

  /** As a page that is loaded again: what is asked next goes over a new link, which is told what the observer knows by then. */
  reload(): void {
    this._panel?.destroy();
    this._panel = null;
  }

  /** The newest facts about the clusters of a name. */
  async clusters(name: string): Promise<ClusterInfo[]> {
    await this._open();
    return this._known(name);
  }

  /** The cluster of a name, once it satisfies. */
  async cluster(
    name: string,
    satisfies: (cluster: ClusterInfo) => boolean = () => true
  ): Promise<ClusterInfo> {
    await this._open();
    return waitFor(`cluster ${name}`, () => this._known(name).find(satisfies));
  }

  /** The answer to one question about a cluster. */
  async ask<V extends ViewResult['view']>(
    cluster: string,
    view: V,
    params: Readonly<Record<string, unknown>> = {}
  ): Promise<Extract<ViewResult, { view: V }>> {
    const link = await this._open();
    const id = this._nextWatch++;
    link.send('watch', { id, cluster, view, params, maxHz: 0 });
    const answer = await waitFor(`answer about ${view}`, () =>
      this._received.find(
        message =>
          (message.type === 'snapshot' || message.type === 'failure') &&
          message.fields.id === id
      )
    );
    if (answer.type !== 'snapshot') {
      throw new Error(JSON.stringify(answer.fields));
    }
    return answer.fields.result as never;
  }

  private _known(name: string): ClusterInfo[] {
    const last = this._received.findLast(({ type }) => type === 'clusters');
    return last?.type === 'clusters'
      ? (last.fields.clusters as unknown as ClusterInfo[]).filter(
          cluster => cluster.name === name
        )
      : [];
  }

  private async _open(): Promise<Link<'panel', 'up'>> {
    if (this._panel === null) {
      const link = await dial({
        address: this._address,
        secret: observerSecret,
        role: 'panel',
        build: 'test'
      });
      this._received.length = 0;
      link.start({
        messages: batch => this._received.push(...batch),
        closed: () => undefined
      });
      this._panel = link;
      await waitFor('the list of clusters', () =>
        this._received.some(({ type }) => type === 'clusters')
      );
    }
    return this._panel;
  }

  private async _hangDoorbell(): Promise<void> {
    const secretFile = join(this.folder, 'doorbell-secret');
    writeFileSync(secretFile, doorbellSecret.toString('hex'), PRIVATE);
    const door = await Door.open<'doorbell'>({
      transport: 'unix',
      folder: this.folder,
      name: 'doorbell',
      secret: doorbellSecret,
      build: 'test',
      roles: ['doorbell'],
      onLink: link =>
        link.start({
          messages: () => {
            this.rings++;
            if (this.refusal !== null) {
              link.refuse('no-observer', this.refusal);
            } else {
              link.send('observer', {
                address: this._address,
                secretFile: join(this.observerFolder, 'secret')
              });
            }
          },
          closed: () => undefined
        })
    });
    this._door = door;
    writeFileSync(
      this.connectionFile,
      JSON.stringify({
        protocol: PROTOCOL,
        build: 'test',
        doorbell: door.address,
        secretFile,
        node: null,
        pid: process.pid,
        folder: this.folder
      }),
      PRIVATE
    );
  }
}
