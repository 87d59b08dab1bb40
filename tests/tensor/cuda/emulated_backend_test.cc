// The CUDA backend on an emulated device: the order of its streams, its memory
// and its errors, and that no thread of a kernel depends on the position of
// another.
#include "gtest/gtest.h"

#ifdef PS_HAVE_CUDA

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/status_macros.h"
#include "tensor/cuda/cuda_backend.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_streams.h"
#include "tests/compressors/vectors.h"
#include "tests/ptx/device.h"

namespace ps {
namespace {

class EmulatedBackendTest : public testing::Test {
 protected:
  void SetUp() override { MakeBackend(/*separate_allocations=*/false); }

  void MakeBackend(bool separate_allocations) {
    CudaBackendOptions options;
    options.memory_bytes = int64_t{1} << 26;
    options.separate_allocations = separate_allocations;
    // Makes no layers; only records the stream that they would use.
    options.layers = [this](const CudaStreams& streams,
                            const std::shared_ptr<MemoryRegion>&) {
      compute_ = streams.compute();
      compression_ = streams.compression();
      return absl::StatusOr<CudaLayers>(CudaLayers());
    };
    auto backend = NewCudaBackend(options);
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }

  void TearDown() override {
    ptx::FailCallsAfter(-1, cudaSuccess);
    ptx::SetOrder(ptx::Order::kForward);
  }

  Tensor Put(const std::vector<float>& values) {
    Tensor tensor =
        backend_->Allocate({static_cast<int64_t>(values.size())}).value();
    EXPECT_TRUE(backend_->CopyFromHost(values.data(), &tensor).ok());
    return tensor;
  }
  std::vector<float> Get(const Tensor& tensor) {
    std::vector<float> values(tensor.size());
    EXPECT_TRUE(backend_->CopyToHost(tensor, values.data()).ok());
    return values;
  }
  // Queues the work of a layer.
  void Queue(std::function<void()> work) {
    ASSERT_EQ(ptx::QueueOnStream(compute_, std::move(work)), cudaSuccess);
  }
  // The same, which sets a tensor to `value`.
  void Compute(Tensor tensor, float value) {
    Queue([tensor, value]() mutable {
      std::fill_n(tensor.data(), tensor.size(), value);
    });
  }
  // The same, which notes a value in seen_.
  void Look(const Tensor& tensor, int64_t i) {
    Queue([this, tensor, i] { seen_.push_back(tensor.data()[i]); });
  }
  // Runs what layers wait for, and nothing else.
  void Finish() { EXPECT_EQ(cudaStreamSynchronize(compute_), cudaSuccess); }

  SparseKernels& kernels() { return backend_->sparse(); }

