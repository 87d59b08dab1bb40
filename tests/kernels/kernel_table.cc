// Usage: kernel_table FILE...
//
// Prints what the machine code of each kernel in object files or programs says
// about its speed (machine_code.h). nvcc must have been given --no-compress.

#include <cstdio>

#include "tests/kernels/machine_code.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto kernels = ps::ReadKernels(argv[i]);
    if (!kernels.ok()) {
      std::fprintf(stderr, "kernel_table: %s\n",
                   kernels.status().ToString().c_str());
      return 1;
    }
    std::fputs(ps::KernelTable(*kernels).c_str(), stdout);
  }
  return 0;
}
