// SIDCo on an emulated device selects the same elements as on the CPU.
#include "gtest/gtest.h"

#ifdef PS_HAVE_CUDA

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "compressors/cuda/device_sidco.h"
#include "compressors/cuda/gamma_search.h"
#include "compressors/cuda/sidco_grid.h"
#include "compressors/sidco/sidco_estimate.h"
#include "tensor/cpu/cpu_sparse_kernels.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_streams.h"
#include "tensor/cuda/sparse/sparse_work.h"
#include "tests/compressors/vectors.h"
#include "tests/ptx/device.h"
#include "tests/tensor/cuda/host_grid.h"

namespace ps {
namespace {

// The maximum number of elements left on the device.
constexpr int64_t kCapacity = 1000;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Variant {
  TailLaw law = TailLaw::kExponential;
  int stages = 1;
  bool count_correction = false;
  bool exclude_zeros = false;
  int refine_steps = 0;
};

std::vector<Variant> AllVariants() {
  std::vector<Variant> variants;
  for (const TailLaw law :
       {TailLaw::kExponential, TailLaw::kPareto, TailLaw::kGammaPareto,
        TailLaw::kClosedGammaPareto}) {
    for (int stages = 1; stages <= 4; ++stages) {
      // The gamma laws differ from Pareto's in the first stage alone.
      if (TailFits{law}.MagnitudesNeedLogs() && stages % 2 == 0) continue;
      // The profiles "paper" and "robust" and, with three stages, those in
      // between.
      for (const int robust : {0, 1, 2, 3}) {
        if (robust % 3 != 0 && stages != 3) continue;
        Variant variant;
        variant.law = law;
        variant.stages = stages;
        variant.count_correction = robust > 0;
        variant.exclude_zeros = robust > 1;
        variant.refine_steps = robust > 2 ? 8 : 0;
        variants.push_back(variant);
      }
    }
  }
  return variants;
}

// What the device and the CPU keep from previous vectors.
struct Before {
  float warm_location = kInfinity;
  float keep_above = kInfinity;
  std::vector<double> steps;
  double refine_reach = 1;
};

class EmulatedSidcoTest : public testing::Test {
 protected:
  void SetUp() override {
    constexpr int64_t kBytes = int64_t{1} << 26;
    streams_ = CudaStreams::Create(0).value();
    memory_ = std::make_shared<MemoryRegion>(
        AllocateDeviceMemory(kBytes).value(), kBytes);
    work_ = SparseWork::Create(streams_.get(), memory_).value();
  }
  void TearDown() override { ptx::SetOrder(ptx::Order::kForward); }

  // A vector in the device's memory, which is the host's.
  static std::shared_ptr<float> OnDevice(const std::vector<float>& values) {
    const size_t bytes = values.size() * sizeof(float);
    const std::shared_ptr<void> memory =
        AllocateDeviceMemory(static_cast<int64_t>(bytes)).value();
    std::memcpy(memory.get(), values.data(), bytes);
    return std::shared_ptr<float>(memory, static_cast<float*>(memory.get()));
  }

  DeviceSidcoResult Run(const Variant& variant, double ratio,
                        const std::vector<float>& residual,
                        const std::vector<float>& gradient,
                        const Before& before) {
    const int64_t n = static_cast<int64_t>(residual.size());
    DeviceSidcoRequest request;
    request.fits.law = variant.law;
    request.estimate = Request(variant, ratio, n);
    request.n = n;
    request.exclude_zeros = variant.exclude_zeros;
    request.warm_location = before.warm_location;
    request.keep_above = before.keep_above;
    for (const double step : before.steps) {
      request.known_steps[request.num_known_steps++] = step;
    }
    request.refine_reach = before.refine_reach;
    sidco_ = NewDeviceSidco(n, kCapacity, work_.get()).value();
    const std::shared_ptr<float> on_device[] = {OnDevice(residual),
                                                OnDevice(gradient)};
    const std::shared_ptr<float> device_out = OnDevice(residual);
    const float* const out = device_out.get();
    absl::Status status = sidco_->Queue(request, on_device[0].get(),
                                        on_device[1].get(), device_out.get());
    EXPECT_TRUE(status.ok()) << status;
    // Queued work finds the selection before the host has waited.
    const DeviceSelection queued = sidco_->queued_selection();
    int64_t count = -1;
    EXPECT_EQ(ptx::QueueOnStream(work_->stream(),
                                 [&] { count = *queued.device_count; }),
              cudaSuccess);
    EXPECT_TRUE(streams_->Await(work_->stream()).ok());
    DeviceSidcoResult result;
    status = sidco_->Finish(&result);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(count, result.selection.count);
    EXPECT_EQ(queued.capacity, kCapacity);
    if (count > 0) {
      EXPECT_EQ(queued.indices, result.selection.indices);
      EXPECT_EQ(queued.values, result.selection.values);
    }
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(out[i], residual[i] + gradient[i]);
    }
    return result;
  }