  std::unique_ptr<Backend> backend_;
  cudaStream_t compute_ = nullptr;
  cudaStream_t compression_ = nullptr;
  std::vector<float> seen_;
};

TEST_F(EmulatedBackendTest, CompressorsSeeWhatLayersHaveQueuedBefore) {
  Tensor gradient = Put(std::vector<float>(100));
  const Tensor residual = Put(std::vector<float>(100, 1));
  Tensor out = Put(std::vector<float>(100));
  Compute(gradient, 2);
  Moments moments;
  ASSERT_TRUE(kernels()
                  .AddAndMeasure(residual.data(), gradient.data(), 100,
                                 out.data(), &moments)
                  .ok());
  EXPECT_EQ(moments.sum, 300);
  Compute(gradient, 5);
  double sum = 0;
  ASSERT_TRUE(kernels().SumLogs(gradient.data(), 100, &sum).ok());
  EXPECT_NEAR(sum, 100 * std::log(5.0), 1e-9);
  Compute(gradient, 7);
  std::vector<int64_t> counts;
  MagnitudeBins bins;
  ASSERT_TRUE(
      kernels().CountMagnitudes(gradient.data(), 100, bins, &counts).ok());
  EXPECT_EQ(counts[MagnitudeBits(7) >> bins.shift], 100);
  Compute(gradient, 9);
  Selection selection;
  ASSERT_TRUE(
      kernels().SelectEqual(gradient.data(), 100, 9, 3, &selection).ok());
  EXPECT_EQ(selection.size(), 3);
  Compute(gradient, 11);
  ASSERT_TRUE(kernels().Gather(gradient.data(), &selection).ok());
  EXPECT_EQ(selection.values, std::vector<float>(3, 11));
  const auto sieve = kernels().NewSieve();
  sieve->Reset(gradient.data(), 100);
  Compute(gradient, 13);
  ASSERT_TRUE(sieve->SelectAbove(12, &selection).ok());
  EXPECT_EQ(selection.size(), 100);
  Compute(gradient, 15);
  Exceedances exceedances;
  ASSERT_TRUE(sieve->MeasureAbove(14, 14, &exceedances).ok());
  EXPECT_EQ(exceedances.count, 100);
}

TEST_F(EmulatedBackendTest, LayersSeeWhatCompressorsHaveQueuedBefore) {
  const Tensor x = Put(std::vector<float>(100, 3));
  Tensor y = Put(std::vector<float>(100, 1));
  const auto see = [&] {
    Look(y, 99);
    Finish();
    return seen_.back();
  };
  ASSERT_TRUE(kernels().Scale({x.data(), 2}, 100, y.data()).ok());
  EXPECT_EQ(see(), 6);
  ASSERT_TRUE(
      kernels().AddScaled({x.data(), 1}, {y.data(), 1}, 100, y.data()).ok());
  EXPECT_EQ(see(), 9);
  ASSERT_TRUE(kernels().Clear(y.data(), 100).ok());
  EXPECT_EQ(see(), 0);
  Selection selection;
  selection.indices = {99};
  selection.values = {4};
  // Work queued before an operation still sees the old value.
  Look(y, 99);
  ASSERT_TRUE(kernels().Scatter(selection, y.data()).ok());
  EXPECT_EQ(seen_.back(), 0);
  EXPECT_EQ(see(), 4);
}

TEST_F(EmulatedBackendTest, CopiesComeAfterWhatIsQueued) {
  Tensor x = Put(std::vector<float>(10, 1));
  Compute(x, 2);
  EXPECT_EQ(Get(x), std::vector<float>(10, 2));
  ASSERT_TRUE(kernels().Clear(x.data(), 10).ok());
  EXPECT_EQ(Get(x), std::vector<float>(10, 0));
  Compute(x, 3);
  const std::vector<float> four(10, 4);
  ASSERT_TRUE(backend_->CopyFromHost(four.data(), &x).ok());
  EXPECT_EQ(Get(x), four);
}

TEST_F(EmulatedBackendTest, NewMemoryIsZeroThoughItsLastUserIsStillQueued) {
  Tensor x = Put(std::vector<float>(10, 1));
  float* const data = x.data();
  Queue([data] { std::fill_n(data, 10, 8.0f); });
  x = Tensor();
  const Tensor y = backend_->Allocate({10}).value();
  ASSERT_EQ(y.data(), data);
  EXPECT_EQ(Get(y), std::vector<float>(10));
}

TEST_F(EmulatedBackendTest, LayersVectorsKeepTheLayersOrderAndDoNotWait) {
  Tensor x = Put(std::vector<float>(100, 1));
  Compute(x, 2);
  ASSERT_TRUE(backend_->vectors()
                  .AddScaled({x.data(), 3}, {x.data(), 1}, 100, x.data())
                  .ok());
  Look(x, 99);
  ASSERT_TRUE(backend_->vectors().Clear(x.data(), 100).ok());
  EXPECT_TRUE(seen_.empty());  // Nothing has waited yet.
  EXPECT_EQ(Get(x), std::vector<float>(100, 0));
  EXPECT_EQ(seen_, std::vector<float>(1, 8));
}

TEST_F(EmulatedBackendTest, WithinAnOverlapCompressionWaitsForItsMarkAlone) {
  ASSERT_TRUE(backend_->overlaps_compression());
  Tensor late = Put(std::vector<float>(10, 1));
  Tensor early = Put(std::vector<float>(10, 1));
  int done_early = 0;
  ASSERT_TRUE(backend_->StartOverlap().ok());
  // The gradient of a late layer, whose bucket is complete.
  Compute(late, 2);
  const absl::StatusOr<int64_t> mark = backend_->Mark();
  ASSERT_TRUE(mark.ok());
  // Backward continues.
  Compute(early, 3);
  Queue([&done_early] { ++done_early; });
  const absl::StatusOr<int64_t> second_mark = backend_->Mark();
  ASSERT_TRUE(second_mark.ok());
  ASSERT_TRUE(backend_->CompressAfter(*mark).ok());
  double sum = 0;
  ASSERT_TRUE(kernels().SumValues(late.data(), 10, &sum).ok());
  EXPECT_EQ(sum, 20);
  // Its new weights are written while the rest of Backward is still queued.
  const std::vector<float> weights(10, 7);
  ASSERT_TRUE(backend_->CopyFromHost(weights.data(), &late).ok());
  ASSERT_TRUE(kernels().Clear(late.data(), 5).ok());
  EXPECT_EQ(Get(late), std::vector<float>({0, 0, 0, 0, 0, 7, 7, 7, 7, 7}));
  EXPECT_EQ(done_early, 0);
  ASSERT_TRUE(backend_->CompressAfter(*second_mark).ok());
  ASSERT_TRUE(kernels().SumValues(early.data(), 10, &sum).ok());
  EXPECT_EQ(sum, 30);
  EXPECT_EQ(done_early, 1);
  EXPECT_EQ(backend_->CompressAfter(*second_mark + 1).code(),
            absl::StatusCode::kInvalidArgument);
  // After the overlap, layers see what compressors have queued, and compressors
  // see what layers have queued.
  ASSERT_TRUE(kernels().Scale({early.data(), 2}, 10, late.data()).ok());
  ASSERT_TRUE(backend_->EndOverlap().ok());
  Look(late, 9);
  Finish();
  EXPECT_EQ(seen_, std::vector<float>(1, 6));
  Compute(early, 4);
  ASSERT_TRUE(kernels().SumValues(early.data(), 10, &sum).ok());
  EXPECT_EQ(sum, 40);
}

// A compressor's first vector allocates memory, which must not wait for layers,
// since they may be recording.
TEST_F(EmulatedBackendTest, WithinAnOverlapAllocatingLeavesLayersAlone) {
  Tensor x = Put(std::vector<float>(10, 1));
  ASSERT_TRUE(backend_->StartOverlap().ok());
  ASSERT_TRUE(backend_->CompressAfter(backend_->Mark().value()).ok());
  bool layers_done = false;
  Queue([&layers_done] { layers_done = true; });
  absl::StatusOr<Tensor> taken = backend_->Allocate({10});
  ASSERT_TRUE(taken.ok()) << taken.status();
  ASSERT_TRUE(kernels().Scale({x.data(), 3}, 10, taken->data()).ok());
  EXPECT_EQ(Get(*taken), std::vector<float>(10, 3));
  EXPECT_FALSE(layers_done);
  ASSERT_TRUE(backend_->EndOverlap().ok());
  ASSERT_TRUE(backend_->Allocate({10}).ok());
  EXPECT_TRUE(layers_done);
}

// Work that layers queue after the mark does not wait for compression either.
TEST_F(EmulatedBackendTest, WithinAnOverlapLayersDoNotWaitForCompression) {
  Tensor x = Put(std::vector<float>(10, 1));
  ASSERT_TRUE(backend_->StartOverlap().ok());
  ASSERT_TRUE(backend_->CompressAfter(backend_->Mark().value()).ok());
  ASSERT_TRUE(kernels().Scale({x.data(), 5}, 10, x.data()).ok());
  Look(x, 0);
  Finish();
  EXPECT_EQ(seen_, std::vector<float>(1, 1));
  ASSERT_TRUE(backend_->EndOverlap().ok());
  EXPECT_EQ(Get(x), std::vector<float>(10, 5));
}

TEST_F(EmulatedBackendTest, BothSidesMayBeAtWorkAtOnce) {
  constexpr int kBuckets = 50;
  std::vector<Tensor> gradients;
  for (int b = 0; b < kBuckets; ++b) {
    gradients.push_back(Put(std::vector<float>(300, 1)));
  }
  for (int iteration = 0; iteration < 3; ++iteration) {
    ASSERT_TRUE(backend_->StartOverlap().ok());
    std::vector<double> sums(kBuckets);
    std::vector<int64_t> marks(kBuckets);
    std::vector<std::thread> threads;
    for (int b = 0; b < kBuckets; ++b) {
      ASSERT_TRUE(backend_->vectors()
                      .Scale({gradients[b].data(), 2}, 300, gradients[b].data())
                      .ok());
      marks[b] = backend_->Mark().value();
      // One thread at a time on the compression side, while this thread
      // continues.
      if (!threads.empty() && b % 2 == 0) {
        threads.back().join();
        threads.pop_back();
      }
      if (b % 2 == 0) {
        threads.emplace_back([&, b] {
          EXPECT_TRUE(backend_->CompressAfter(marks[b]).ok());
          EXPECT_TRUE(
              kernels().SumValues(gradients[b].data(), 300, &sums[b]).ok());
        });
      }
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(backend_->EndOverlap().ok());
    for (int b = 0; b < kBuckets; b += 2) {
      EXPECT_EQ(sums[b], 300 * std::pow(2, iteration + 1)) << b;
    }
  }
}

TEST_F(EmulatedBackendTest, WhatIsRecordedIsDoneByEachReplayAndNotBefore) {
  Tensor x = Put(std::vector<float>(10, 1));
  const auto recording = backend_->Record([&] {
    return backend_->vectors().Scale({x.data(), 2}, 10, x.data());
  });
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_EQ(Get(x), std::vector<float>(10, 1));
  ASSERT_TRUE((*recording)->Replay().ok());
  ASSERT_TRUE((*recording)->Replay().ok());
  EXPECT_EQ(Get(x), std::vector<float>(10, 4));
  // It reads the current values when it runs, in the layers' order.
  const std::vector<float> five(10, 5);
  ASSERT_TRUE(backend_->CopyFromHost(five.data(), &x).ok());
  ASSERT_TRUE((*recording)->Replay().ok());
  Compute(x, 6);
  ASSERT_TRUE((*recording)->Replay().ok());
  EXPECT_EQ(Get(x), std::vector<float>(10, 12));
}

TEST_F(EmulatedBackendTest, WhatADeviceCannotRecordIsAnErrorAndChangesNothing) {
  Tensor x = Put(std::vector<float>(10, 1));
  const std::function<absl::Status()> works[] = {
      [&] { return absl::InvalidArgumentError("of the work itself"); },
      [&] {
        const cudaError_t error = cudaStreamSynchronize(compute_);
        return error == cudaSuccess ? absl::OkStatus()
                                    : absl::InternalError("cannot wait");
      },
      // Ignoring the error does not give a recording either.
      [&] {
        cudaStreamSynchronize(compute_);
        return absl::OkStatus();
      },
      [&] {
        float pageable = 0;
        cudaMemcpyAsync(x.data(), &pageable, sizeof(float),
                        cudaMemcpyHostToDevice, compute_);
        return absl::OkStatus();
      },
  };
  for (size_t i = 0; i < std::size(works); ++i) {
    EXPECT_FALSE(backend_->Record(works[i]).ok()) << i;
    EXPECT_EQ(Get(x), std::vector<float>(10, 1)) << i;
  }
  // The stream is unchanged.
  Compute(x, 2);
  EXPECT_EQ(Get(x), std::vector<float>(10, 2));
}

// An encoder that grows frees memory while the layers' work is recorded.
TEST_F(EmulatedBackendTest, FreeingPinnedMemoryLeavesARecordingAlone) {
  Tensor x = Put(std::vector<float>(10, 1));
  std::shared_ptr<void> pinned =
      AllocatePinnedMemory(10 * sizeof(float), compression_).value();
  bool copied = false;
  ASSERT_EQ(ptx::QueueOnStream(compression_,
                               [x, to = pinned.get(), &copied] {
                                 std::copy_n(x.data(), 10,
                                             static_cast<float*>(to));
                                 copied = true;
                               }),
            cudaSuccess);
  const auto recording = backend_->Record([&] {
    std::thread([&] { pinned.reset(); }).join();
    return backend_->vectors().Clear(x.data(), 10);
  });
  EXPECT_TRUE(recording.ok()) << recording.status();
  EXPECT_TRUE(copied);
}

// So does CUDA: a device includes the stream that is being captured.
TEST_F(EmulatedBackendTest, WaitingForTheDeviceInAnyThreadEndsARecording) {
  const auto recording = backend_->Record([&] {
    std::thread([&] {
      EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    }).join();
    return absl::OkStatus();
  });
  EXPECT_FALSE(recording.ok());
}

// Queues work that writes one element beyond the end of a tensor before
// another one. Returns the other one's first element.
float OverrunIntoNext(Backend* backend, cudaStream_t stream) {
  Tensor x = backend->Allocate({64}).value();
  const Tensor y = backend->Allocate({64}).value();
  EXPECT_EQ(ptx::QueueOnStream(stream, [data = x.data()] { data[64] = 7; }),
            cudaSuccess);
  float first = 0;
  EXPECT_TRUE(backend->CopyToHost(y.Slice(0, 1), &first).ok());
  return first;
}

TEST_F(EmulatedBackendTest, OverrunsBetweenTensorsShowInSeparateAllocations) {
  EXPECT_EQ(OverrunIntoNext(backend_.get(), compute_), 7);
  MakeBackend(/*separate_allocations=*/true);
  EXPECT_DEATH(OverrunIntoNext(backend_.get(), compute_), "");
  // Also within what the alignment leaves.
  EXPECT_DEATH(
      {
        Tensor x = backend_->Allocate({3}).value();
        ptx::QueueOnStream(compute_, [data = x.data()] { data[3] = 7; });
        x = Tensor();
      },
      "beyond the end of 12 bytes");
}

class InputUploadTest : public EmulatedBackendTest {
 protected:
  void SetUp() override {
    EmulatedBackendTest::SetUp();
    upload_ = backend_->NewInputUpload().value();
    x_ = Put(std::vector<float>(100));
    ASSERT_TRUE(upload_->Reserve(100).ok());
  }
  void TearDown() override {
    // While the members exist that the queued work uses.
    Finish();
    upload_.reset();
    EmulatedBackendTest::TearDown();
  }

  // Sends a vector of this value, and changes it right afterwards.
  void Send(float value) {
    std::vector<float> host(100, value);
    ASSERT_TRUE(upload_->Send(host.data(), 100).ok());
  }
  // Queues a layer that notes what it finds.
  void ReceiveAndLook() {
    ASSERT_TRUE(upload_->Receive(x_.data()).ok());
    Look(x_, 99);
  }

  std::unique_ptr<InputUpload> upload_;
  Tensor x_;
};

// The device is as late as it may be, and so a buffer that is written before
// its copy is done shows.
TEST_F(InputUploadTest, EachStepFindsItsInputsHoweverLateTheDeviceIs) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  for (const float value : values) {
    Send(value);
    ReceiveAndLook();
  }
  Finish();
  EXPECT_EQ(seen_, values);
}

TEST_F(InputUploadTest, NextInputsGoUpBesideAStepAndTheHostDoesNotWait) {
  Send(1);
  ReceiveAndLook();
  for (float value = 2; value < 6; ++value) {
    const int64_t waits = ptx::NumWaits();
    const size_t steps = seen_.size();
    Send(value);
    EXPECT_EQ(ptx::NumWaits(), waits);
    EXPECT_EQ(seen_.size(), steps);  // The step has not run.
    Finish();                        // For its loss.
    EXPECT_EQ(seen_.back(), value - 1);
    ReceiveAndLook();
    EXPECT_EQ(ptx::NumWaits(), waits + 1);
  }
}

TEST_F(InputUploadTest, TheLatestInputsReplaceThoseThatNobodyReceived) {
  Send(1);
  Send(2);
  Send(3);
  ReceiveAndLook();
  Finish();
  EXPECT_EQ(seen_, std::vector<float>({3}));
}

TEST_F(InputUploadTest, CopiesToNewRoomWaitForItsPreviousOwners) {
  bool layers_done = false;
  bool compression_done = false;
  Queue([&layers_done] { layers_done = true; });
  ASSERT_EQ(ptx::QueueOnStream(
                compression_, [&compression_done] { compression_done = true; }),
            cudaSuccess);
  ASSERT_TRUE(upload_->Reserve(200).ok());
  EXPECT_EQ(upload_->capacity(), 200);
  Send(1);
  Send(2);
  EXPECT_FALSE(layers_done);
  Send(3);  // Waits for the first copy.
  EXPECT_TRUE(layers_done);
  EXPECT_TRUE(compression_done);
}

// Runs every operation, and returns all results.
std::vector<double> Results(SparseKernels& kernels, const Tensor& residual,
                            const Tensor& gradient, Tensor* out) {
  const int64_t n = out->size();
  std::vector<double> results;
  const auto add = [&](double x) { results.push_back(x); };
  const auto add_selection = [&](const Selection& selection) {
    for (const uint32_t index : selection.indices) add(index);
    for (const float value : selection.values) add(value);
  };
  const auto sieve = kernels.NewSieve();
  SieveGuess guess;
  guess.keep_above = 1.5f;
  Moments moments;
  EXPECT_TRUE(sieve
                  ->ResetToSum(residual.data(), gradient.data(), n, guess,
                               out->data(), &moments)
                  .ok());
  add(moments.sum);
  add(moments.sum_squares);
  add(moments.max);
  add(moments.min_nonzero);
  add(static_cast<double>(moments.num_nonzero));
  for (const float location : {2.0f, 2.5f, 0.1f, 4.0f}) {
    Exceedances exceedances;
    EXPECT_TRUE(sieve->MeasureAbove(location, location, &exceedances).ok());
    add(exceedances.sum);
    add(exceedances.sum_squares);
    add(static_cast<double>(exceedances.count));
    Selection selection;
    EXPECT_TRUE(sieve->SelectAbove(location, &selection).ok());
    add_selection(selection);
  }
  double sum = 0;
  EXPECT_TRUE(kernels.SumLogs(out->data(), n, &sum).ok());
  add(sum);
  std::vector<int64_t> counts;
  MagnitudeBins bins;
  EXPECT_TRUE(kernels.CountMagnitudes(out->data(), n, bins, &counts).ok());
  for (const int64_t count : counts) add(static_cast<double>(count));
  Selection selection;
  EXPECT_TRUE(kernels.SelectEqual(out->data(), n, 0, 77, &selection).ok());
  add_selection(selection);
  return results;
}

TEST_F(EmulatedBackendTest, SeparateAllocationsHaveTheResultsOfOne) {
  const std::vector<float> values = MakeVector("laplace", 70000, 1);
  std::vector<std::vector<double>> results;
  for (const bool separate : {false, true}) {
    MakeBackend(separate);
    const Tensor x = Put(values);
    Tensor out = Put(values);
    results.push_back(Results(kernels(), x, x, &out));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(EmulatedBackendTest, NoThreadReadsWhatAnotherWritesInTheSamePhase) {
  for (const int64_t n : {1, 255, 4097, 3 * 65536 + 4777}) {
    const Tensor residual = Put(MakeVector("laplace", n, 1));
    const Tensor gradient = Put(MakeVector("sparse", n, 2));
    Tensor out = Put(std::vector<float>(n));
    ptx::SetOrder(ptx::Order::kForward);
    const std::vector<double> forward =
        Results(kernels(), residual, gradient, &out);
    for (const ptx::Order order :
         {ptx::Order::kBackward, ptx::Order::kShuffled}) {
      ptx::SetOrder(order);
      EXPECT_EQ(Results(kernels(), residual, gradient, &out), forward)
          << n << " elements, order " << static_cast<int>(order);
    }
  }
}

TEST_F(EmulatedBackendTest, AllocatesFromTheDeviceOnceAndForAll) {
  const int64_t allocations = ptx::NumAllocations();
  const auto sieve = kernels().NewSieve();
  for (const int64_t n : {1000, 300000, 70000}) {
    const Tensor residual = Put(MakeVector("laplace", n, 1));
    Tensor out = Put(std::vector<float>(n));
    Results(kernels(), residual, residual, &out);
  }
  EXPECT_EQ(ptx::NumAllocations(), allocations);
}

TEST_F(EmulatedBackendTest, WhatDoesNotFitIsAnErrorThatNamesIt) {
  const absl::Status status = backend_->Allocate({1 << 25}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(status.message(), "[33554432]")) << status;
}

// Wherever the device fails, the call returns an error that names the failing
// call, and nothing hangs or leaks.
TEST_F(EmulatedBackendTest, EveryErrorOfTheDeviceReachesTheCaller) {
  const Tensor x = Put(MakeVector("laplace", 1000, 1));
  Tensor out = Put(std::vector<float>(1000));
  Selection selection;
  selection.indices = {1};
  selection.values = {1};
  const auto sieve = kernels().NewSieve();
  sieve->Reset(x.data(), 1000);
  Moments moments;
  Exceedances exceedances;
  double sum;
  std::vector<int64_t> counts;
  std::vector<float> host(1000);
  Selection selected;
  const std::pair<const char*, std::function<absl::Status()>> operations[] = {
      {"AddAndMeasure",
       [&] {
         return kernels().AddAndMeasure(x.data(), x.data(), 1000, out.data(),
                                        &moments);
       }},
      {"SumLogs", [&] { return kernels().SumLogs(x.data(), 1000, &sum); }},
      {"Scale",
       [&] {
         return kernels().Scale({x.data(), 1}, 9, out.data());
       }},
      {"CountMagnitudes",
       [&] {
         return kernels().CountMagnitudes(x.data(), 1000, MagnitudeBins(),
                                          &counts);
       }},
      {"SelectEqual",
       [&] { return kernels().SelectEqual(x.data(), 1000, 0, 1, &selected); }},
      {"Gather", [&] { return kernels().Gather(x.data(), &selection); }},
      {"Scatter", [&] { return kernels().Scatter(selection, out.data()); }},
      {"Clear", [&] { return kernels().Clear(out.data(), 1000); }},
      {"MeasureAbove", [&] { return sieve->MeasureAbove(1, 1, &exceedances); }},
      {"SelectAbove", [&] { return sieve->SelectAbove(1, &selected); }},
      {"Mark",
       [&] {
         PS_RETURN_IF_ERROR(backend_->StartOverlap());
         PS_ASSIGN_OR_RETURN(const int64_t mark, backend_->Mark());
         PS_RETURN_IF_ERROR(backend_->CompressAfter(mark));
         return backend_->EndOverlap();
       }},
      {"Record",
       [&] {
         PS_ASSIGN_OR_RETURN(
             const std::unique_ptr<Recording> recording, backend_->Record([&] {
               return backend_->vectors().Clear(out.data(), 1000);
             }));
         return recording->Replay();
       }},
      {"Allocate", [&] { return backend_->Allocate({3}).status(); }},
      {"NewInputUpload",
       [&] {
         PS_ASSIGN_OR_RETURN(const std::unique_ptr<InputUpload> upload,
                             backend_->NewInputUpload());
         PS_RETURN_IF_ERROR(upload->Reserve(1000));
         PS_RETURN_IF_ERROR(upload->Send(host.data(), 1000));
         return upload->Receive(out.data());
       }},
      {"CopyToHost", [&] { return backend_->CopyToHost(x, host.data()); }},
      {"CopyFromHost",
       [&] { return backend_->CopyFromHost(host.data(), &out); }},
  };
  for (const auto& [name, operation] : operations) {
    int calls = 0;
    for (;; ++calls) {
      ptx::FailCallsAfter(calls, cudaErrorIllegalAddress);
      const absl::Status status = operation();
      ptx::FailCallsAfter(-1, cudaSuccess);
      if (status.ok()) break;
      EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
      // The message names the call: "cudaStreamSynchronize: ...", "LaunchFours:
      // ...".
      EXPECT_TRUE(absl::StrContains(status.message(), "cuda") ||
                  absl::StartsWith(status.message(), "Launch"))
          << name << ": " << status;
    }
    EXPECT_GT(calls, 2) << name;
  }
}

TEST_F(EmulatedBackendTest, FailureToStartIsAnError) {
  CudaBackendOptions options;
  options.memory_bytes = 1 << 24;
  int calls = 0;
  for (;; ++calls) {
    ptx::FailCallsAfter(calls, cudaErrorNoKernelImageForDevice);
    const auto backend = NewCudaBackend(options);
    ptx::FailCallsAfter(-1, cudaSuccess);
    if (backend.ok()) break;
    EXPECT_EQ(backend.status().code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_GT(calls, 5);
  options.device = 1;
  EXPECT_EQ(NewCudaBackend(options).status().code(),
            absl::StatusCode::kInvalidArgument);
  options.device = 0;
  options.num_sharers = 0;
  EXPECT_EQ(NewCudaBackend(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ps

#else

TEST(EmulatedBackendTest, NeedsTheToolkit) {
  GTEST_SKIP() << "no CUDA toolkit";
}

#endif  // PS_HAVE_CUDA
