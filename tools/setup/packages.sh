# Lists the Debian packages that ./quickstart, ./test, tools/bundle and
# tools/doxygen/render need and why, and installs the missing ones. They source
# this file. docs/dependencies.md says more.

# package|why
gradsieve_build_packages=(
  "bazel-bootstrap|Bazel 4.2, the build, with a C++ compiler"
  "libgrpc++-dev|gRPC, how workers and servers talk"
  "libssl-dev|OpenSSL, certificates of workers and servers"
  "protobuf-compiler|protoc, the config and message classes"
  "protobuf-compiler-grpc|protoc's plug-in for services"
  "libprotobuf-dev|Protocol Buffers"
  "libonnx-dev|ONNX's definition, networks from and for other programs"
  "libabsl-dev|Abseil: status, strings, time"
  "libgoogle-glog-dev|glog, the log"
  "libdnnl-dev|oneDNN, convolutions and matrix products on the CPU"
  "libhwy-dev|Highway, vector instructions in the compressors"
  "nlohmann-json3-dev|JSON in metrics, summaries and safetensors"
  "zlib1g-dev|zlib, gzipped data sets"
  "libxxhash-dev|xxHash, digests of weights"
  "libjpeg62-turbo-dev|libjpeg-turbo, photographs in JPEG"
  "libpng-dev|libpng, photographs in PNG"
  "libkissfft-dev|KISS FFT, spectra of speech"
  "prometheus-cpp-dev|prometheus-cpp, metrics"
  "libcpp-httplib-dev|cpp-httplib, which serves metrics"
)
gradsieve_test_packages=(
  "libgtest-dev|GoogleTest"
  "libgmock-dev|GoogleMock, matchers in tests"
  "openssl|openssl, which reads our certificates in a test"
  "prometheus|Prometheus, which reads our metrics in a test"
  "iproute2|ip and tc, slow networks on this machine"
  "openssh-client|ssh, with which a test launches a job on several hosts"
  "openssh-server|sshd, which runs on the hosts of that test"
  "python3-numpy|numpy, with which a test makes images of arrays"
  "python3-pil|Pillow, the same"
  "python3-torch|PyTorch, whose scripts a bridge serves in tests"
  "python3-venv|environments of Python packages, which python_environment.sh makes"
)
gradsieve_bundle_packages=(
  "xz-utils|xz, which makes the archive small"
)
gradsieve_reference_packages=(
  "doxygen|Doxygen, which renders the headers as HTML"
)

# Installs the missing ones of the given "package|why" entries.
install_packages() {
  local entry package missing=()
  for entry in "$@"; do
    package=${entry%%|*}
    if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
        grep -q 'ok installed'; then
      missing+=("$entry")
    fi
  done
  if [ ${#missing[@]} -eq 0 ]; then return 0; fi
  echo "These Debian packages are missing and will be installed with apt:"
  for entry in "${missing[@]}"; do
    printf '  %-24s %s\n' "${entry%%|*}" "${entry#*|}"
  done
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Only root can install packages, and there is no sudo here. Ask an" \
        "administrator to run: apt-get install ${missing[*]%%|*}" >&2
      return 1
    fi
    echo "Installing needs root; sudo may ask for your password."
    sudo=(sudo)
  fi
  "${sudo[@]}" apt-get update -qq || return 1
  # The child sees these variables only if env sets them: sudo drops its own.
  local log
  log=$("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]%%|*}" 2>&1) || {
    tail -n 20 <<<"$log" >&2
    echo "apt-get install failed; the lines above say why." >&2
    return 1
  }
}

require_debian() {
  if ! command -v apt-get >/dev/null; then
    echo "This script installs what it needs with apt-get, which is not here." \
      "It is made for Debian 12; docs/dependencies.md lists what to install" \
      "elsewhere." >&2
    return 1
  fi
}