  static EstimateRequest Request(const Variant& variant, double ratio,
                                 int64_t n) {
    EstimateRequest request;
    request.target = ratio * static_cast<double>(n);
    request.stages = variant.stages;
    request.count_correction = variant.count_correction;
    request.refine_steps = variant.refine_steps;
    return request;
  }

  std::unique_ptr<CudaStreams> streams_;
  std::shared_ptr<MemoryRegion> memory_;
  std::unique_ptr<SparseWork> work_;
  std::unique_ptr<DeviceSidco> sidco_;  // Used by the last run.
};

// The estimate for one vector on the CPU, made as the selector makes it.
struct CpuSidco {
  explicit CpuSidco(TailLaw law)
      : needs_logs(TailFits{law}.MagnitudesNeedLogs()), estimator(law) {}

  ThresholdEstimate Run(const Variant& variant, double ratio,
                        const std::vector<float>& residual,
                        const std::vector<float>& gradient,
                        float warm_location) {
    const int64_t n = static_cast<int64_t>(residual.size());
    out.resize(n);
    sieve = kernels->NewSieve();
    SieveGuess guess;
    guess.needs_sums = !std::isfinite(warm_location);
    EXPECT_TRUE(sieve
                    ->ResetToSum(residual.data(), gradient.data(), n, guess,
                                 out.data(), &moments)
                    .ok());
    request = EstimateRequest();
    request.target = ratio * static_cast<double>(n);
    request.stages = variant.stages;
    request.count_correction = variant.count_correction;
    request.refine_steps = variant.refine_steps;
    request.population = variant.exclude_zeros ? moments.num_nonzero : n;
    request.moments = moments;
    estimator.Begin();
    warm = false;
    if (std::isfinite(warm_location)) {
      if (HasSeveralStages(request)) {
        const ThresholdEstimate estimate =
            estimator.EstimateFrom(warm_location, request, sieve.get()).value();
        warm = estimate.stages > 0;
        if (warm) return estimate;
      }
      EXPECT_TRUE(kernels->SumMagnitudes(out.data(), n, &request.moments).ok());
    }
    if (needs_logs) {
      EXPECT_TRUE(kernels->SumLogs(out.data(), n, &request.sum_logs).ok());
      if (request.population > moments.num_nonzero) {
        request.sum_logs +=
            static_cast<double>(request.population - moments.num_nonzero) *
            LogOfZero(request.moments);
      }
    }
    return estimator.Estimate(request, sieve.get()).value();
  }

