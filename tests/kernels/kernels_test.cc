// Bounds on the machine code of every kernel of the program. What a kernel's
// code must do to be fast can be read without a device: it must not spill
// registers, threads enough must fit on a multiprocessor, and the loads of a
// pass over memory must be issued together.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/kernels/machine_code.h"

namespace ps {
namespace {

#ifndef PS_HAVE_CUDA
TEST(Kernels, KeepTheirBounds) { GTEST_SKIP() << "built without CUDA"; }
#else

struct Bounds {
  // The kernel's name, or a part of it. The first line that fits holds.
  absl::string_view kernel;
  // The most bytes that the kernel itself, and the functions that it calls, may
  // store to local memory: spilled registers, and arrays that a variable
  // indexes.
  int64_t spilled_bytes = 0;
  int64_t outlined_spilled_bytes = 0;
  // The fewest threads that must fit on a multiprocessor.
  int resident_threads = 1024;
  // The fewest bytes that each thread must have in flight where it loads most.
  int in_flight_bytes = 0;
  // The most loads in turn that may wait for each other. The compiler unrolls
  // loops four times, whose iterations wait for each other where it cannot know
  // that arrays do not overlap.
  int loads_in_turn = 20;
};

// A tile has 16 floats for each thread, all of which must be loaded at once,
// and for lists 16 offsets, which are loaded one by one.
constexpr int kTileBytes = 64;
constexpr int kTileItems = 16;
// Three blocks of 256 threads, with the 80 registers that a tile in flight and
// its sums need.
constexpr int kTileThreads = 768;

std::vector<Bounds> Table() {
  return {
      // The code between two passes is in functions of its own, which save what
      // the loops keep in registers, once a call; what the loops of the passes
      // spill themselves comes first here. Each thread of a scan adds up the
      // counts of a few chunks one by one.
      {"GridWorkKernel<SidcoWork>", 72, 116, kTileThreads, kTileBytes, 30},
      {"GridWorkKernel<RandomKWork>", 0, 0, kTileThreads, kTileBytes, 30},
      {"GridWorkKernel<ThresholdWork>", 220, 0, kTileThreads, kTileBytes, 30},
      {"GridWorkKernel<TopKWork>", 230, 24, kTileThreads, kTileBytes, 30},
      {"ScanKernel", 0, 0, 1024, 0, 30},
      {"SiftKernel", 0, 0, kTileThreads, kTileBytes, kTileItems},
      {"SelectKernel", 0, 0, kTileThreads, kTileBytes, kTileItems},
      {"MultiplyKernel", 0, 0, kTileThreads, kTileBytes, kTileItems},
      // Sums for each side of zero, chosen by the sign.
      {"SumValuesKernel<SidedSums>", 288},
      // Few elements, with a branch for each code.
      {"PackPayloadsKernel", 395, 0, 768, 0, 48},
      {"RoundLevelsKernel", 279, 0, 768},
      {"PlanPayloadsKernel", 6},
      {"MeasureGapsKernel", 0, 0, 1024, 0, 49},
      {"FitSamplesKernel", 8},
      // Sums of eight channels for each thread, with all loads under way.
      {"ShiftedTerms<Bfloat16>, 8>", 0, 0, 512, 48},
      {"NormGradientTerms<Bfloat16", 0, 0, 512},
      // A few sums of chunks for each thread, on sm_80.
      {"FinishChannelsCore<FinishBias>", 0, 0, 1024, 0, 33},
      // Arrays that are not aligned, one element at a time.
      {"PacketKernel<1, NormalizeCore<float", 0, 0, 1024, 0, 40},
      // Pooling to any size, which no model does with large images.
      {"AdaptivePoolGradientCore", 0, 0, 768},
  };
}

Bounds BoundsOf(const KernelCode& kernel) {
  for (const Bounds& bounds : Table()) {
    if (absl::StrContains(kernel.name, bounds.kernel)) return bounds;
  }
  return Bounds();
}

std::vector<KernelCode> Kernels() {
  const auto kernels = ReadKernels(ProgramPath("tools/gradsieve"));
  EXPECT_TRUE(kernels.ok()) << kernels.status();
  return kernels.ok() ? *kernels : std::vector<KernelCode>();
}

TEST(Kernels, KeepTheirBounds) {
  const std::vector<KernelCode> kernels = Kernels();
  for (const KernelCode& kernel : kernels) {
    // CUDA's library chooses for itself.
    if (absl::StartsWith(kernel.name, "cub::")) continue;
    SCOPED_TRACE(absl::StrCat(kernel.name, " for sm_", kernel.architecture));
    const Bounds bounds = BoundsOf(kernel);
    EXPECT_GT(kernel.max_threads, 0) << "has no launch bounds";
    EXPECT_LE(kernel.spilled_bytes, bounds.spilled_bytes);
    EXPECT_LE(kernel.outlined_spilled_bytes, bounds.outlined_spilled_bytes);
    EXPECT_GE(kernel.ResidentThreads(), bounds.resident_threads);
    EXPECT_GE(kernel.LargestBatch(), bounds.in_flight_bytes);
    EXPECT_LE(kernel.loads_in_turn, bounds.loads_in_turn);
  }
  if (HasFailure()) std::cout << KernelTable(kernels);
}

// A line for a kernel that was renamed would say nothing.
TEST(Kernels, EachLineOfTheTableHoldsForOne) {
  const std::vector<KernelCode> kernels = Kernels();
  for (const Bounds& bounds : Table()) {
    EXPECT_TRUE(std::any_of(kernels.begin(), kernels.end(),
                            [&](const KernelCode& kernel) {
                              return BoundsOf(kernel).kernel == bounds.kernel;
                            }))
        << bounds.kernel;
  }
}

#endif  // PS_HAVE_CUDA

}  // namespace
}  // namespace ps
