# Makes virtual environments of Python packages. Scripts source this file:
#
#   folder=$(python_environment NAME REQUIREMENTS [PROGRAM]) || exit
#
# prints the folder of the environment, whose Python is $folder/bin/python. The file
# REQUIREMENTS names every package with its version and its hashes; it says for which
# versions of Python. PROGRAM is called with the folder when they are installed. The
# folder is in ~/.cache/gradsieve/NAME, one for each such file, program and Python, and
# is made once: later calls need no network. Says what is missing and returns 69 if the
# environment cannot be made.
python_environment() {
  local name=$1 version key folder
  shift
  if ! version=$(python3 -c 'import sys; print(sys.prefix, sys.version)'); then
    echo "python3 is not installed or does not work" >&2
    return 69
  fi
  key=$({ echo "$version"; cat "$@"; } | sha256sum | cut -c 1-16)
  folder=${XDG_CACHE_HOME:-$HOME/.cache}/gradsieve/$name/$key
  if [ ! -e "$folder/complete" ]; then
    make_python_environment "$folder" "$@" >&2 || return 69
  fi
  echo "$folder"
}

# Fills the folder, while others who want it wait.
make_python_environment() (
  folder=$1 requirements=$2 program=${3:-true}
  if ! python3 -c 'import venv, ensurepip; ensurepip.version()' 2>/dev/null; then
    echo "$(command -v python3) cannot make virtual environments; on Debian:" \
      "apt-get install python3-venv"
    exit 1
  fi
  mkdir -p "${folder%/*}" && exec 9>"$folder.lock" && flock 9 || exit
  [ ! -e "$folder/complete" ] || exit 0
  echo "Installing the packages of $requirements into $folder"
  rm -rf "$folder"
  python3 -m venv "$folder" || exit
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --require-hashes --no-deps --only-binary=:all: --requirement="$requirements" || {
    echo "pip could not install the packages of $requirements; the lines above say" \
      "why. It needs PyPI or a mirror of it."
    exit 1
  }
  "$program" "$folder" && touch "$folder/complete"
)