  const bool needs_logs;
  std::unique_ptr<SparseKernels> kernels = NewCpuSparseKernels(1);
  std::unique_ptr<Sieve> sieve;
  SidcoEstimator estimator;
  std::vector<float> out;
  Moments moments;
  EstimateRequest request;
  bool warm = false;
};

// Counts how estimates began, to check that each kind occurs.
struct Starts {
  int warm = 0;
  int cold = 0;
  int failed = 0;  // Warm starts that became cold.
  // Counts of selections.
  int in_room = 0;
  int too_many = 0;
};
Starts g_starts;

// Runs five vectors in a row; the later ones use warm starts where possible.
void Compare(const std::string& name, int64_t n, double ratio,
             const Variant& variant,
             const std::function<DeviceSidcoResult(const std::vector<float>&,
                                                   const std::vector<float>&,
                                                   const Before&)>& run) {
  CpuSidco cpu(variant.law);
  Before before;
  for (uint64_t iteration = 0; iteration < 5; ++iteration) {
    const std::vector<float> residual =
        name.size() == 1 ? std::vector<float>(n)
                         : MakeVector("laplace", n, 100 + iteration);
    std::vector<float> gradient = name.size() == 1
                                      ? GoldenVector(name[0])
                                      : MakeVector(name, n, iteration);
    // The scale drifts from one vector to the next, and jumps once.
    const float scale = iteration == 3 ? 5.0f : 1.0f + 0.01f * iteration;
    for (float& each : gradient) each *= scale;
    const ThresholdEstimate expected =
        cpu.Run(variant, ratio, residual, gradient, before.warm_location);
    const DeviceSidcoResult actual = run(residual, gradient, before);
    if (expected.stages == 0) {
      ASSERT_EQ(actual.outcome, SidcoOutcome::kConstant);
      return;
    }
    ASSERT_EQ(actual.outcome, SidcoOutcome::kEstimated);
    ASSERT_EQ(actual.estimate.threshold, expected.threshold);
    ASSERT_EQ(actual.warm, cpu.warm);
    ASSERT_EQ(actual.estimate.stages, expected.stages);
    ASSERT_EQ(actual.estimate.stopped, expected.stopped);
    ASSERT_EQ(actual.estimate.estimated_count, expected.estimated_count);
    if (!actual.warm) {
      ASSERT_EQ(actual.moments.sum, cpu.request.moments.sum);
      ASSERT_EQ(actual.moments.sum_squares, cpu.request.moments.sum_squares);
    }
    ASSERT_EQ(actual.moments.max, cpu.moments.max);
    ASSERT_EQ(actual.moments.num_nonzero, cpu.moments.num_nonzero);
    Selection selection;
    ASSERT_TRUE(cpu.sieve->SelectAbove(expected.threshold, &selection).ok());
    ASSERT_EQ(actual.num_selected, selection.size());
    ASSERT_EQ(actual.selection.count,
              selection.size() <= kCapacity ? selection.size() : 0);
    for (int64_t i = 0; i < actual.selection.count; ++i) {
      ASSERT_EQ(actual.selection.indices[i], selection.indices[i]);
      ASSERT_EQ(actual.selection.values[i], selection.values[i]);
    }
    ++(actual.selection.count < selection.size() ? g_starts.too_many
                                                 : g_starts.in_room);
    ++(actual.warm ? g_starts.warm : g_starts.cold);
    if (!actual.warm && std::isfinite(before.warm_location)) ++g_starts.failed;
    ASSERT_EQ(actual.trace.steps.has_value(), !actual.warm);
    if (!actual.warm) before.steps = *actual.trace.steps;
    before.refine_reach = actual.trace.refine_reach;
    before.warm_location =
        HasSeveralStages(cpu.request)
            ? cpu.estimator.NextLocation(cpu.request, expected.threshold,
                                         selection.size())
            : kInfinity;
    before.keep_above = std::isfinite(before.warm_location)
                            ? before.warm_location
                            : 0.9f * expected.threshold;
  }
}

TEST_F(EmulatedSidcoTest, SelectsWhatTheCpuSelectsOfGoldenVectors) {
  for (const Variant& variant : AllVariants()) {
    for (const char vector : {'A', 'B', 'C', 'D'}) {
      for (const double ratio : {0.1, 0.01, 0.001}) {
        SCOPED_TRACE(testing::Message()
                     << vector << " " << ratio << ", law "
                     << static_cast<int>(variant.law) << ", " << variant.stages
                     << " stages, refined " << variant.refine_steps
                     << ", count correction " << variant.count_correction);
        const std::string name(1, vector);
        Compare(name, static_cast<int64_t>(GoldenVector(vector).size()), ratio,
                variant,
                [&](const auto& residual, const auto& gradient,
                    const Before& before) {
                  return Run(variant, ratio, residual, gradient, before);
                });
      }
    }
  }
}

TEST_F(EmulatedSidcoTest, AllKindsOfStartsAreCompared) {
  g_starts = Starts();
  Variant variant;
  variant.stages = 3;
  variant.refine_steps = 8;
  variant.count_correction = true;
  Compare(
      "A", 100000, 0.01, variant,
      [&](const auto& residual, const auto& gradient, const Before& before) {
        return Run(variant, 0.01, residual, gradient, before);
      });
  // Twice as many as there is space for.
  Compare(
      "A", 100000, 0.02, variant,
      [&](const auto& residual, const auto& gradient, const Before& before) {
        return Run(variant, 0.02, residual, gradient, before);
      });
  EXPECT_GT(g_starts.warm, 0);
  EXPECT_GT(g_starts.cold, 1);
  EXPECT_GT(g_starts.failed, 0);
  EXPECT_GT(g_starts.in_room, 0);
  EXPECT_GT(g_starts.too_many, 0);
}

TEST_F(EmulatedSidcoTest, SelectsWhatTheCpuSelectsInAnyOrderOfThreads) {
  for (const ptx::Order order :
       {ptx::Order::kBackward, ptx::Order::kShuffled}) {
    ptx::SetOrder(order);
    for (const Variant& variant : AllVariants()) {
      for (const std::string name : {"heavy", "sparse", "constant"}) {
        for (const int64_t n : {1000, 65537}) {
          SCOPED_TRACE(testing::Message() << name << " of " << n);
          Compare(name, n, 0.01, variant,
                  [&](const auto& residual, const auto& gradient,
                      const Before& before) {
                    return Run(variant, 0.01, residual, gradient, before);
                  });
        }
      }
    }
  }
}

// A grid that counts how often its blocks wait for each other.
class CountingGrid {
 public:
  template <class Body, class Last>
  void Phase(const Body& body, const Last& last) {
    ++waits_;
    grid_.Phase(body, last);
  }
  template <class Body>
  void Final(const Body& body) {
    grid_.Final(body);
  }
  int waits() const { return waits_; }

