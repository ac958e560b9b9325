/**
 * The clients of the cluster: who may come, who is told what, and what ends with each. In the scheduler's process.
 *
 * The owner has started this process: it is the first, and with it the cluster ends. Guests come with the cluster's secret, which is in a
 * file that only its user can read; with a guest only what is its own ends.
 */
import { realpathSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import { LARGEST_U16, LARGEST_U32 } from '../../records/enumerations';
import { NamesOf } from '../../sources';
import { BrokenFrame, type WrongMessage } from '../../wire/broken-frame';
import { clientIntro, type ClientIntro } from '../../wire/client-link';
import type { LaunchSpec } from '../../wire/cluster-settings';
import { HandshakeRefused, type Intro } from '../../wire/handshake';
import type { FieldsInput, Message, TypeOf } from '../../wire/schema';
import { check } from '../../wire/validate';
import type { AcceptedLink } from '../../link/door';
import { ClientSession, type IClientHost, OWNER } from './client-messages';
import type { ClusterState, Launch } from './cluster-state';
import type { Phase } from './roster';
import { WaitingClients } from './waiting-clients';

/** More clients than this were most likely opened by mistake, in a loop. */
const MOST_CLIENTS = 256;
/** As the wire and the log hold them. */
const MOST_NUMBERS = LARGEST_U16;
/** Packages whose version clients and workers must share, since pickles of one are opened by the other. */
const SHARED_PACKAGES = ['python', 'dask', 'cloudpickle', 'numpy', 'pandas'];

/**
 * What these say is built upon: without one of them the client's tasks and the scheduler's would no longer be the same. Any other message
 * that cannot be is left out alone.
 */
const BUILT_UPON: ReadonlySet<string> = new Set<TypeOf<'client', 'up'>>([
  'submit',
  'spans',
  'scattered',
  'adopt',
  'forget',
  'want',
  'release',
  'keep',
  'retry',
  'cancel',
  'discard',
  'close'
]);

interface IClientRosterHost extends IClientHost {
  readonly phase: Phase;
  gather(act: () => void): void;
  /** The cluster's owner has gone. */
  ownerLeft(): void;
  /** A guest has gone. */
  guestLeft(client: ClientSession): void;
  /** A client has come, has gone, or has said something. */
  used(): void;
  note(sentence: string): void;
}

export class ClientRoster {
  private readonly _sessions = new Map<number, ClientSession>();
  private readonly _links = new Map<number, AcceptedLink<'client'>>();
  /** Warnings from before a client came. */
  private readonly _unsaid: string[] = [];
  private _next = OWNER + 1;
  private _ownerCame = false;
  /** The owner was turned away for what it said, and others compute on. */
  private _isOrphaned = false;
  readonly waiting: WaitingClients<ClientSession>;

  /**
   * @param _launch - what the workers were started with.
   * @param _isServers - the owner is a Jupyter server, which computes nothing.
   */
  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: IClientRosterHost,
    private readonly _name: string,
    private readonly _launch: LaunchSpec,
    private readonly _isServers: boolean,
    tellWaiting: (waiting: boolean | null) => void
  ) {
    this.waiting = new WaitingClients(tellWaiting);
  }

  /** Changes when a client comes or goes. */
  get seen(): number {
    return 2 * this._next - this._links.size;
  }

  /** See `ClientSession.closeIdleSpan`. */
  closeIdleSpans(): void {
    for (const session of this._sessions.values()) {
      session.closeIdleSpan();
    }
  }

  /** Where each client's reports go. */
  get links(): ReadonlyMap<number, AcceptedLink<'client'>> {
    return this._links;
  }

  /**
   * The number that the client has from now on.
   *
   * @throws HandshakeRefused
   */
  admit(intro: Intro): number {
    const { guest, launch, worker } = check(
      clientIntro,
      intro,
      'What the client says of itself'
    );
    if (this._host.phase === 'closing') {
      throw new HandshakeRefused(
        'closing',
        `The cluster ${this._name} is closing; make a new one with Client().`
      );
    }
    if (!guest) {
      if (this._ownerCame) {
        throw busy(
          `The cluster ${this._name} belongs to another client; make one with Client().`
        );
      }
      this._ownerCame = true;
      return OWNER;
    }
    if (worker !== null && !this._cluster.workers.has(worker)) {
      throw busy(
        `The cluster ${this._name} has no worker ${worker}, whose client this would be.`
      );
    }
    if (worker === null && this._programs >= MOST_CLIENTS) {
      throw busy(
        `The cluster ${this._name} has ${MOST_CLIENTS} clients, the most that it takes: close some, or make another cluster with Client().`
      );
    }
    if (this._next >= MOST_NUMBERS) {
      throw busy(
        `The cluster ${this._name} has given out all its ${MOST_NUMBERS} client numbers: make another cluster with Client().`
      );
    }
    const difference = environmentsDiffer(this._launch, launch);
    if (difference !== '') {
      throw new HandshakeRefused(
        'environment',
        `${difference} Run this program in the environment of the cluster ${this._name}, or make a cluster of your own with Client().`
      );
    }
    return this._next++;
  }

  /** Clients that are programs of their own; those of workers are as many as these. */
  private get _programs(): number {
    let count = 0;
    for (const { worker } of this._sessions.values()) {
      count += worker === null ? 1 : 0;
    }
    return count;
  }

  came(link: AcceptedLink<'client'>, id: number): void {
    this._host.used();
    const names = new NamesOf(this._cluster.log.names, false);
    const session = new ClientSession(
      link,
      this._cluster,
      names,
      this._host,
      id,
      workerOf(link.intro)
    );
    this._sessions.set(id, session);
    this._links.set(id, link);
    this._logUser(session, null);
    this._cluster.events.clientCame(id);
    this.waiting.came();
    link.start({
      messages: batch => this._host.gather(() => this._take(session, batch)),
      wrong: message => this._isLeftOut(session, message),
      closed: () => this._host.gather(() => this._left(session))
    });
    if (this._isTold(session)) {
      this._unsaid.splice(0).forEach(sentence => this.warn(sentence));
    }
  }

  /** Says something to all. */
  tell<T extends TypeOf<'client', 'down'>>(
    type: T,
    fields: FieldsInput<'client', 'down', T>
  ): void {
    for (const link of this._links.values()) {
      link.send(type, fields);
    }
  }

  flush(): void {
    for (const link of this._links.values()) {
      link.flush();
    }
  }

  warn(sentence: string): void {
    if (![...this._sessions.values()].some(each => this._isTold(each))) {
      this._unsaid.push(sentence);
    } else {
      this.tell('problem', { sentence });
      this.flush();
    }
  }

  /** Asks who waits for a task. */
  askWhetherTheyWait(): void {
    const asked = [...this._sessions.values()].filter(
      ({ id }) => id !== OWNER || !this._isServers
    );
    for (const { link } of this.waiting.ask(asked)) {
      link.send('stalled', {});
      link.flush();
    }
  }

  askForUnused(): void {
    const excess = this._cluster.blobs.takeExcess();
    if (excess.length > 0) {
      for (const session of this._sessions.values()) {
        session.askForUnused(excess);
      }
    }
  }

  /** A client has said goodbye: the owner ends the cluster, a guest leaves it. */
  goodbye(session: ClientSession): void {
    session.isLeaving = true;
    session.link.send('closed', {});
    session.link.close('It said goodbye.');
  }

  /** How many clients compute here beside this one. */
  othersThan(session: ClientSession): number {
    return [...this._sessions.values()].filter(
      other => this._isUser(other) && other !== session && !other.isLeaving
    ).length;
  }

  /** What a client is called where others are told of it. */
  nameOf(session: ClientSession): string {
    const { notebook } = this._introOf(session);
    return notebook?.path === undefined
      ? 'another of its clients'
      : `the notebook ${basename(notebook.path)}`;
  }

  isOwner(session: ClientSession): boolean {
    return session.id === OWNER;
  }

  /** Where workers look for modules, and what they import ahead: the owner's first, since they work in its folder. */
  launch(): Launch {
    const base = this._sessions.get(OWNER)?.launch ?? {
      path: this._launch.path,
      cwd: this._launch.cwd,
      modules: this._launch.modules
    };
    const path = new Set(base.path);
    const modules = new Set(base.modules);
    for (const { id, launch } of this._sessions.values()) {
      if (id !== OWNER && launch !== null) {
        for (const folder of launch.path) {
          // '' and relative paths mean folders of the guest's.
          path.add(isAbsolute(folder) ? folder : join(launch.cwd, folder));
        }
        launch.modules.forEach(module => modules.add(module));
      }
    }
    return { path: [...path], cwd: base.cwd, modules: [...modules] };
  }

  close(why: string): void {
    for (const link of this._links.values()) {
      link.close(why);
    }
  }

  /** It shows people what it is told, and is a program of its own. */
  private _isTold({ id, worker }: ClientSession): boolean {
    return worker === null && (id !== OWNER || !this._isServers);
  }

  /** It computes, and is a program of its own. */
  private _isUser(session: ClientSession): boolean {
    return this._isTold(session) && this._introOf(session).computes;
  }

  private _logUser(session: ClientSession, left: number | null): void {
    if (this._isUser(session)) {
      const { log } = this._cluster;
      log.client(session.id, this._introOf(session), session.cameAt, left);
    }
  }

  private _introOf({ link }: ClientSession): ClientIntro {
    return check(clientIntro, link.intro, 'What the client says of itself');
  }

  private _take(
    session: ClientSession,
    batch: readonly Message<'client', 'up'>[]
  ): void {
    // Clients ask for the clock by themselves, also when nobody uses them.
    if (batch.some(({ type }) => type !== 'askClock')) {
      this._host.used();
    }
    for (const message of batch) {
      try {
        session.take(message);
      } catch (error) {
        if (error instanceof BrokenFrame) {
          const { type, fields } = message;
          const { message: sentence } = error;
          if (this._isLeftOut(session, { type, fields, message: sentence })) {
            continue;
          }
          session.link.refuse('broken-frame', sentence);
          return;
        }
        throw error;
      }
    }
  }

  /** Tells the sender of a message that is not taken; false: it cannot go on without it. */
  private _isLeftOut(
    { link }: ClientSession,
    { type, fields, message }: Pick<WrongMessage, 'type' | 'fields' | 'message'>
  ): boolean {
    this._host.note(message);
    if (BUILT_UPON.has(type)) {
      return false;
    }
    const { request } = (fields ?? {}) as { readonly request?: unknown };
    const isNumber =
      Number.isInteger(request) &&
      (request as number) >= 0 &&
      (request as number) <= LARGEST_U32;
    link.send('problem', {
      sentence: `The scheduler has not taken a message, for it cannot be: ${message}`,
      request: isNumber ? (request as number) : null
    });
    link.flush();
    return true;
  }

  private _left(session: ClientSession): void {
    this._host.used();
    this._sessions.delete(session.id);
    this._links.delete(session.id);
    this._cluster.shared.clientLeft(session.link);
    this._logUser(session, this._cluster.clock());
    if (this._host.phase === 'closing') {
      return;
    }
    session.leave();
    this._cluster.events.clientLeft(session.id);
    if (this.isOwner(session)) {
      // It has not ended: what others compute is theirs.
      this._isOrphaned =
        session.link.refusal?.by === 'us' && this.othersThan(session) > 0;
      if (this._isOrphaned) {
        this.warn(
          `The program that started the cluster was turned away for what it said (${session.link.refusal?.sentence}). The cluster ends with the last of its other clients.`
        );
      } else {
        this._host.ownerLeft();
      }
      return;
    }
    this._host.guestLeft(session);
    if (this._isOrphaned && this.othersThan(session) === 0) {
      this._host.ownerLeft();
      return;
    }
    this.waiting.left(session);
    if (session.launch !== null) {
      this._host.launchChanged();
    }
  }
}

