"""JupyterLab as the browser tests want it. Never for people: it asks for no token.

Most tests sign in nowhere and send no XSRF cookie; the server `guarded`
wants both, as JupyterLab does by default. The server listens on
127.0.0.1 only, on a port picked for this run, in a folder of its own.
"""

# ruff: noqa: F821
from __future__ import annotations

import os
import shutil
from pathlib import Path

name = os.environ["SPANWISE_BROWSER_SERVER"]
folder = Path.cwd() / "servers" / name
shutil.rmtree(folder, ignore_errors=True)
for part in ("root", "workspaces", "settings"):
    (folder / part).mkdir(parents=True)

c = get_config()  # type: ignore[name-defined]
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.port = int(os.environ["SPANWISE_BROWSER_PORT"])
c.ServerApp.port_retries = 0
c.ServerApp.base_url = os.environ["SPANWISE_BROWSER_BASE_URL"]
c.ServerApp.open_browser = False
c.ServerApp.root_dir = str(folder / "root")
c.FileContentsManager.delete_to_trash = False
if name == "guarded":
    c.IdentityProvider.token = os.environ["SPANWISE_BROWSER_TOKEN"]
else:
    c.ServerApp.disable_check_xsrf = True
    c.IdentityProvider.token = ""
c.ServerApp.password = ""

c.LabApp.workspaces_dir = str(folder / "workspaces")
c.LabApp.user_settings_dir = str(folder / "settings")
c.LabApp.news_url = None
# To look for language servers starts npm.
c.LanguageServerManager.autodetect = False
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
# Tests drive JupyterLab through `window.jupyterapp` where a click is not what they are about.
c.LabApp.expose_app_in_browser = True