 private:
  HostGrid<SidcoShared> grid_{ThreadOrder::kForward, 3};
  int waits_ = 0;
};

// The passes of a warm start: one forms, one measures, and each correction
// counts; nothing is counted twice.
TEST(SidcoWaitsTest, AWarmStartWaitsOnceForEachMeasurement) {
  constexpr int64_t kSize = 200000;
  const std::vector<float> residual(kSize);
  const std::vector<float> gradient = MakeVector("laplace", kSize, 1);
  const int64_t chunks = NumSparseChunks(kSize);
  std::vector<float> out(kSize);
  std::vector<uint16_t> offsets(chunks * kListCapacity);
  std::vector<float> listed(chunks * kListCapacity);
  std::vector<uint32_t> sizes(chunks);
  std::vector<ChunkStats> stats(chunks);
  std::vector<int64_t> bases(chunks + 1);
  std::vector<uint32_t> indices(kCapacity);
  std::vector<float> values(kCapacity);
  SidcoArguments arguments;
  SparseInput& input = arguments.sift.input;
  input.residual = residual.data();
  input.gradient = gradient.data();
  input.u = out.data();
  input.n = kSize;
  input.lists = {kListCapacity, offsets.data(), listed.data(), sizes.data()};
  arguments.sift.made = input.lists;
  arguments.sift.stats = stats.data();
  arguments.bases = bases.data();
  arguments.capacity = kCapacity;
  arguments.indices = indices.data();
  arguments.values = values.data();
  arguments.request.n = kSize;
  arguments.request.estimate.target = 0.001 * kSize;
  arguments.request.estimate.stages = 3;
  arguments.request.estimate.refine_steps = 8;
  // About four times the target exceed it.
  std::vector<float> magnitudes = gradient;
  for (float& each : magnitudes) each = std::fabs(each);
  std::nth_element(magnitudes.begin(), magnitudes.begin() + 800,
                   magnitudes.end(), std::greater<float>());
  arguments.request.warm_location = magnitudes[800];
  arguments.request.keep_above = magnitudes[800];
  CountingGrid grid;
  SidcoState state;
  SidcoWork::Run(grid, arguments, &state);
  EXPECT_EQ(state.passes.outcome(), SidcoOutcome::kEstimated);
  EXPECT_TRUE(state.passes.warm());
  EXPECT_NEAR(static_cast<double>(state.num_left), 200, 10);
  // Forms, measures, and at most two corrections.
  EXPECT_LE(grid.waits(), 4);
  EXPECT_EQ(bases[chunks], state.num_left);
}

TEST(GammaSearchTest, HasTheBitsOfTheBisectionByOneThread) {
  for (const ThreadOrder order :
       {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kMixed}) {
    for (const double shape : {1e-3, 0.1, 0.5, 1.0, 3.0, 1e4}) {
      for (const double p : {0.9, 0.25, 1e-3, 1e-9}) {
        HostBlock block(order);
        GammaSearchShared shared;
        GammaSearch search;
        const double asked =
            GammaUpperQuantile(shape, p, [&](auto, double, double high) {
              search.asked = true;
              search.shape = shape;
              search.p = p;
              search.bisection.high = high;
              return high;
            });
        EXPECT_GT(asked, 0);
        ASSERT_TRUE(search.open());
        AnswerSearch(block, &shared, &search);
        EXPECT_FALSE(search.open());
        EXPECT_EQ(search.bisection.high, GammaUpperQuantile(shape, p))
            << shape << " " << p;
      }
    }
  }
}

TEST_F(EmulatedSidcoTest, SaysWhyThereIsNoEstimate) {
  const auto outcome = [&](const std::vector<float>& gradient, double ratio,
                           bool exclude_zeros) {
    Variant variant;
    variant.stages = 2;
    variant.exclude_zeros = exclude_zeros;
    const std::vector<float> residual(gradient.size());
    const DeviceSidcoResult result =
        Run(variant, ratio, residual, gradient, Before());
    EXPECT_EQ(result.selection.count, 0);
    return result.outcome;
  };
  std::vector<float> vector(2000);
  EXPECT_EQ(outcome(vector, 0.1, true), SidcoOutcome::kZero);
  for (int i = 0; i < 100; ++i) vector[20 * i] = 1.0f + 0.01f * i;
  EXPECT_EQ(outcome(vector, 0.1, true), SidcoOutcome::kSparse);
  EXPECT_EQ(outcome(std::vector<float>(2000, -0.5f), 0.1, true),
            SidcoOutcome::kConstant);
}

TEST_F(EmulatedSidcoTest, NothingIsSelectedOfWhatIsNotFinite) {
  std::vector<float> gradient = MakeVector("laplace", 70000, 1);
  gradient[66000] = -kInfinity;
  const std::vector<float> residual(gradient.size());
  auto sidco = NewDeviceSidco(70000, 1000, work_.get()).value();
  DeviceSidcoRequest request;
  request.estimate = Request(Variant(), 0.01, 70000);
  request.n = 70000;
  DeviceSidcoResult result;
  ASSERT_TRUE(sidco
                  ->Run(request, OnDevice(residual).get(),
                        OnDevice(gradient).get(), OnDevice(residual).get(),
                        &result)
                  .ok());
  EXPECT_EQ(result.outcome, SidcoOutcome::kNonFinite);
  EXPECT_EQ(result.moments.num_non_finite, 1);
  EXPECT_EQ(result.selection.count, 0);
}

TEST_F(EmulatedSidcoTest, RefusesWhatItHasNoRoomFor) {
  EXPECT_FALSE(NewDeviceSidco(0, 1, work_.get()).ok());
  EXPECT_EQ(NewDeviceSidco(int64_t{1} << 30, 1, work_.get()).status().code(),
            absl::StatusCode::kResourceExhausted);
  auto sidco = NewDeviceSidco(100, 10, work_.get()).value();
  DeviceSidcoRequest request;
  request.n = 99;
  DeviceSidcoResult result;
  EXPECT_EQ(sidco->Run(request, nullptr, nullptr, nullptr, &result).code(),
            absl::StatusCode::kInvalidArgument);
  request.n = 100;
  request.estimate.stages = 65;
  EXPECT_EQ(sidco->Run(request, nullptr, nullptr, nullptr, &result).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ps

#else

TEST(EmulatedSidcoTest, NeedsTheToolkit) { GTEST_SKIP() << "no CUDA toolkit"; }

#endif  // PS_HAVE_CUDA
