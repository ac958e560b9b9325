/**
 * What the page asks of a notebook's kernel about Dask clusters, and what the answers mean. The first question imports nothing and changes
 * nothing there: it looks whether `distributed` is loaded, and which of its clients are connected. Only attaching imports Spanwise.
 *
 *     user_expressions {answer: exec(TEXT, names) or names["answer"]}     TEXT has names of its own: none appear in the notebook
 *       └─► data["application/json"]                                      an object that shows itself as JSON
 */
import type { KernelMessage } from '@jupyterlab/services';

/** Of one kernel; more are not offered. */
const MOST_CLUSTERS = 20;
/** Of an address, a name, a sentence: longer ones are cut. */
const MOST_LETTERS = 500;
/** Releases of Dask that the wheel takes: the first, and the first that it does not. With others only the bridge to Dask clusters is sure to run. */
const FIRST_DASK = [2026, 1, 1];
const BEYOND_DASK = [2026, 9];

/** A Dask cluster that a client in the kernel is connected to. */
export type KernelCluster = {
  readonly address: string;
  readonly workers: number;
  readonly threads: number;
  /** The address of Dask's own dashboard; '' if it has none. */
  readonly dashboard: string;
  /** The id under which Spanwise shows it already; '' if it does not. */
  readonly shownAs: string;
};

/** What a kernel that was asked to attach, or to let go, has said. */
export type Attached =
  | { readonly cluster: string }
  | { readonly problem: string };

/** The files of a TLS connection, as the kernel sees them. */
export type TlsFiles = {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
};

/** Nothing here asks the scheduler: one that does not answer must not hold the kernel. So not `client.dashboard_link`, which may ask it. */
const SEEN = `
def dashboard(client, told, address):
    import sys
    own = getattr(getattr(client, "cluster", None), "dashboard_link", None)
    port = (told.get("services") or {}).get("dashboard")
    if own or not port:
        return str(own or "")
    protocol, _, rest = address.partition("://")
    host = "localhost" if protocol == "inproc" else rest.partition(":")[0]
    return str(sys.modules["distributed.utils"].format_dashboard_link(host, port))
def look():
    import sys
    clients = getattr(sys.modules.get("distributed"), "Client", None)
    bridge = sys.modules.get("spanwise.dask_bridge.attach")
    shown = bridge.shown() if bridge is not None else {}
    found = {}
    for client in list(getattr(clients, "_instances", ())):
        scheduler = getattr(client, "scheduler", None)
        if getattr(client, "status", "") != "running" or scheduler is None:
            continue
        told = getattr(client, "_scheduler_identity", None) or {}
        workers = list((told.get("workers") or {}).values())
        address = str(scheduler.address)
        found[address] = {
            "address": address,
            "workers": int(told.get("n_workers", len(workers))),
            "threads": int(
                told.get("total_threads", sum(each.get("nthreads", 0) for each in workers))
            ),
            "dashboard": dashboard(client, told, address),
            # (a scheduler may have several addresses)
            "shownAs": str(shown.get(told.get("id")) or shown.get(address, "")),
        }
    return {"clusters": list(found.values())[:${MOST_CLUSTERS}]}
`;

const ATTACH = `
def look():
    try:
        from spanwise.dask_bridge.in_kernel import attach_here
    except ImportError as error:
        import sys
        dask = sys.modules.get("dask")
        return {"missing": str(error), "dask": str(getattr(dask, "__version__", ""))}
    return attach_here(**arguments)
`;

const LET_GO = `
def look():
    from spanwise.dask_bridge.in_kernel import let_go_here
    return let_go_here(**arguments)
`;

/** Runs `look` of a text; what it raises is told, not printed into the notebook. */
const ANSWER = `
def answered():
    try:
        return look()
    except Exception as error:
        return {"problem": f"{type(error).__name__}: {error}"}
class Answer:
    def __init__(self, told):
        self.told = told
    def __repr__(self):
        return "Spanwise"
    def _repr_json_(self):
        return self.told
answer = Answer(answered())
`;

/** The expression of the first question. */
export function seenExpression(): string {
  return expression(SEEN, '');
}

/** The expression that attaches to a cluster. */
export function attachExpression(address: string, tls?: TlsFiles): string {
  return expression(
    ATTACH,
    argumentsOf({
      address,
      ca_file: tls?.ca ?? '',
      cert_file: tls?.certificate ?? '',
      key_file: tls?.key ?? ''
    })
  );
}

/** The expression that has the kernel watch a cluster no more. */
export function letGoExpression(cluster: string): string {
  return expression(LET_GO, argumentsOf({ cluster }));
}

function argumentsOf(words: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(words).map(
    ([name, word]) => `${JSON.stringify(name)}: ${pythonText(word)}`
  );
  return `arguments = {${pairs.join(', ')}}\n`;
}

function expression(text: string, head: string): string {
  const whole = pythonText(head + text + ANSWER);
  return `(lambda names: exec(${whole}, names) or names["answer"])({})`;
}

/** A literal of Python. JSON's is one but for halves of a surrogate pair, which no address has. */
function pythonText(text: string): string {
  return JSON.stringify(text);
}

/** The clusters of an answer; what cannot be read is left out. */
export function readSeen(
  content: KernelMessage.IExecuteReplyMsg['content']
): readonly KernelCluster[] {
  const clusters = answerOf(content)?.['clusters'];
  return Array.isArray(clusters)
    ? clusters.slice(0, MOST_CLUSTERS).flatMap(each => {
        const { address, workers, threads, dashboard, shownAs } =
          fieldsOf(each);
        return textOf(address) === ''
          ? []
          : [
              {
                address: textOf(address),
                workers: countOf(workers),
                threads: countOf(threads),
                dashboard: textOf(dashboard),
                shownAs: textOf(shownAs)
              }
            ];
      })
    : [];
}

/**
 * What came of attaching, or of letting go.
 * @param install - the sentence for a kernel without Spanwise, whose Dask is none that the wheel takes, or is one
 */
export function readAttached(
  content: KernelMessage.IExecuteReplyMsg['content'],
  install: (otherDask: string | null) => string,
  unreadable: string
): Attached {
  const answer = answerOf(content);
  const cluster = textOf(answer?.['cluster']);
  if (cluster !== '') {
    return { cluster };
  }
  if (answer?.['missing'] !== undefined) {
    const dask = textOf(answer['dask']);
    return { problem: install(isOutside(dask) ? dask : null) };
  }
  const problem = textOf(answer?.['problem']);
  return { problem: problem === '' ? unreadable : problem };
}

/** Whether pip would put another Dask in its place with Spanwise, and leave a `distributed` that does not run with that. */
function isOutside(dask: string): boolean {
  const release = dask.split('.').map(Number.parseFloat);
  return (
    !Number.isNaN(release[0]) &&
    (isBefore(release, FIRST_DASK) || !isBefore(release, BEYOND_DASK))
  );
}

function isBefore(
  release: readonly number[],
  bound: readonly number[]
): boolean {
  const at = bound.findIndex((part, place) => (release[place] ?? 0) !== part);
  return at >= 0 && (release[at] ?? 0) < bound[at]!;
}

function answerOf(
  content: KernelMessage.IExecuteReplyMsg['content']
): Readonly<Record<string, unknown>> | null {
  if (content.status !== 'ok') {
    return null;
  }
  const { data } = fieldsOf(content.user_expressions['answer']);
  const answer = fieldsOf(data)['application/json'];
  return typeof answer === 'object' && answer !== null
    ? fieldsOf(answer)
    : null;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MOST_LETTERS) : '';
}

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
    ? value
    : 0;
}
