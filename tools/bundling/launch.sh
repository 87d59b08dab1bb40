# Starts a program of the bundle. The launchers that replace the programs source
# this file with root (the bundle's folder) and self (the launcher) set.
#
# The program, elf/NAME beside the launcher, runs under the bundle's own loader and
# C library, so the system's may be older, newer or missing. The path is an
# option of the loader and not LD_LIBRARY_PATH, because programs of the system
# that are started from here must not get the bundle's libraries.
#
# After the bundle's own libraries come the folders where the driver and CUDA's
# libraries may be. Libraries in /etc/ld.so.cache are found without them.
libraries=$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
libraries=$libraries${CUDA_HOME:+:$CUDA_HOME/lib64}:/usr/local/cuda/lib64
libraries=$libraries:/usr/local/nvidia/lib64:/usr/lib/wsl/lib:/run/opengl-driver/lib
if [ ! -x "$root/lib/ld-linux-x86-64.so.2" ]; then
  echo "$self: $root/lib/ld-linux-x86-64.so.2 is missing; $root/self_check lists everything that is" >&2
  exit 127
fi
exec "$root/lib/ld-linux-x86-64.so.2" --library-path "$libraries" \
  --argv0 "$self" "${self%/*}/elf/${self##*/}" "$@"
