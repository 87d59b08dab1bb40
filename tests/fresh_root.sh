#!/usr/bin/env bash
# Repeats what a new user does, in a new minimal Debian 12 root that holds the
# clone and nothing else: ./quickstart, then ./test; as root, or as an ordinary
# user with sudo. Prints the seconds of each step.
#
#   sudo tests/fresh_root.sh [--user] [--no-test] [--keep] [--cache=DIR] [ROOT]
#
# --cache=DIR keeps compiled objects there between runs: for trying the same
# steps as another user, not for timing them.
#
# Needs root, mmdebstrap and a Debian mirror (the one of /etc/apt is used). It is
# not part of ./test: it installs a system and takes about as long as CI.
set -euo pipefail
cd "$(dirname "$0")/.."

as_user=no
with_test=yes
keep=no
cache=
root=
for argument in "$@"; do
  case $argument in
    --user) as_user=yes ;;
    --no-test) with_test=no ;;
    --keep) keep=yes ;;
    --cache=*) cache=${argument#--cache=} ;;
    -*) sed -n '2,14p' "$0"; exit 64 ;;
    *) root=$argument ;;
  esac
done
if [ "$(id -u)" -ne 0 ]; then
  echo "tests/fresh_root.sh: makes a root file system, so it must be run by root" >&2
  exit 1
fi
command -v mmdebstrap >/dev/null || {
  echo "tests/fresh_root.sh: needs mmdebstrap (apt-get install mmdebstrap)" >&2
  exit 1
}
[ -n "$root" ] || root=$(mktemp -d)/root
mkdir -p "$(dirname "$root")"

unmount() {
  for place in cache dev proc sys; do
    if mountpoint -q "$root/$place"; then umount -lR "$root/$place"; fi
  done
}
cleanup() {
  unmount
  if [ $keep = no ]; then rm -rf --one-file-system "$root"; fi
}
trap cleanup EXIT

step() {
  local name=$1 start=$SECONDS
  shift
  "$@"
  echo "== $name: $((SECONDS - start)) s"
}

make_root() {
  # The packages that a "minbase" has, and what every machine with users has.
  mmdebstrap --quiet --variant=minbase --include=ca-certificates,sudo \
    bookworm "$root"
  # The mirror of this machine, whatever it is.
  rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
  for file in /etc/apt/sources.list /etc/apt/sources.list.d \
      /etc/apt/apt.conf.d; do
    if [ -e "$file" ]; then cp -aT "$file" "$root$file"; fi
  done
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  mount -t proc proc "$root/proc"
  mount -t sysfs sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount --make-rslave "$root/dev"
}

# With nothing of this machine's environment.
inside() {
  local clean=(env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    LANG=C.UTF-8)
  if [ $as_user = yes ]; then
    chroot "$root" "${clean[@]}" sudo -u tester -H \
      bash -c "cd /home/tester/gradsieve && $1"
  else
    chroot "$root" "${clean[@]}" HOME=/root \
      bash -c "cd /root/gradsieve && $1"
  fi
}

home=/root
[ $as_user = yes ] && home=/home/tester
step "make a minimal Debian 12" make_root
if [ $as_user = yes ]; then
  chroot "$root" useradd --create-home --shell /bin/bash tester
  echo 'tester ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/tester"
fi
git clone --quiet --no-hardlinks . "$root$home/gradsieve"
if [ $as_user = yes ]; then
  chroot "$root" chown -R tester:tester "$home/gradsieve"
fi
if [ -n "$cache" ]; then
  mkdir -p "$cache" "$root/cache" "$root$home/.cache/gradsieve"
  chmod 777 "$cache"
  mount --bind "$cache" "$root/cache"
  ln -s /cache "$root$home/.cache/gradsieve/bazel"
  if [ $as_user = yes ]; then
    chroot "$root" chown -R tester:tester "$home/.cache"
  fi
fi

step "./quickstart, from nothing to a trained model" inside "./quickstart"
if [ $with_test = yes ]; then step "./test" inside "./test"; fi