/** The worker in whose process a client is, as it was admitted; null: in a program of its own. */
function workerOf(intro: Intro): number | null {
  const worker: unknown = intro['worker'];
  return typeof worker === 'number' ? worker : null;
}

function busy(sentence: string): HandshakeRefused {
  return new HandshakeRefused('busy', sentence);
}

type Environment = {
  readonly executable: string;
  readonly prefix?: string | undefined;
  readonly versions: object;
};

/** How a client's environment differs from the workers', as a sentence; empty: not at all. */
function environmentsDiffer(workers: Environment, client: Environment): string {
  // (who says nothing of it has an older Spanwise)
  const arePrefixesKnown =
    workers.prefix !== undefined && client.prefix !== undefined;
  const [own, other] = [
    facts(workers, arePrefixesKnown),
    facts(client, arePrefixesKnown)
  ];
  if (own === other) {
    return '';
  }
  return `This cluster's workers run in another environment than this client. Workers: ${own}. Client: ${other}.`;
}

function facts(
  { executable, prefix = '', versions }: Environment,
  withPrefix: boolean
): string {
  const of = versions as Readonly<Record<string, unknown>>;
  const listed = SHARED_PACKAGES.filter(name => of[name] !== undefined).map(
    name => `${name} ${String(of[name])}`
  );
  const where = withPrefix ? [`packages of ${realPath(prefix)}`] : [];
  return [realPath(executable), ...where, ...listed].join(', ');
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is not there (any more): what it is called is all that is known of it.
    return path;
  }
}
