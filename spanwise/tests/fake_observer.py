#!/usr/bin/env python
"""Stands in for Node and the observer at once: SPANWISE_NODE names it.

It speaks the real handshake on a real door. To pages it says one cluster, and then what a
`detail` request asks for: the cluster text chooses what happens.
"""

import json
import os
import sys
import threading
from pathlib import Path

from spanwise.wire.door import listen
from spanwise.wire.errors import LinkError


def serve(link):
    running = int(os.environ.get("FAKE_RUNNING_TASKS", "0"))
    clusters = [{"cluster": "c", "state": "running", "running": running, "pid": os.getpid()}]
    try:
        link.send("clusters", {"clusters": clusters})
        while True:
            message = link.read()
            if message.type != "detail":
                continue
            wish = message.fields["cluster"]
            if wish == "die":
                os._exit(3)
            size = int(wish) if wish.isdigit() else 0
            run = {"key": wish, "intro": link.intro, "filler": "x" * size}
            link.send("detail", {"request": message.fields["request"], "run": run})
    except LinkError:
        return


def main():
    if os.environ.get("FAKE_FAILS"):
        print(json.dumps({"failed": os.environ["FAKE_FAILS"]}), flush=True)
        return
    folder = Path(sys.argv[sys.argv.index("--folder") + 1])
    config = json.loads(sys.stdin.readline())
    door = listen(
        folder,
        "observer",
        bytes.fromhex(config["secretHex"]),
        ["panel", "source"],
        serve,
        transport=config["transport"],
    )
    print(json.dumps({"ready": {"address": door.address}}), flush=True)
    # The lifeline: end of file means that the server is gone.
    ended = threading.Thread(target=sys.stdin.read)
    ended.start()
    ended.join()
    door.close()


if __name__ == "__main__":
    main()
