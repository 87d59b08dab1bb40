// Reading machine code, by kernels of which it is known what it must look like.
#include "tests/kernels/machine_code.h"

#include <elf.h>

#include "common/file.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

#ifdef PS_HAVE_CUDA

std::string ExamplesPath() {
  return ProgramPath("tests/kernels/examples.cu.o");
}

// The code for the architecture of every build.
KernelCode Example(const std::string& name) {
  const auto kernels = ReadKernels(ExamplesPath());
  EXPECT_TRUE(kernels.ok()) << kernels.status();
  if (kernels.ok()) {
    for (const KernelCode& kernel : *kernels) {
      if (kernel.name == name && kernel.architecture == 90) return kernel;
    }
  }
  ADD_FAILURE() << "no kernel " << name;
  return KernelCode();
}

TEST(MachineCode, LoadsThatDoNotWaitAreOneBatch) {
  const KernelCode kernel = Example("TogetherExample");
  EXPECT_EQ(kernel.batches, std::vector<int>({32}));
  EXPECT_EQ(kernel.LargestBatch(), 32);
  EXPECT_EQ(kernel.loads_in_turn, 0);
}

TEST(MachineCode, LoadsThatWaitForEachOtherAreNot) {
  const KernelCode kernel = Example("InTurnExample");
  EXPECT_EQ(kernel.batches, std::vector<int>(8, 4));
  EXPECT_EQ(kernel.loads_in_turn, 8);
}

TEST(MachineCode, CountsTheBytesOfWideLoads) {
  EXPECT_EQ(Example("VectorExample").batches, std::vector<int>({32}));
}

TEST(MachineCode, FindsSpilledRegisters) {
  const KernelCode kernel = Example("SpillExample");
  EXPECT_GE(kernel.spilled_bytes, 4 * (64 - 32));
  EXPECT_EQ(kernel.registers, 32);
  EXPECT_EQ(kernel.ResidentThreads(), 2048);
  EXPECT_EQ(Example("TogetherExample").spilled_bytes, 0);
}

TEST(MachineCode, TellsAKernelsOwnCodeFromThatOfItsFunctions) {
  const KernelCode kernel = Example("CallExample");
  EXPECT_EQ(kernel.spilled_bytes, 0);
  EXPECT_EQ(kernel.outlined_spilled_bytes, 8 * 4);
}

TEST(MachineCode, FindsLaunchBoundsAndSharedMemory) {
  EXPECT_EQ(Example("TogetherExample").max_threads, 256);
  EXPECT_EQ(Example("TogetherExample").shared_bytes, 0);
  const KernelCode kernel = Example("UnboundedExample");
  EXPECT_EQ(kernel.max_threads, 0);
  EXPECT_EQ(kernel.ResidentThreads(), 0);
  EXPECT_EQ(kernel.shared_bytes, 4000);
}

#endif  // PS_HAVE_CUDA

TEST(MachineCode, ResidentThreadsAreThoseThatRegistersAndSharedMemoryAllow) {
  KernelCode kernel;
  kernel.max_threads = 256;
  kernel.registers = 33;  // 40 are taken, of 65536.
  EXPECT_EQ(kernel.ResidentThreads(), 6 * 256);
  kernel.shared_bytes = 41 << 10;  // Four fit into 164 KiB, but not with 1 KiB.
  EXPECT_EQ(kernel.ResidentThreads(), 3 * 256);
  kernel.registers = 255;
  EXPECT_EQ(kernel.ResidentThreads(), 256);
}

TEST(MachineCode, AFileWithoutKernelsOrWithHalfOfOneIsAnError) {
  EXPECT_EQ(ReadKernels("/bin/sh").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(ReadKernels("/no/such/file").ok());
#ifdef PS_HAVE_CUDA
  const std::string object = ReadFile(ExamplesPath()).value();
  const size_t code = object.find(ELFMAG, 1);  // Inside of the object itself.
  ASSERT_NE(code, std::string::npos);
  const std::string path = NewTestDirectory() + "/half";
  ASSERT_TRUE(WriteFileAtomically(path, object.substr(0, code + 2000)).ok());
  EXPECT_EQ(ReadKernels(path).status().code(), absl::StatusCode::kDataLoss);
#endif
}

}  // namespace
}  // namespace ps
